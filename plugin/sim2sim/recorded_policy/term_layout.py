"""Layout of an observation: which values belong to which term of a policy file, and how old."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.control.articulation import Articulation
from mjrig.sim2sim.compare.matching import Indices

OLDEST, NEWEST = "oldest_first", "newest_first"
TERM, FRAME = "term", "frame"
#: Terms with three values, and with one per joint of the policy.
_VECTORS = ("BaseAngularVelocity", "BaseLinearVelocity", "ProjectedGravity")
_PER_JOINT = ("JointPositions", "JointVelocities", "JointTargetErrors", "LastAction")


@dataclass(frozen=True)
class LayoutTerm:
    """One term: its place in the file, its type, how many values it has and what is said of it."""

    index: int
    kind: str
    size: int
    history: int
    said: Mapping[str, Any]
    joints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its type, and the sensor it reads if there is one."""
        sensor = self.said.get("sensor") or self.said.get("site")
        return f"{self.kind} ({sensor})" if sensor else self.kind

    @property
    def path(self) -> str:
        """Where it is in the policy file."""
        return f"observation.terms[{self.index}]"


@dataclass(frozen=True)
class TermLayout:
    """All terms, and how their histories are arranged."""

    terms: tuple[LayoutTerm, ...]
    order: str = OLDEST
    by: str = TERM

    @property
    def has_history(self) -> bool:
        """Whether earlier values are part of the observation."""
        return any(t.history > 1 for t in self.terms)

    def places(self, order: str = "", by: str = "") -> list[Indices]:
        """Per term the places of its values, (age, value); age 0 is the present tick."""
        order, by = order or self.order, by or self.by
        found: dict[int, Indices] = {}
        start = 0
        for block in self._blocks(by):
            width, first = sum(t.size for t in block), start
            for term in block:
                ages = np.arange(term.history)
                rows = ages if order == NEWEST else term.history - 1 - ages
                found[id(term)] = first + rows[:, None] * width + np.arange(term.size)
                first += term.size
            start += sum(t.size * t.history for t in block)
        return [found[id(term)] for term in self.terms]

    def _blocks(self, by: str) -> list[list[LayoutTerm]]:
        """Terms whose values lie together: each alone, or frames of all that feed an input."""
        if by != FRAME:
            return [[term] for term in self.terms]
        found: dict[str, list[LayoutTerm]] = {}
        for term in self.terms:
            found.setdefault(str(term.said.get("input") or ""), []).append(term)
        return list(found.values())


def layout_of(
    said: Mapping[str, Any], joints: Sequence[str], command: int, robot: Articulation, size: int
) -> TermLayout | None:
    """The layout of a policy file's observation; None: the sizes do not add up to `size`.

    Args:
        said: the policy file as data.
        joints: its joints, in its order.
        command: how many values its command has.
        robot: whose sensors are read.
        size: of the whole observation.
    """
    observation = said.get("observation") or {}
    kept = observation.get("history") or {}
    length = int(kept.get("length", 1))
    found: list[tuple[Mapping[str, Any], int | None]] = [
        (term, _size(term, joints, command, robot)) for term in observation.get("terms") or ()
    ]
    lengths = [int(term.get("history") or length) for term, _ in found]
    unknown = [i for i, (_, own) in enumerate(found) if own is None]
    known = sum((own or 0) * n for (_, own), n in zip(found, lengths, strict=True))
    if len(unknown) > 1:
        return None
    if unknown:
        rest, over = divmod(size - known, lengths[unknown[0]])
        if rest < 1 or over:
            return None
        found[unknown[0]] = found[unknown[0]][0], rest
    elif known != size:
        return None
    terms = tuple(
        LayoutTerm(i, str(term.get("type")), own or 0, n, term, _joints(term, joints))
        for i, ((term, own), n) in enumerate(zip(found, lengths, strict=True))
    )
    return TermLayout(terms, str(kept.get("order", OLDEST)), str(kept.get("by", TERM)))


def _joints(term: Mapping[str, Any], joints: Sequence[str]) -> tuple[str, ...]:
    return tuple(term.get("joints") or joints) if term.get("type") in _PER_JOINT else ()


def _size(
    term: Mapping[str, Any], joints: Sequence[str], command: int, robot: Articulation
) -> int | None:
    kind, found = term.get("type"), None
    if kind in _VECTORS:
        found = 3
    elif kind in _PER_JOINT:
        found = len(_joints(term, joints))
    elif kind == "CommandTerm":
        found = command
    elif kind == "GaitPhase":
        offsets = len(np.ravel(term.get("offsets", [0.0])))
        found = offsets * (1 if term.get("form") == "phase" else 2)
    elif kind == "Constant":
        found = int(np.size(term.get("values", 0.0)))
    elif kind == "RelativeRotation":
        found = 3 * len(term.get("rows", (0, 1, 2)))
    elif kind == "SensorTerm" and term.get("sensor") in robot.sensors:
        found = int(robot.sensors[term["sensor"]].size)
    return found
