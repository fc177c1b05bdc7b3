"""The answer to a study's own question in one line per subject, or why there is no answer yet.

Features answer questions about replicas, settings, caps and devices; the default question is how many cores to give.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scaling.analysis.rules import Verdict
from scaling.analysis.sizing.answers import AnswerCode, SizeAnswer, size_answers
from scaling.analysis.sizing.question import ScalingLimits
from scaling.analysis.speedup import ScalingPoint
from scaling.features import features, resolve
from scaling.machine.topology import format_list
from scaling.reporting.capacity import basis_words
from scaling.reporting.points import names_among
from scaling.reporting.quantities import VERDICT_WORDS, doubt_words
from scaling.reporting.words import cores_words, count, estimate_facts, figure, interval_alone
from scaling.results.evaluation import Evaluation

REMEDIES = {
    Verdict.DISTURBED: "measure on a quieter host, or run more launches",
    Verdict.NOT_VALID: "see `scaling show -v` for the causes",
}
MORE_LAUNCHES = "run at least five launches"


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """The answer to the question of a study for one subject; `size` has the numbers if it is a number of cores."""

    question: str
    subject: str
    code: str
    sentence: str
    is_answer: bool
    size: SizeAnswer | None = None


def study_answers(result: Evaluation) -> list[StudyAnswer]:
    """The answers to a study's own question, one per subject."""
    for feature in features():
        for function in feature.answers:
            if answers := resolve(function)(result):
                return list(answers)
    return cores_answers(result.points, result.limits)


def cores_answers(points: Iterable[ScalingPoint], limits: Iterable[ScalingLimits]) -> list[StudyAnswer]:
    """The cores to give each series; one answer for all if each was measured on one core count."""
    sizes = size_answers(points, limits)
    if len(sizes) > 1 and all(one.code is AnswerCode.ONE_CORE_COUNT for one in sizes):
        sentence = f"{len(sizes)} series were measured on one core count each; to size them, measure other counts too"
        return [StudyAnswer("cores", "", AnswerCode.ONE_CORE_COUNT, sentence, is_answer=True)]
    names = names_among([one.settings for one in sizes])
    labels = [one.label or names[one.settings] for one in sizes]
    return [
        StudyAnswer("cores", label, one.code, size_sentence(one, label), one.is_answer, one)
        for one, label in zip(sizes, labels, strict=True)
    ]


def study_answer_facts(answer: StudyAnswer) -> dict[str, object]:
    """An answer for JSON, unrounded."""
    size = answer.size
    return {
        "question": answer.question,
        "subject": answer.subject,
        "code": answer.code,
        "sentence": answer.sentence,
        "is_answer": answer.is_answer,
        "cores": size.cores if size else None,
        "threads": size.threads if size and size.cores else None,
        "speedup": estimate_facts(size.speedup if size else None),
        "efficiency": estimate_facts(size.efficiency if size else None),
        "by_curve": size.by_curve if size else None,
    }


def size_sentence(answer: SizeAnswer, name: str | None = None) -> str:
    """'give zstd 8 cores: 5.1 times one core (3.7 to 6.9), 64 % efficient', or why there is no answer."""
    name = name or answer.label or answer.settings.subject
    match answer.code:
        case AnswerCode.NOTHING_MEASURED:
            return f"no answer yet for {name}: nothing was measured: {answer.failure or 'no run was recorded'}"
        case AnswerCode.ONE_CORE_COUNT:
            cores = count(answer.compared or 0, "core")
            return f"{name} was measured on {cores} only; to size it, measure other counts too"
        case AnswerCode.NO_ANSWER:
            return f"no answer yet for {name}: {_obstacle(answer)}; {REMEDIES.get(answer.verdict, MORE_LAUNCHES)}"
    few = ", from one launch per core count" if answer.single_launches else ""
    return f"give {name} {_size_words(answer)}: {', '.join(filter(None, _gain(answer)))}{few}{_left_out(answer)}"


def _size_words(answer: SizeAnswer) -> str:
    most = ", the largest count measured" if answer.is_most and answer.cores != 1 and not answer.left_out else ""
    return f"{cores_words(answer.cores or 1, answer.threads)}{most}"


def _gain(answer: SizeAnswer) -> Sequence[str]:
    """'5.1 times one core (3.7 to 6.9)', the efficiency, and the basis of the size."""
    assert answer.speedup
    assert answer.efficiency
    lead = f"{count(answer.compared or 0, 'core')} are " if answer.cores == 1 else ""
    bound = "at least " if answer.at_least else ""
    interval = "" if answer.at_least else interval_alone(answer.speedup, figure, joint=" to ")
    times = f"{lead}{bound}{figure(answer.speedup.value)} times one core{f' ({interval})' if interval else ''}"
    basis = basis_words(answer.basis) or ("by its curve" if answer.by_curve else "")
    return times, f"{100 * answer.efficiency.value:.0f} % efficient", basis


def _left_out(answer: SizeAnswer) -> str:
    if not answer.left_out:
        return ""
    points = "the point on" if len(answer.left_out) == 1 else "points on"
    return f"; {points} {count(format_list(answer.left_out), 'core')} cannot be used (disturbed or not valid)"


def _obstacle(answer: SizeAnswer) -> str:
    why = f" because {doubt_words(answer.doubt)}" if answer.doubt else ""
    if answer.verdict is Verdict.OK:
        return "the interval of its speedup spans more than a factor of 3"
    return f"its points are {VERDICT_WORDS[answer.verdict]}{why}"
