"""Op profiles as tables, sentences and JSON facts: classes, similarity, modes, threads and predictions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scaling.analysis.estimates import Estimate, finite
from scaling.analysis.rules import WIDEST_ANSWER, Verdict
from scaling.analysis.traces import CLASSES, PURPOSES, op_class
from scaling.errors import few
from scaling.features.profiling.evaluation import LINKAGES, OpEvaluation, Scaling
from scaling.features.profiling.laws import Loss, StepPrediction
from scaling.features.profiling.other_machine import ElsewherePrediction, OtherMachine
from scaling.features.profiling.pairs import NOTABLE, Stationarity, notable, outside_ops, types_for
from scaling.features.profiling.profile import Profile
from scaling.reporting.json_types import ARRAY, Fields
from scaling.reporting.quantities import VERDICT_WORDS
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

# The largest losses are named op by op.
NAMED_LOSSES = 3
LEAST_LOSS_SHARE = 0.05
# A repeated profile should differ by less than this in every share.
MOST_UNCERTAINTY = 0.02
TRACE_AGAIN = "trace it again on a quiet machine (`scaling machine doctor`)"
TRACE_MORE = "use --reproducible-to 2 to trace enough launches"
INSIDE_WORDS = {None: "-", True: "inside", False: "outside"}

STEP_KEYS = "overlap_seconds overhead_seconds unexplained_seconds plain_seconds"

Facts = dict[str, object]


def profiles_table(result: OpEvaluation) -> Table:
    """A line per profile: its classes, the number of types that make 90 % of op time, and the time outside ops."""
    rows = [
        (
            *(name, duration(profile.wall_seconds)),
            *(_percent(part) for part in profile.class_shares.values()),
            *(str(types_for(profile)), *map(share, outside_ops(profile))),
            "-" if profile.stretch is None else f"{profile.stretch:.2f}",
            *(str(profile.launches), str(profile.quiet), VERDICT_WORDS[profile.verdict]),
        )
        for name, profile in zip(result.names, result.profiles, strict=True)
    ]
    classes = tuple(f">{name}" for name in CLASSES)
    rest = (">types for 90 %", ">overhead", ">unexplained", ">traced/plain", ">launches", ">quiet", "verdict")
    return Table(("profile", ">step", *classes, *rest), rows)


def shares_table(result: OpEvaluation) -> Table:
    """The paper's Figure 3: op types of at least one percent in a workload, by class, against workloads."""
    types = {op.type: op.op_class for profile in result.alike for op in notable(profile)}
    ordered = sorted(types, key=lambda name: (CLASSES.index(types[name]), name))
    rows = [(name, types[name], *(_percent(profile.share(name)) for profile in result.alike)) for name in ordered]
    return Table(("op type, % of op time", "class", *(f">{profile.point.workload}" for profile in result.alike)), rows)


def purposes_table(result: OpEvaluation) -> Table:
    """A line per profile with purposes: the share of op time of each, by the scopes of the graph."""
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
    """A share in whole percent, as in the paper, or a dot below half a percent."""
    return f"{100 * ratio:.0f}" if ratio >= 0.005 else "·"


def stationarity_table(result: OpEvaluation) -> Table:
    """The paper's Figure 1: the spread of steps, and their drift."""
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
    if launch.stationary is None:
        return "too few steps" + (f"; trace {launch.steps_needed}" if launch.steps_needed else "")
    return "steady" if launch.stationary else "drifts"


def similarity_lines(result: OpEvaluation) -> list[str]:
    """The paper's Figure 4: the merges and their distances, by both linkages."""
    lines = {
        linkage: [f"{_group(merge.left)} – {_group(merge.right)} {merge.distance:.3f}" for merge in merges]
        for linkage in LINKAGES
        if (merges := result.merges(linkage))
    }
    return [f"{linkage} linkage: {'; '.join(words)}" for linkage, words in lines.items()]


