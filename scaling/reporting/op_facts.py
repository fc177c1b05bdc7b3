"""What traces tell, as JSON facts, unrounded: the numbers every other form of showing must agree with."""

from scaling.analysis.fits.profile_likelihood import Interval
from scaling.analysis.operations import loss_share, types_for
from scaling.analysis.ops.laws import HeldOutStep, StepPrediction
from scaling.analysis.ops.losses import Loss
from scaling.analysis.ops.profile import Profile
from scaling.analysis.ops.similarity import LINKAGES
from scaling.results.op_evaluation import OpEvaluation, Scaling

Facts = dict[str, object]


def op_notes(evaluation: OpEvaluation) -> list[str]:
    """Why a subject has no laws, and why nothing can be predicted."""
    notes = [str(complaint) for complaint in evaluation.complaints]
    if evaluation.predicted_threads and not evaluation.scalings:
        notes.append("nothing can be foretold from one number of threads; trace two, such as --threads 1,2")
    return notes


def op_facts(result: OpEvaluation) -> Facts:
    """Everything there is to tell."""
    return {
        "profiles": [_profile(name, each) for name, each in zip(result.names, result.profiles, strict=True)],
        "steadiness": [
            {
                **_subject(each.trace.point.workload, each.trace.point.mode, each.trace.point.size),
                "threads": each.trace.threads,
                "launch": each.trace.launch,
                "steps": len(each.step_seconds),
                "coefficient_of_variation": each.coefficient_of_variation,
                "drift": each.drift,
                "p": each.p,
                "steady": each.steady,
            }
            for each in result.steadiness
        ],
        "likeness": {
            linkage: [
                {"left": each.left, "right": each.right, "distance": each.distance} for each in result.merges(linkage)
            ]
            for linkage in LINKAGES
        },
        "modes": [
            {
                "workload": each.train.point.workload,
                "threads": each.train.threads,
                "train_seconds_per_item": each.train.wall_seconds / each.train.items_per_step,
                "infer_seconds_per_item": each.infer.wall_seconds / each.infer.items_per_step,
                "ratio": each.ratio,
            }
            for each in result.pairs
        ],
        "scaling": [_scaling(each) for each in result.scalings],
        "notes": op_notes(result),
    }


def _subject(workload: str, mode: str, size: str) -> Facts:
    return {"workload": workload, "mode": mode, "size": size}


def _profile(name: str, profile: Profile) -> Facts:
    return {
        "name": name,
        **_subject(profile.point.workload, profile.point.mode, profile.point.size),
        "threads": profile.threads,
        "inter": profile.inter,
        "launches": profile.launches,
        "steps": profile.steps,
        "wall_seconds": profile.wall_seconds,
        "op_seconds": profile.op_seconds,
        "overlap_seconds": profile.overlap_seconds,
        "overhead_seconds": profile.overhead_seconds,
        "unexplained_seconds": profile.unexplained_seconds,
        "plain_seconds": profile.plain_seconds,
        "classes": profile.class_shares,
        "loss_share": loss_share(profile),
        "types_for_90_percent": types_for(profile),
        "ops": [
            {
                "type": op.type,
                "class": op.op_class,
                "seconds": op.seconds,
                "share": op.share,
                "share_in_launches": [op.least, op.most],
                "again_within": op.again,
                "executions": op.executions,
            }
            for op in profile.ops
        ],
    }


def _scaling(scaling: Scaling) -> Facts:
    times = scaling.laws.times
    return {
        "name": scaling.name,
        "threads": list(times.threads),
        "step_seconds": [float(each) for each in times.steps],
        "noise_of": "steps" if times.of_steps else "launches",
        "serial_fraction": _interval(scaling.laws.serial_fraction),
        "parts": [
            {
                "name": part.name,
                "class": part.op_class,
                "seconds": [float(each) for each in times.means[:, place]],
                "one_thread_seconds": part.one_thread_seconds,
                "serial_fraction": _interval(part.serial_fraction),
                "slower": part.slower,
            }
            for place, part in enumerate(scaling.laws.parts)
        ],
        "losses": [_loss(each) for each in scaling.losses],
        "held_out": [_held_out(each) for each in scaling.held_out],
        "predictions": [
            {**_prediction(by_ops), "by_whole_step": _prediction(by_step)} for by_ops, by_step in scaling.predictions
        ],
    }


def _loss(found: Loss) -> Facts:
    return {
        "threads": found.threads,
        "efficiency": found.efficiency,
        "lost_seconds": found.lost_seconds,
        "measured": found.measured,
        "parts": [
            {"name": part.name, "class": part.op_class, "seconds": part.seconds, "share": _interval(part.share)}
            for part in found.parts
        ],
    }


def _held_out(held: HeldOutStep) -> Facts:
    return {
        "threads": held.threads,
        "fitted_on": list(held.fitted_on),
        "measured_seconds": held.measured_seconds,
        "by_ops": {**_prediction(held.by_ops), "error": held.error_by_ops, "inside": held.inside},
        "by_whole_step": {**_prediction(held.by_step), "error": held.error_by_step},
    }


def _prediction(predicted: StepPrediction) -> Facts:
    return {
        "threads": predicted.threads,
        "seconds": predicted.seconds,
        "low": predicted.low,
        "high": predicted.high,
        "plain_seconds": predicted.plain_seconds,
        "unsure": [part.name for part in predicted.unsure],
    }


def _interval(interval: Interval) -> Facts:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
