"""Op profiles as tables, sentences and JSON facts: classes, similarity, modes, threads and predictions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scaling.analysis.estimates import Estimate, finite
from scaling.analysis.op_classes import CLASSES
from scaling.analysis.purposes import PURPOSES
from scaling.analysis.rules import WIDEST_ANSWER, Verdict
from scaling.features.profiling.evaluation import OpEvaluation, Scaling
from scaling.features.profiling.laws import HeldOutStep, Loss, StepPrediction
from scaling.features.profiling.other_machine import ElsewherePrediction, MeasuredStep, OtherMachine
from scaling.features.profiling.pairs import NOTABLE, Stationarity, loss_share, notable, outside_ops, types_for
from scaling.features.profiling.profile import Profile
from scaling.features.profiling.similarity import LINKAGES, Merge
from scaling.reporting.json_types import ARRAY, Fields
from scaling.reporting.verdicts import VERDICT_WORDS
from scaling.reporting.words import (
    Table,
    count,
    duration,
    estimate_facts,
    figure,
    interval_alone,
    percent,
    share,
    some_of,
    span,
    with_interval,
)

# So much of what is lost need not be named op by op.
NAMED_LOSSES = 3
MOST_NAMED = 6
LEAST_LOSS_SHARE = 0.05
# A profile that is made again should differ by less than this in every share.
MOST_UNCERTAINTY = 0.02
TRACE_AGAIN = "trace it again on a quiet machine (`scaling machine doctor`)"
TRACE_MORE = "give --reproducible-to 2 to trace as many launches as it takes"
# Whether a measurement lies in the interval of its prediction.
INSIDE_WORDS = {None: "-", True: "inside", False: "outside"}


def profiles_table(result: OpEvaluation) -> Table:
    """A line a profile: its classes, how many types make 90 % of op time, and what lies outside ops."""
    rows = []
    for name, profile in zip(result.names, result.profiles, strict=True):
        overhead, unexplained = outside_ops(profile)
        rows.append(
            (
                *(name, duration(profile.wall_seconds)),
                *(_percent(profile.class_share(op_class)) for op_class in CLASSES),
                *(str(types_for(profile)), share(overhead), share(unexplained)),
                "-" if profile.stretch is None else f"{profile.stretch:.2f}",
                *(str(profile.launches), str(profile.quiet), VERDICT_WORDS[profile.verdict]),
            )
        )
    classes = tuple(f">{op_class}" for op_class in CLASSES)
    rest = (">types for 90 %", ">overhead", ">unexplained", ">traced/plain", ">launches", ">quiet", "verdict")
    return Table(("profile", ">step", *classes, *rest), rows)


def shares_table(result: OpEvaluation) -> Table:
    """The paper's Figure 3: op types of at least one percent anywhere, class by class, against workloads."""
    types = {op.type: op.op_class for profile in result.alike for op in notable(profile)}
    ordered = sorted(types, key=lambda name: (CLASSES.index(types[name]), name))
    rows = [
        (name, types[name], *(_percent(profile.share(name)) for profile in result.alike))
        for name in ordered
        if any(profile.share(name) >= NOTABLE for profile in result.alike)
    ]
    return Table(("op type, % of op time", "class", *(f">{profile.point.workload}" for profile in result.alike)), rows)


def purposes_table(result: OpEvaluation) -> Table:
    """A line a profile whose traces tell it: the share of op time of every purpose, by the scopes of the graph."""
    known = [
        (name, profile, seconds)
        for name, profile in zip(result.names, result.profiles, strict=True)
        for seconds in (profile.purpose_seconds,)
        if seconds
    ]
    used = [purpose for purpose in PURPOSES if any(purpose in seconds for *_, seconds in known)]
    rows = [
        (name, *(_percent(seconds.get(purpose, 0.0) / profile.op_seconds) for purpose in used))
        for name, profile, seconds in known
    ]
    return Table(("% of op time for", *(f">{purpose}" for purpose in used)), rows)


def _percent(ratio: float) -> str:
    """A share in whole percent, as the paper prints it, or a dot where it is none worth the name."""
    return f"{100 * ratio:.0f}" if ratio >= 0.005 else "·"


def stationarity_table(result: OpEvaluation) -> Table:
    """The paper's Figure 1: the spread of steps, and whether they drift."""
    rows = [
        (
            f"{launch.trace.point.workload} {launch.trace.point.mode}",
            *(str(launch.trace.threads), str(launch.trace.launch), str(len(launch.step_seconds))),
            share(launch.coefficient_of_variation),
            "-" if launch.drift is None else f"{100 * launch.drift:+.1f} %",
            "-" if launch.p is None else f"{launch.p:.2g}",
            _steadiness(launch),
        )
        for launch in result.stationarity
    ]
    return Table(("op time of steps", ">threads", ">launch", ">steps", ">spread", ">drift", ">p", ""), rows)