def _group(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def modes_table(result: OpEvaluation) -> Table:
    """The paper's Figure 5: training against inference, seconds per item by class."""
    used = [name for name in CLASSES if any(any(pair.class_seconds(name)) for pair in result.pairs)]
    rows = []
    for pair in result.pairs:
        seconds = [pair.class_seconds(name) for name in used]
        for index, (mode, profile) in enumerate((("train", pair.train), ("infer", pair.infer))):
            first = (pair.train.point.workload, str(profile.threads), f"× {pair.ratio:.2f}") if index == 0 else [""] * 3
            classes = (duration(both[index]) if both[index] else "·" for both in seconds)
            rows.append((*first[:2], mode, duration(profile.item_seconds), *classes, first[2]))
    return Table(("network", ">threads", "", ">per item", *(f">{name}" for name in used), ">train/infer"), rows)


def laws_table(scaling: Scaling) -> Table:
    """The paper's Figure 6 with laws: the parts of a step on each number of threads, and their serial fractions."""
    times = scaling.laws.times
    rows = [
        (
            *(part.name, *map(duration, seconds)),
            "slower with threads" if part.slower else _serial_words(scaling, part.serial_fraction),
        )
        for part, seconds in zip(scaling.laws.parts, times.means.T, strict=True)
        if (seconds >= NOTABLE * times.steps).any()
    ]
    rows.append(("whole step", *map(duration, times.steps), _serial_words(scaling, scaling.laws.serial_fraction)))
    return Table((scaling.name, *(f">×{threads}" for threads in times.threads), "serial fraction"), rows)


def _serial_words(scaling: Scaling, fraction: Estimate) -> str:
    """A serial fraction with its interval, or only its upper end if the interval is too wide for an answer."""
    if scaling.disturbed:
        return "no answer: disturbed"
    if fraction.high is None or fraction.is_answer:
        return with_interval(fraction, percent)
    return f"at most {percent(fraction.high)}" if fraction.high < 1 else "no answer"


def op_loss_sentences(scaling: Scaling) -> list[str]:
    """The loss of a subject on every number of threads; no answer if some of them were disturbed."""
    if scaling.disturbed:
        threads = ",".join(map(str, scaling.disturbed))
        disturbed = f"the launches with --threads {threads} were disturbed"
        return [f"{scaling.name}: no answer yet on what limits scaling, because {disturbed}; {TRACE_AGAIN}"]
    return [loss_sentence(scaling.name, loss, scaling.laws.times.freedom) for loss in scaling.losses]


def loss_sentence(name: str, loss: Loss, freedom: int) -> str:
    """The efficiency of a subject on n threads, and the ops with the largest losses."""
    about = f"{name} at {count(loss.threads, 'thread')}: efficiency {share(loss.efficiency)}"
    if not freedom:
        return f"{about}; one launch per number of threads cannot show which ops cause the loss; use --launches 3"
    if not loss.significant:
        return f"{about}; the loss is too small or too imprecise to show which ops cause it"
    known = [part for part in loss.parts if part.share.is_answer and part.share.value >= LEAST_LOSS_SHARE]
    if not known:
        vague = f"no share is known to within a factor of {WIDEST_ANSWER:g}"
        return f"{about}; no answer yet on which ops cause the loss, because {vague}; {TRACE_MORE}"
    named = known[:NAMED_LOSSES]
    shares = ", ".join(
        f"{with_interval(part.share, lambda ratio: f'{100 * ratio:.0f} %')} {part.name}" for part in named
    )
    rest = 1.0 - sum(part.share.value for part in named)
    others = f", {percent(rest)} all others" if rest >= LEAST_LOSS_SHARE else ""
    return f"{about}; the loss is {shares}{others}"


def predictions_table(scalings: Iterable[Scaling]) -> Table:
    """Predicted steps: by ops with an interval, as a plain step, and by the law of the whole step."""
    rows = []
    for scaling in scalings:
        one = float(scaling.laws.fitted(1)[0].sum())
        for by_ops, by_step in scaling.predictions:
            rows.append(
                (
                    *(scaling.name, ", ".join(map(str, scaling.laws.times.threads)), str(by_ops.threads)),
                    *(duration(by_ops.seconds.value), _predicted_words(scaling, by_ops.seconds)),
                    *(_duration_or_dash(by_ops.plain_seconds), figure(one / by_ops.seconds.value)),
                    *(duration(by_step.seconds.value), _predicted_words(scaling, by_step.seconds)),
                )
            )
    headers = ("predicted", "from threads", ">threads", ">traced step", "95 %", ">plain step", ">speedup")
    return Table((*headers, ">by the whole step", "95 %"), rows)


def _predicted_words(scaling: Scaling, predicted: Estimate) -> str:
    """The interval of a prediction, or why it has no answer."""
    if scaling.disturbed:
        return "no answer: disturbed"
    is_wide = predicted.high is not None and not predicted.is_answer
    wide = f"no answer: the interval spans more than a factor of {WIDEST_ANSWER:g}"
    return wide if is_wide else _interval_words(predicted)


def _interval_words(predicted: Estimate) -> str:
    return interval_alone(predicted, duration, unknown="-")


def _duration_or_dash(seconds: float | None) -> str:
    return "-" if seconds is None else duration(seconds)


def held_out_table(scalings: Iterable[Scaling]) -> Table:
    """Measured steps as predicted from fewer threads: by ops and by the law of the whole step."""
    rows = [
        (
            *(scaling.name, ", ".join(map(str, held.fitted_on)), str(held.by_ops.threads)),
            _duration_or_dash(held.by_ops.measured),
            *(_error_words(held.by_ops), _interval_words(held.by_ops.seconds), INSIDE_WORDS[held.by_ops.inside]),
            _error_words(held.by_step),
        )
        for scaling in scalings
        for held in scaling.held_out
    ]
    headers = ("held out", "from threads", ">threads", ">measured", ">by ops", "95 %", "", ">by the whole step")
    return Table(headers, rows)


def _error_words(predicted: StepPrediction) -> str:
    return "-" if predicted.error is None else f"{100 * predicted.error:+.1f} %"


def elsewhere_table(predictions: Sequence[ElsewherePrediction]) -> Table:
    """Steps predicted on another machine, by ceilings and corrected by other networks, and their measurements."""
    by_networks = any(one.by_networks for one in predictions)
    measured = any(one.measured for one in predictions)
    rows = []
    for one in predictions:
        cells = [one.name, str(one.by_ceilings.threads)]
        for predicted in (one.by_ceilings, one.by_networks)[: 1 + by_networks]:
            words = ["-", "", "-", ""]
            if predicted:
                words = [duration(predicted.seconds.value), _interval_words(predicted.seconds)]
                words += [_error_words(predicted), INSIDE_WORDS[predicted.inside]]
            cells += words if measured else words[:2]
        cells.append(_duration_or_dash((one.by_networks or one.by_ceilings).plain_seconds))
        step = one.measured and [duration(one.measured.seconds), "plain" if one.measured.parts is None else "traced"]
        rows.append((*cells, *((step or ["-", ""]) if measured else ())))
    errors = (">error", "") if measured else ()
    corrected = (">by other networks", "95 %", *errors) if by_networks else ()
    headers = ("on the other machine", ">threads", ">by ceilings", "95 %", *errors, *corrected, ">plain step")
    return Table((*headers, *((">measured", "") if measured else ())), rows)


def op_remarks(result: OpEvaluation) -> Iterator[str]:
    """Cautions, each in one sentence."""
    yield from op_notes(result)
    unknown = sorted({op.type for profile in result.profiles for op in profile.ops if op.op_class == "other"})
    if unknown:
        yield f"op types of class other: {', '.join(unknown)}"
    lacking = [name for name, profile in zip(result.names, result.profiles, strict=True) if not profile.purpose_seconds]
    if lacking:
        yield f"{few(lacking)}: the version that made these traces did not record op purposes; trace again"
    for profile in result.profiles:
        yield from _drift_remarks(
            profile, [launch for launch in result.stationarity if launch.trace.point == profile.point]
        )
        yield from _launch_remarks(profile)
    lone = [scaling.name for scaling in result.scalings if not scaling.laws.times.freedom]
    if lone:
        yield f"{few(lone)}: one launch per number of threads gives no intervals; use --launches 3"
    for scaling in result.scalings:
        yield from _prediction_remarks(scaling)


def _drift_remarks(profile: Profile, launches: Sequence[Stationarity]) -> Iterator[str]:
    drifts = [100 * one.drift for one in launches if one.drift is not None and one.stationary is False]
    if drifts:
        yield (
            f"{_title(profile)}: op time drifts by {span(drifts, '+.0f')} % over {len(launches[0].step_seconds)} steps"
            f"{some_of(drifts, launches)}; use more --steps"
        )


def _launch_remarks(profile: Profile) -> Iterator[str]:
    """Too few quiet launches, and op types whose shares differ too much between launches."""
    if profile.verdict is Verdict.DISTURBED:
        yield f"{_title(profile)}: {profile.quiet} of {profile.launches} launches were quiet; {TRACE_AGAIN}"
    widest = max(profile.ops, key=lambda op: op.share_uncertainty, default=None)
    if widest is not None and widest.share_uncertainty >= MOST_UNCERTAINTY:
        shares = span([100 * widest.least, 100 * widest.most], ".1f")
        yield (
            f"{_title(profile)}: across {profile.launches} launches, the share of {widest.type} is {shares} %; "
            f"{TRACE_MORE}"
        )


def _title(profile: Profile) -> str:
    return f"{profile.point.workload} {profile.point.mode}, {count(profile.threads, 'thread')}"


def _prediction_remarks(scaling: Scaling) -> Iterator[str]:
    """The distance of predictions from the traced threads, and the parts that make them imprecise."""
    if not scaling.predictions:
        return
    by_ops = max((by_ops for by_ops, _ in scaling.predictions), key=lambda prediction: prediction.threads)
    threads, most = count(by_ops.threads, "thread"), scaling.laws.times.threads[-1]
    if by_ops.threads > most:
        yield (
            f"{scaling.name}: {threads} are {by_ops.threads / most:.3g} times the largest traced number; beyond that "
            "number, nothing checks the laws"
        )
    if parts := by_ops.imprecise_parts.items():
        ranges = [f"{name} {interval_alone(seconds, duration, joint=' to ')}" for name, seconds in parts]
        yield (
            f"{scaling.name}: the serial part of some ops is imprecise; on {threads} these ops may take: {few(ranges)}"
        )


def op_notes(evaluation: OpEvaluation) -> list[str]:
    """The reasons for missing laws and predictions."""
    notes = [str(complaint) for complaint in evaluation.complaints]
    if evaluation.predicted_threads and not evaluation.scalings:
        notes.append("predictions need traces on at least two numbers of threads, such as --threads 1,2")
    return notes


def op_facts(result: OpEvaluation) -> Facts:
    """The whole evaluation as JSON facts."""
    return {
        "profiles": [_profile_facts(name, one) for name, one in zip(result.names, result.profiles, strict=True)],
        "stationarity": [
            {
                **values(launch.trace.point, "workload mode size"),
                **values(launch.trace, "threads launch"),
                "steps": len(launch.step_seconds),
                **values(launch, "coefficient_of_variation drift p"),
                "steady": launch.stationary,
                "detectable_drift": finite(launch.detectable_drift),
                "steps_needed": launch.steps_needed,
            }
            for launch in result.stationarity
        ],
        "similarity": {
            linkage: [values(merge, "left right distance") for merge in result.merges(linkage)] for linkage in LINKAGES
        },
        "modes": [
            {
                "workload": pair.train.point.workload,
                "threads": pair.train.threads,
                "train_seconds_per_item": pair.train.item_seconds,
                "infer_seconds_per_item": pair.infer.item_seconds,
                "ratio": pair.ratio,
            }
            for pair in result.pairs
        ],
        "scaling": [_scaling_facts(scaling) for scaling in result.scalings],
        "notes": op_notes(result),
    }


def values(item: object, names: str) -> Facts:
    """Attributes by name."""
    return {name: getattr(item, name) for name in names.split()}


def _profile_facts(name: str, profile: Profile) -> Facts:
    return {
        "name": name,
        **values(profile.point, "workload mode size"),
        **values(profile, "threads inter launches"),
        "quiet_launches": profile.quiet,
        "verdict_code": profile.verdict,
        **values(profile, f"steps wall_seconds op_seconds {STEP_KEYS}"),
        "classes": profile.class_shares,
        "loss_share": profile.purpose_share("loss"),
        "purposes": profile.purpose_seconds,
        "types_for_90_percent": types_for(profile),
        "ops": [
            {
                "type": op.type,
                "class": op.op_class,
                **values(op, "seconds share"),
                "share_in_launches": [op.least, op.most],
                "reproducible_to": op.reproducibility,
                "executions": op.executions,
                "purposes": dict(op.purposes),
            }
            for op in profile.ops
        ],
    }


def _scaling_facts(scaling: Scaling) -> Facts:
    times = scaling.laws.times
    return {
        "name": scaling.name,
        "threads": [*times.threads],
        "step_seconds": times.steps.tolist(),
        "disturbed_threads": [*scaling.disturbed],
        "serial_fraction": estimate_facts(scaling.laws.serial_fraction),
        "parts": [
            {
                "name": part.name,
                "class": op_class(part.name),
                "seconds": seconds.tolist(),
                "one_thread_seconds": part.one_thread_seconds,
                "serial_fraction": estimate_facts(part.serial_fraction),
                "slower": part.slower,
            }
            for part, seconds in zip(scaling.laws.parts, times.means.T, strict=True)
        ],
        "losses": [
            {
                **values(loss, "threads efficiency lost_seconds"),
                "parts": [
                    {
                        "name": part.name,
                        "class": op_class(part.name),
                        "seconds": part.seconds,
                        "share": estimate_facts(part.share),
                    }
                    for part in loss.parts
                ],
            }
            for loss in scaling.losses
        ],
        "held_out": [
            {
                "threads": held.by_ops.threads,
                "fitted_on": held.fitted_on,
                "measured_seconds": held.by_ops.measured,
                "by_ops": _prediction_facts(held.by_ops, "error inside"),
                "by_whole_step": _prediction_facts(held.by_step, "error"),
            }
            for held in scaling.held_out
        ],
        "predictions": [
            _prediction_facts(by_ops) | {"by_whole_step": _prediction_facts(by_step)}
            for by_ops, by_step in scaling.predictions
        ],
    }


def elsewhere_facts(other: OtherMachine) -> Facts:
    """Predictions of another machine as JSON facts."""
    return {
        "distance": other.distance,
        "predictions": [
            {
                "name": one.name,
                "threads": one.by_ceilings.threads,
                "by_ceilings": _prediction_facts(one.by_ceilings, "error inside"),
                "by_networks": one.by_networks and _prediction_facts(one.by_networks, "error inside"),
                "measured_seconds": one.measured and one.measured.seconds,
                "measured_traced": one.measured and one.measured.parts is not None,
            }
            for one in other.predictions
        ],
        "refused": other.refusals,
    }


def _prediction_facts(predicted: StepPrediction, checks: str = "") -> Facts:
    return {
        "threads": predicted.threads,
        "seconds": predicted.seconds.value,
        **values(predicted.seconds, "low high"),
        "plain_seconds": predicted.plain_seconds,
        "imprecise": [*predicted.imprecise_parts],
        **values(predicted, checks),
    }


def printed() -> Fields:
    """The keys and types of what `profile --json` prints."""
    return {"profiles": ARRAY[dict[str, Any]], "analysis": dict[str, Any]}
