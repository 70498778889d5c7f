"""The engine: which hypotheses are asked, and what becomes of their answers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.lab.replay.diagnosis.engine import Judgement, check_repairs, judge
from mjrig.lab.replay.diagnosis.hypothesis import (
    CAUSE,
    Alternative,
    Aspect,
    Case,
    Cost,
    Hypothesis,
    NotJudged,
)
from mjrig.lab.replay.diagnosis.table import ENOUGH, HYPOTHESES
from mjrig.lab.replay.finding import repair, replay_finding

EVERY = frozenset(Aspect)


def finding(kind: str, share: float | None = 1.0, edits: tuple[Any, ...] = ()) -> Finding:
    return replay_finding(kind, "", 1.0, 0.0, "undone", share, edits, reason="")


@dataclass
class Table:
    """Rows in the place of the real ones; `asked` has the kinds in the order they were asked."""

    rows: list[Hypothesis] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def add(
        self,
        kind: str,
        *answers: Any,
        aspect: Aspect = Aspect.ACTION,
        cost: Cost = Cost.COMPARE,
        **more: Any,
    ) -> None:
        def estimate(case: Any) -> Iterator[Any]:
            self.asked.append(kind)
            yield from answers

        self.rows.append(Hypothesis(kind, aspect, cost, estimate, **more))


@pytest.fixture
def table() -> Table:
    return Table()


class Tried(Case):
    """A case in which runs remove these shares of the error, by kind."""

    aspects = EVERY

    def __init__(self, shares: dict[str, float] | None = None, together: float = 0.0) -> None:
        self.shares, self._together = shares or {}, together

    def tried(self, alternative: Alternative) -> Finding:
        kind = alternative.finding.kind
        if kind not in self.shares:
            raise MjrigError("it is compiled in")
        return replace(alternative.finding, share=self.shares[kind])

    def tried_together(self, alternatives: Any) -> float:
        return self._together


def kinds(judgement: Judgement) -> list[str]:
    return [f.kind for f in judgement.findings()]


def test_cheap_hypotheses_are_asked_first(table: Table) -> None:
    table.add("c", aspect=Aspect.BODY, cost=Cost.FIT)
    table.add("b", aspect=Aspect.PLANT, cost=Cost.RUN)
    table.add("a", aspect=Aspect.ACTION)
    judge(Tried(), table.rows)
    assert table.asked == ["a", "b", "c"]


def test_what_explains_most_is_first_and_what_was_not_tried_last(table: Table) -> None:
    table.add("a", finding("a", None), finding("b", 0.5), finding("c", 0.9))
    assert kinds(judge(Tried(), table.rows)) == ["c", "b", "a"]


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_nothing_more_is_asked_where_enough_is_explained(table: Table, share: float) -> None:
    table.add("a", finding("a", share))
    table.add("b", aspect=Aspect.BODY, until=0.5)
    judge(Tried(), table.rows)
    assert ("b" in table.asked) == (share < 0.5)


def test_listed_differences_are_also_undone_together(table: Table) -> None:
    both = [Alternative(finding(kind, None)) for kind in "ab"]
    table.add("ab", *both, aspect=Aspect.PLANT, cost=Cost.RUN)
    table.add("c", aspect=Aspect.BODY, cost=Cost.FIT, until=0.9)
    judgement = judge(Tried({"a": 0.1, "b": 0.2}, together=0.97), table.rows)
    assert judgement.together == 0.97
    assert "c" not in table.asked
    assert [f.share for f in judgement.findings()] == [0.2, 0.1]


def test_what_cannot_be_tried_is_mentioned_only_if_it_has_a_sentence(table: Table) -> None:
    table.add(
        "a", Alternative(finding("a", None), untried="not tried"), Alternative(finding("b", None))
    )
    (found,) = judge(Tried(), table.rows).findings()
    assert (found.kind, found.form, found.share) == ("a", "not tried", None)
    assert found.evidence["reason"] == "it is compiled in"


@pytest.mark.parametrize(("share", "named"), [(0.45, []), (0.55, ["b"])])
def test_a_recording_is_read_in_one_other_way_at_most(
    table: Table, share: float, named: list[str]
) -> None:
    table.add("a", Alternative(finding("a", None)), aspect=Aspect.SETPOINTS, cost=Cost.RUN)
    table.add("b", Alternative(finding("b", None)), aspect=Aspect.SETPOINTS, cost=Cost.RUN)
    assert kinds(judge(Tried({"a": 0.8 * share, "b": share}), table.rows)) == named


@pytest.mark.parametrize(
    ("fitted", "run", "share"),
    [(0.97, 0.98, 0.6 * 0.98), (0.97, 0.995, 0.995), (0.995, 0.1, 0.995)],
)
def test_fitted_values_are_confirmed_by_running(
    table: Table, fitted: float, run: float, share: float
) -> None:
    table.add("a", Alternative(finding("a", fitted)), aspect=Aspect.BODY, cost=Cost.FIT)
    (found,) = judge(Tried({"a": run}), table.rows).findings()
    assert found.share == pytest.approx(share)


def test_only_the_best_fits_are_run(table: Table) -> None:
    table.add(
        "x", *(Alternative(finding(k, 0.5)) for k in "abc"), aspect=Aspect.BODY, cost=Cost.FIT
    )
    found = judge(Tried(dict.fromkeys("abc", 1.0)), table.rows).findings()
    assert {f.kind: f.share for f in found} == {"a": 1.0, "b": 1.0, "c": pytest.approx(0.3)}


@pytest.mark.parametrize(("confirmed", "named"), [(0.2, False), (0.5, True)])
def test_noisy_states_need_a_run_that_confirms(table: Table, confirmed: float, named: bool) -> None:
    table.add("a", Alternative(finding("a", 0.999)), aspect=Aspect.BODY, cost=Cost.FIT)
    case = Tried({"a": confirmed})
    case.is_measured = True
    assert bool(judge(case, table.rows).findings()) == named


def test_a_finding_can_settle_parts(table: Table) -> None:
    table.add("a", finding("a"), settles=(Aspect.ACTION, Aspect.BODY), because="another order")
    table.add("b", finding("b"))
    table.add("c", finding("c"), aspect=Aspect.BODY)
    judgement = judge(Tried(), table.rows)
    assert (table.asked, judgement.unclear) == (["a"], ["another order"])


@pytest.mark.parametrize("of", [Aspect.ACTION, "a"])
def test_consequences_are_not_reported_next_to_their_cause(table: Table, of: Aspect | str) -> None:
    table.add("b", finding("b"), aspect=Aspect.START, consequence_of=(of,))
    table.add("a", finding("a"))
    assert kinds(judge(Tried(), table.rows)) == ["a"]


@pytest.mark.parametrize(("kind", "reported"), [("default_pose", 1), ("sign", 2)])
def test_a_kind_that_two_parts_show_is_reported_once(
    table: Table, kind: str, reported: int
) -> None:
    table.add("a", finding(kind))
    table.add("b", finding(kind), aspect=Aspect.OBSERVATION, repeats=Aspect.ACTION)
    assert len(judge(Tried(), table.rows).findings()) == reported


@pytest.mark.parametrize("grounds", ["agree", "differ", "unknown"])
def test_a_claim_rests_on_parts_that_agree(table: Table, grounds: str) -> None:
    answers = {"agree": (), "differ": (finding("a"),), "unknown": (NotJudged("no states"),)}
    table.add("a", *answers[grounds], aspect=Aspect.OBSERVATION)
    table.add("b", finding("b"), aspect=Aspect.NETWORK, rests_on=Aspect.OBSERVATION)
    found = next(f for f in judge(Tried(), table.rows).findings() if f.kind == "b")
    assert found.is_cause == (grounds == "agree")


def test_parts_that_agree_are_known(table: Table) -> None:
    class Without(Tried):
        def missing(self, aspect: Aspect) -> str | None:
            return {Aspect.BODY: "no states", Aspect.STATE: None}.get(aspect, "")

    table.add("a")
    table.add("b", finding("b"), aspect=Aspect.START)
    table.add("c", NotJudged("no gains"), aspect=Aspect.TIMING)
    table.add("d", aspect=Aspect.BODY)
    table.add("e", aspect=Aspect.STATE)
    table.add("f", aspect=Aspect.PRECISION, until=0.0)
    judgement = judge(Without(), table.rows)
    assert "f" not in table.asked
    assert judgement.agreed == {Aspect.ACTION}
    assert sorted(judgement.unclear) == ["no gains", "no states"]


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ((), True),
        (("a",), False),  # as wrong as before
        (("c",), False),  # another aspect that agreed
        (("d",), True),  # revealed in an aspect that differed
    ],
)
def test_a_repair_of_a_policy_must_make_it_agree(
    table: Table, after: tuple[str, ...], kept: bool
) -> None:
    aspects = {"a": Aspect.OBSERVATION, "c": Aspect.ACTION, "d": Aspect.OBSERVATION}
    edit = repair("policy", "default", 0.0)
    table.add("a", finding("a", 1.0, (edit,)), aspect=Aspect.OBSERVATION)
    table.add("c")
    before = judge(Tried(), table.rows)
    rows = {k: next(h for h in table.rows if h.needs is aspects[k]) for k in after}
    judged = Judgement(found=[(rows[k], finding(k)) for k in after])
    (found,) = check_repairs(before, lambda f: judged)
    assert (bool(found.edits), found.is_cause) == (kept, kept)
    assert bool(found.obstacle) != kept


def test_every_hypothesis_is_asked_of_one_part_and_cost() -> None:
    """Rows of one aspect stand together: the engine judges aspect by aspect."""
    aspects = [h.needs for h in sorted(HYPOTHESES, key=lambda h: h.cost)]
    changes = [p for i, p in enumerate(aspects) if i == 0 or aspects[i - 1] is not p]
    assert len(changes) == len(set(changes)) == len(Aspect)
    assert 0.0 < CAUSE < ENOUGH < 1.0


@pytest.mark.parametrize(("share", "asked"), [(0.93, True), (0.97, False)])
@pytest.mark.parametrize("aspect", [Aspect.SETPOINTS, Aspect.BODY])
def test_nothing_else_is_sought_with_a_twentieth_of_the_error_left(
    aspect: Aspect, share: float, asked: bool, table: Table
) -> None:
    table.add("kp", finding("kp", share), aspect=Aspect.PLANT, cost=Cost.RUN)
    calls: list[str] = []
    for row in HYPOTHESES:
        if row.needs is aspect:
            table.rows.append(
                replace(row, estimate=lambda case, kind=row.kind: calls.append(kind) or iter(()))
            )
    judge(Tried({}), table.rows)
    assert bool(calls) == asked