def _steadiness(launch: Stationarity) -> str:
    """Whether steps drift, or how many would be needed to tell."""
    if launch.stationary is None:
        return "too few steps to tell" + (f"; {launch.steps_needed} would" if launch.steps_needed else "")
    return "steady" if launch.stationary else "drifts"


def similarity_lines(result: OpEvaluation) -> list[str]:
    """The paper's Figure 4: who joins whom at what distance, by both linkages."""
    lines = []
    for linkage in LINKAGES:
        merges = result.merges(linkage)
        if merges:
            lines.append(f"{linkage} linkage: {'; '.join(map(_merge_words, merges))}")
    return lines


def _merge_words(merge: Merge) -> str:
    return f"{_group(merge.left)} – {_group(merge.right)} {merge.distance:.3f}"


def _group(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def modes_table(result: OpEvaluation) -> Table:
    """The paper's Figure 5: training against inference, seconds an item by class."""
    used = [op_class for op_class in CLASSES if any(any(pair.class_seconds(op_class)) for pair in result.pairs)]
    rows = []
    for pair in result.pairs:
        for mode, profile, index in (("train", pair.train, 0), ("infer", pair.infer, 1)):
            seconds = [pair.class_seconds(op_class)[index] for op_class in used]
            rows.append(
                (
                    *(
                        pair.train.point.workload if index == 0 else "",
                        str(profile.threads) if index == 0 else "",
                        mode,
                    ),
                    duration(profile.wall_seconds / profile.items_per_step),
                    *(duration(value) if value else "·" for value in seconds),
                    f"× {pair.ratio:.2f}" if index == 0 else "",
                )
            )
    return Table(("network", ">threads", "", ">an item", *(f">{op_class}" for op_class in used), ">train/infer"), rows)


def laws_table(scaling: Scaling) -> Table:
    """The paper's Figure 6 with laws: the parts of a step on each number of threads, and what no thread helps with."""
    times = scaling.laws.times
    least = NOTABLE * times.steps
    rows = []
    for index, part in enumerate(scaling.laws.parts):
        seconds = times.means[:, index]
        if (seconds >= least).any():
            serial = _serial_words(scaling, part.serial_fraction)
            rows.append((part.name, *map(duration, seconds), "slower with threads" if part.slower else serial))
    rows.append(("whole step", *map(duration, times.steps), _serial_words(scaling, scaling.laws.serial_fraction)))
    return Table((scaling.name, *(f">×{threads}" for threads in times.threads), "serial fraction"), rows)


def _serial_words(scaling: Scaling, fraction: Estimate) -> str:
    """A serial fraction with its interval; where that is wider than an answer, what it is at most, if that is less
    than all."""
    if scaling.disturbed:
        return "no answer, disturbed"
    if fraction.high is None or fraction.is_answer:
        return with_interval(fraction, percent)
    return f"at most {percent(fraction.high)}" if fraction.high < 1 else "no answer"


def op_loss_sentences(scaling: Scaling) -> list[str]:
    """What limits a subject at every number of threads; no answer where some of them were disturbed."""
    if scaling.disturbed:
        threads = ",".join(map(str, scaling.disturbed))
        return [f"{scaling.name}: no answer yet to what limits it: disturbed with --threads {threads}; {TRACE_AGAIN}"]
    return [loss_sentence(scaling.name, loss, scaling.laws.times.freedom) for loss in scaling.losses]


def loss_sentence(name: str, loss: Loss, freedom: int) -> str:
    """What limits a subject at so many threads, and which ops that is."""
    predicted = "" if loss.measured else " (predicted)"
    about = f"{name} at {count(loss.threads, 'thread')}{predicted}: efficiency {share(loss.efficiency)}"
    if not freedom:
        return f"{about}; no answer yet to which ops it is lost in, from one launch of each; give --launches 3"
    if not loss.significant:
        return f"{about}; the loss is too small, or too imprecise, to name the ops it is in"
    known = [part for part in loss.parts if part.share.is_answer and part.share.value >= LEAST_LOSS_SHARE]
    if not known:
        vague = f"no share is known to a factor of {WIDEST_ANSWER:g}"
        return f"{about}; no answer yet to which ops it is lost in, {vague}; {TRACE_MORE}"
    shares = ", ".join(f"{_loss_share(part.share)} {part.name}" for part in known[:NAMED_LOSSES])
    rest = 1.0 - sum(part.share.value for part in known[:NAMED_LOSSES])
    others = f", {percent(rest)} all others" if rest >= LEAST_LOSS_SHARE else ""
    return f"what limits {about}; of what is lost {shares}{others}"


def _loss_share(part: Estimate) -> str:
    return with_interval(part, lambda ratio: f"{100 * ratio:.0f} %")


def predictions_table(scalings: Iterable[Scaling]) -> Table:
    """Predicted steps: by ops with an interval, as a plain step, and by the law of the whole step."""
    rows = []
    for scaling in scalings:
        for by_ops, by_step in scaling.predictions:
            rows.append(
                (
                    *(scaling.name, ", ".join(map(str, scaling.laws.times.threads)), str(by_ops.threads)),
                    *(duration(by_ops.seconds.value), _predicted_words(scaling, by_ops.seconds)),
                    "-" if by_ops.plain_seconds is None else duration(by_ops.plain_seconds),
                    _speedup(scaling, by_ops),
                    *(duration(by_step.seconds.value), _predicted_words(scaling, by_step.seconds)),
                )
            )
    headers = ("predicted", "from threads", ">threads", ">traced step", "95 %", ">plain step", ">speedup")
    return Table((*headers, ">by the whole step", "95 %"), rows)


def _predicted_words(scaling: Scaling, predicted: Estimate) -> str:
    """The interval of a prediction, or why there is no answer."""
    if scaling.disturbed:
        return "no answer, disturbed"
    is_wide = predicted.high is not None and not predicted.is_answer
    return f"no answer, wider than a factor of {WIDEST_ANSWER:g}" if is_wide else _interval_words(predicted)


def elsewhere_table(predictions: Sequence[ElsewherePrediction]) -> Table:
    """Steps predicted on another machine, by ceilings and as other networks were off there, and what was measured."""
    by_networks = any(one.by_networks for one in predictions)
    measured = any(one.measured for one in predictions)
    rows = []
    for one in predictions:
        cells = [one.name, str(one.threads), *_predicted_cells(one, one.by_ceilings, measured)]
        cells += _predicted_cells(one, one.by_networks, measured) if by_networks else []
        plain = (one.by_networks or one.by_ceilings).plain_seconds
        cells.append("-" if plain is None else duration(plain))
        cells += _measured_cells(one.measured) if measured else []
        rows.append(tuple(cells))
    error = (">error", "") if measured else ()
    headers = ["on the other machine", ">threads", ">by ceilings", "95 %", *error]
    headers += [">by other networks", "95 %", *error] if by_networks else []
    return Table((*headers, ">plain step", *((">measured", "") if measured else ())), rows)


def _predicted_cells(one: ElsewherePrediction, predicted: StepPrediction | None, measured: bool) -> list[str]:
    if predicted is None:
        return ["-", ""] + ["-", ""] * measured
    cells = [duration(predicted.seconds.value), _interval_words(predicted.seconds)]
    if measured:
        error, inside = one.error(predicted), one.inside(predicted)
        cells += ["-" if error is None else f"{100 * error:+.1f} %", INSIDE_WORDS[inside]]
    return cells


def _measured_cells(measured: MeasuredStep | None) -> list[str]:
    return (
        ["-", ""] if measured is None else [duration(measured.seconds), "plain" if measured.parts is None else "traced"]
    )


def _speedup(scaling: Scaling, predicted: StepPrediction) -> str:
    one = float((scaling.laws.parallel + scaling.laws.serial).sum())
    return figure(one / predicted.seconds.value)


def held_out_table(scalings: Iterable[Scaling]) -> Table:
    """Measured steps as predicted from fewer threads: by ops and by the law of the whole step."""
    rows = [
        (
            *(scaling.name, ", ".join(map(str, held.fitted_on)), str(held.threads)),
            duration(held.measured_seconds),
            *(f"{100 * held.error_by_ops:+.1f} %", _interval_words(held.by_ops.seconds)),
            INSIDE_WORDS[held.inside],
            f"{100 * held.error_by_step:+.1f} %",
        )
        for scaling in scalings
        for held in scaling.held_out
    ]
    headers = ("held out", "from threads", ">threads", ">measured", ">by ops", "95 %", "", ">by the whole step")
    return Table(headers, rows)


def _interval_words(predicted: Estimate) -> str:
    return interval_alone(predicted, duration, unknown="-")


def op_remarks(result: OpEvaluation) -> Iterator[str]:
    """What to be careful about, each in one sentence."""
    yield from op_notes(result)
    unknown = sorted({op.type for profile in result.profiles for op in profile.ops if op.op_class == "other"})
    if unknown:
        yield f"op types of class other: {', '.join(unknown)}"
    lacking = [name for name, profile in zip(result.names, result.profiles, strict=True) if not profile.purpose_seconds]
    if lacking:
        yield f"{_few(lacking)}: the traces are of before ops had a purpose, which is unknown; trace again to know it"
    for profile in result.profiles:
        yield from _drift_remarks(
            profile, [launch for launch in result.stationarity if launch.trace.point == profile.point]
        )
        yield from _launch_remarks(profile)
    lone = [scaling.name for scaling in result.scalings if not scaling.laws.times.freedom]
    if lone:
        yield f"{_few(lone)}: one launch per number of threads, so there are no intervals; give --launches 3"
    for scaling in result.scalings:
        yield from _prediction_remarks(scaling)


def _drift_remarks(profile: Profile, launches: Sequence[Stationarity]) -> Iterator[str]:
    """Where steps become longer or shorter while they are traced."""
    drifts = [100 * one.drift for one in launches if one.drift is not None and one.stationary is False]
    if drifts:
        yield (
            f"{_title(profile)}: op time drifts by {span(drifts, '+.0f')} % over {len(launches[0].step_seconds)} steps"
            f"{some_of(drifts, launches)}; trace more --steps"
        )


def _launch_remarks(profile: Profile) -> Iterator[str]:
    """Where too few launches were quiet, or the shares of an op type differ too much between them."""
    if profile.verdict is Verdict.DISTURBED:
        yield f"{_title(profile)}: {profile.quiet} of {profile.launches} launches were quiet; {TRACE_AGAIN}"
    widest = max(profile.ops, key=lambda op: op.share_uncertainty, default=None)
    if widest is not None and widest.share_uncertainty >= MOST_UNCERTAINTY:
        shares = span([100 * widest.least, 100 * widest.most], ".1f")
        yield (
            f"{_title(profile)}: the share of {widest.type} is {shares} % in its {profile.launches} launches; "
            f"{TRACE_MORE}"
        )


def _title(profile: Profile) -> str:
    return f"{profile.point.workload} {profile.point.mode}, {count(profile.threads, 'thread')}"


def _prediction_remarks(scaling: Scaling) -> Iterator[str]:
    """How far predictions go beyond the traced threads, and which parts make them imprecise."""
    if not scaling.predictions:
        return
    by_ops = max((by_ops for by_ops, _ in scaling.predictions), key=lambda prediction: prediction.threads)
    if by_ops.threads > scaling.laws.most_threads:
        yield (
            f"{scaling.name}: {count(by_ops.threads, 'thread')} are "
            f"{by_ops.threads / scaling.laws.most_threads:.3g} times the most that were traced, and "
            "nothing checks that the laws hold so far"
        )
    if by_ops.imprecise_parts:
        ranges = [
            f"{part.name} {interval_alone(part.seconds, duration, joint=' to ')}" for part in by_ops.imprecise_parts
        ]
        yield (
            f"{scaling.name}: the serial part of some ops is imprecise; on {count(by_ops.threads, 'thread')} these "
            f"may take: {_few(ranges)}"
        )


def _few(names: Sequence[str]) -> str:
    """Names, the first few of them where they are many."""
    few = names[:MOST_NAMED]
    return ", ".join(few) + (f" and {len(names) - len(few)} more" if len(names) > len(few) else "")


Facts = dict[str, object]


def op_notes(evaluation: OpEvaluation) -> list[str]:
    """Why a subject has no laws, and why nothing can be predicted."""
    notes = [str(complaint) for complaint in evaluation.complaints]
    if evaluation.predicted_threads and not evaluation.scalings:
        notes.append("nothing can be predicted from one number of threads; trace two, such as --threads 1,2")
    return notes


def op_facts(result: OpEvaluation) -> Facts:
    """The whole evaluation as JSON facts."""
    return {
        "profiles": [_profile(name, profile) for name, profile in zip(result.names, result.profiles, strict=True)],
        "stationarity": [
            {
                **_subject(launch.trace.point.workload, launch.trace.point.mode, launch.trace.point.size),
                "threads": launch.trace.threads,
                "launch": launch.trace.launch,
                "steps": len(launch.step_seconds),
                "coefficient_of_variation": launch.coefficient_of_variation,
                "drift": launch.drift,
                "p": launch.p,
                "steady": launch.stationary,
                "detectable_drift": finite(launch.detectable_drift),
                "steps_needed": launch.steps_needed,
            }
            for launch in result.stationarity
        ],
        "similarity": {
            linkage: [
                {"left": merge.left, "right": merge.right, "distance": merge.distance}
                for merge in result.merges(linkage)
            ]
            for linkage in LINKAGES
        },
        "modes": [
            {
                "workload": pair.train.point.workload,
                "threads": pair.train.threads,
                "train_seconds_per_item": pair.train.wall_seconds / pair.train.items_per_step,
                "infer_seconds_per_item": pair.infer.wall_seconds / pair.infer.items_per_step,
                "ratio": pair.ratio,
            }
            for pair in result.pairs
        ],
        "scaling": [_scaling(scaling) for scaling in result.scalings],
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
        "quiet_launches": profile.quiet,
        "verdict_code": profile.verdict,
        "steps": profile.steps,
        "wall_seconds": profile.wall_seconds,
        "op_seconds": profile.op_seconds,
        "overlap_seconds": profile.overlap_seconds,
        "overhead_seconds": profile.overhead_seconds,
        "unexplained_seconds": profile.unexplained_seconds,
        "plain_seconds": profile.plain_seconds,
        "classes": profile.class_shares,
        "loss_share": loss_share(profile),
        "purposes": profile.purpose_seconds,
        "types_for_90_percent": types_for(profile),
        "ops": [
            {
                "type": op.type,
                "class": op.op_class,
                "seconds": op.seconds,
                "share": op.share,
                "share_in_launches": [op.least, op.most],
                "reproducible_to": op.reproducibility,
                "executions": op.executions,
                "purposes": dict(op.purposes),
            }
            for op in profile.ops
        ],
    }


def _scaling(scaling: Scaling) -> Facts:
    times = scaling.laws.times
    return {
        "name": scaling.name,
        "threads": list(times.threads),
        "step_seconds": [float(seconds) for seconds in times.steps],
        "disturbed_threads": list(scaling.disturbed),
        "serial_fraction": estimate_facts(scaling.laws.serial_fraction),
        "parts": [
            {
                "name": part.name,
                "class": part.op_class,
                "seconds": [float(seconds) for seconds in times.means[:, index]],
                "one_thread_seconds": part.one_thread_seconds,
                "serial_fraction": estimate_facts(part.serial_fraction),
                "slower": part.slower,
            }
            for index, part in enumerate(scaling.laws.parts)
        ],
        "losses": [_loss(loss) for loss in scaling.losses],
        "held_out": [_held_out(held) for held in scaling.held_out],
        "predictions": [
            {**_prediction(by_ops), "by_whole_step": _prediction(by_step)} for by_ops, by_step in scaling.predictions
        ],
    }


def _loss(loss: Loss) -> Facts:
    return {
        "threads": loss.threads,
        "efficiency": loss.efficiency,
        "lost_seconds": loss.lost_seconds,
        "measured": loss.measured,
        "parts": [
            {"name": part.name, "class": part.op_class, "seconds": part.seconds, "share": estimate_facts(part.share)}
            for part in loss.parts
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


def elsewhere_facts(other: OtherMachine) -> Facts:
    """Predictions of another machine as JSON facts."""
    return {
        "distance": other.distance,
        "predictions": [
            {
                "name": one.name,
                "threads": one.threads,
                "by_ceilings": _held_against(one, one.by_ceilings),
                "by_networks": _held_against(one, one.by_networks) if one.by_networks else None,
                "measured_seconds": one.measured.seconds if one.measured else None,
                "measured_traced": one.measured.parts is not None if one.measured else None,
            }
            for one in other.predictions
        ],
        "refused": list(other.refusals),
    }


def _held_against(one: ElsewherePrediction, predicted: StepPrediction) -> Facts:
    return {**_prediction(predicted), "error": one.error(predicted), "inside": one.inside(predicted)}


def _prediction(predicted: StepPrediction) -> Facts:
    return {
        "threads": predicted.threads,
        "seconds": predicted.seconds.value,
        "low": predicted.seconds.low,
        "high": predicted.seconds.high,
        "plain_seconds": predicted.plain_seconds,
        "imprecise": [part.name for part in predicted.imprecise_parts],
    }


def printed() -> Fields:
    """The keys and types of what `profile --json` prints."""
    return {"profiles": ARRAY[dict[str, Any]], "analysis": dict[str, Any]}
