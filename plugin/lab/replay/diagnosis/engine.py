"""The engine of the diagnosis: asks hypotheses, tries alternatives, ranks them, checks repairs.

Cheap questions come first. It stops as soon as something explains enough, notes what cannot be
judged, and keeps the repair of a policy file only if it makes the recording and the policy agree.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby

import mujoco

from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.lab.findings.rendering import removes
from mjrig.lab.replay.diagnosis.hypothesis import (
    CAUSE,
    NAMED,
    SUSPECTED,
    Alternative,
    Aspect,
    Case,
    Hypothesis,
    NotJudged,
)

#: Fitted properties that are confirmed by running: the best ones.
CONFIRMED = 2
#: What short predictions alone explain by less may be anything: it is a suspicion.
CERTAIN = 0.99


@dataclass
class Judgement:
    """What is known of a case.

    Attributes:
        found: findings, each with its hypothesis.
        notes: remarks.
        unclear: what cannot be judged, and why, by aspect.
        agreed: aspects that were judged and do not differ.
        together: the share that all listed differences explain together.
    """

    found: list[tuple[Hypothesis, Finding]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    agreed: set[Aspect] = field(default_factory=set)
    together: float = 0.0

    @property
    def explained(self) -> float:
        """The share that the best explanation so far has; negative: there is none."""
        shares = [f.share or 0.0 for _, f in self.found]
        return max([self.together, *shares]) if self.found else -1.0

    def findings(self) -> list[Finding]:
        """Causes without their consequences; what explains most is first."""
        return ranked(f for h, f in self.found if not self._is_consequence(h, f))

    def _is_consequence(self, hypothesis: Hypothesis, finding: Finding) -> bool:
        """Whether another finding here shows the same cause; each aspect has signs of its own."""
        repeats = any(
            f.kind == finding.kind != "sign" and h.needs is hypothesis.repeats
            for h, f in self.found
        )
        found = {kind for h, f in self.found for kind in (h.needs, f.kind)}
        return repeats or not found.isdisjoint(hypothesis.consequence_of)


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """What explains most first; what was not tried last."""
    return sorted(findings, key=lambda f: -1.0 if f.share is None else f.share, reverse=True)


def judge(case: Case, table: Iterable[Hypothesis]) -> Judgement:
    """Ask the hypotheses of a table about the aspects of a case, the cheap ones first."""
    judgement, settled = Judgement(), set[Aspect]()
    rows = sorted((h for h in table if h.needs in case.aspects), key=lambda h: h.cost)
    with _quiet():
        for aspect, hypotheses in groupby(rows, key=lambda h: h.needs):
            missing = None if aspect in settled else case.missing(aspect)
            if missing:
                judgement.unclear.append(missing)
            elif missing is not None:
                settled |= _judge_aspect(case, aspect, list(hypotheses), judgement)
    return judgement


def _judge_aspect(
    case: Case, aspect: Aspect, hypotheses: list[Hypothesis], judgement: Judgement
) -> set[Aspect]:
    """Ask the hypotheses about one aspect; returns the aspects that need no judgement any more."""
    found: list[tuple[Hypothesis, Finding]] = []
    settled: set[Aspect] = set()
    alternatives: list[Alternative] = []
    open_before = len(judgement.unclear)
    for hypothesis in hypotheses:
        if aspect in settled or judgement.explained >= hypothesis.until:
            break
        answers = list(hypothesis.estimate(case))
        judgement.notes += [a for a in answers if isinstance(a, str)]
        judgement.unclear += [a.reason for a in answers if isinstance(a, NotJudged)]
        known = [a for a in answers if isinstance(a, Finding)]
        untried = [a for a in answers if isinstance(a, Alternative)]
        alternatives += untried
        new = [*known, *_tried(case, untried)]
        if hypothesis.rests_on is not None and hypothesis.rests_on not in judgement.agreed:
            new = [_weakened(f) for f in new]
        found += [(hypothesis, f) for f in new]
        if new:
            settled |= set(hypothesis.settles)
            judgement.unclear += [hypothesis.because] if hypothesis.because else []
    else:
        if not found and len(judgement.unclear) == open_before:
            judgement.agreed.add(aspect)
    if aspect is Aspect.SETPOINTS:  # rivals: columns are read in one other way at most
        best = sorted(found, key=lambda pair: pair[1].share or 0.0, reverse=True)[:1]
        found = [pair for pair in best if (pair[1].share or 0.0) > CAUSE]
    judgement.found += found
    if aspect is Aspect.PLANT and len(found) > 1:
        judgement.together = case.tried_together(alternatives)
        text = f"undoing all differences together {removes(judgement.together)}"
        judgement.notes.append(text)
    return settled


def _tried(case: Case, alternatives: Sequence[Alternative]) -> Iterator[Finding]:
    """Alternatives with the share of the error that they explain."""
    for i, alternative in enumerate(alternatives):
        if alternative.finding.share is not None:
            yield from _confirmed(case, alternative, i < CONFIRMED)
            continue
        try:
            yield case.tried(alternative)
        except MjrigError as reason:
            if alternative.untried:
                finding = alternative.finding
                evidence = {**finding.evidence, "reason": str(reason)}
                yield replace(finding, form=alternative.untried, evidence=evidence)


def _confirmed(case: Case, alternative: Alternative, by_run: bool) -> Iterator[Finding]:
    """An alternative that was fitted, with what a run confirms of it."""
    fitted = alternative.finding.share or 0.0
    confirmed = (case.tried(alternative).share or 0.0) if by_run else 0.0
    if case.is_measured and confirmed <= NAMED:
        return  # short predictions from noisy states are missed for that reason too
    share = max(fitted, confirmed)
    yield replace(alternative.finding, share=share if share > CERTAIN else SUSPECTED * share)


def _weakened(finding: Finding) -> Finding:
    """A claim whose ground differs too: a suspicion."""
    evidence = {**finding.evidence, "terms_differ": True}
    return replace(finding, share=SUSPECTED * (finding.share or 0.0), evidence=evidence)


# Repairs ------------------------------------------------------------------------------------------


def check_repairs(judgement: Judgement, repaired: Callable[[Finding], Judgement]) -> list[Finding]:
    """The findings; a repair of the policy file is only offered if it makes things agree.

    Args:
        judgement: without repairs.
        repaired: judges the case again, with the repair of one finding.
    """
    return [
        f if not f.is_cause or not _edits_policy(f) else _checked(f, judgement, repaired)
        for f in judgement.findings()
    ]


def _edits_policy(finding: Finding) -> bool:
    return any(edit.file == "policy" for edit in finding.edits)


def _checked(
    finding: Finding, judgement: Judgement, repaired: Callable[[Finding], Judgement]
) -> Finding:
    """A finding that is still there after its repair, or spoils what agreed, is a suspicion."""
    try:
        after = repaired(finding)
    except MjrigError:
        return finding  # that shows when it is applied
    again = any((f.kind, f.names) == (finding.kind, finding.names) for _, f in after.found)
    spoilt = {h.needs for h, _ in after.found} & judgement.agreed
    if not again and not spoilt:
        return finding
    why = "with it the recording and the policy differ as much, or elsewhere"
    share = min(finding.share or 0.0, SUSPECTED)
    return replace(finding, share=share, remedies=(), obstacle=why)


# Quiet --------------------------------------------------------------------------------------------


def _nothing(*_: object) -> bool:
    return False


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of MuJoCo or mjrig: a value that diverges is only a bad guess."""
    before, logger = mujoco.get_mju_user_warning(), logging.getLogger("mjrig")
    mujoco.set_mju_user_warning(lambda text: None)
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)
        mujoco.set_mju_user_warning(before)
