"""Lowering of natural frequencies until the loops are stable in all sampled poses."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mjrig.core.names import literal
from mjrig.core.properties.per_actuator import patch
from mjrig.lab.check.closed_loop import growing_joints, is_stable
from mjrig.lab.check.feedback_loops import Drive, Group
from mjrig.lab.check.stability import ROOM
from mjrig.lab.gains.gain_rows import holder_of
from mjrig.lab.gains.pose_sampling import SampledPoses
from mjrig.lab.rollouts.actuator_selection import Chosen

#: A frequency is lowered by this factor at a time, so many times before the joint is chosen again.
LOWER, TIMES = 0.995, 8
#: Most searches for poses that are still unstable.
SEARCHES = 12
#: Joints that differ by less than this factor are lowered together.
ALIKE = 0.99
#: Frequencies that would have to be lowered below this share are given up.
LEAST = 0.01

#: kp and kv of one of the chosen at a share of its frequency.
Gains = Callable[[int, float], tuple[float, float]]


def stable_shares(
    poses: SampledPoses, chosen: Sequence[Chosen], gains: Gains, twins: Mapping[int, int]
) -> tuple[list[float], list[str]]:
    """The stable share of each frequency, and the actors that no share makes stable.

    Stable means with twice the gains: then `mjrig check` does not call them close to the bound.
    Mirror images (`twins`) have the same share.
    """
    put_gains(chosen, gains)
    search = _Search(chosen, gains, twins)
    search.add(poses.groups())
    _lower_all(search, poses, chosen, gains)
    if search.add(poses.others()):
        _lower_all(search, poses, chosen, gains)
    return search.share, search.hopeless


def _lower_all(
    search: "_Search", poses: SampledPoses, chosen: Sequence[Chosen], gains: Gains
) -> None:
    """Lower until the poses so far are stable, and those that are searched for then."""
    for _ in range(SEARCHES):
        search.lower()
        held = [gains(i, share) for i, share in enumerate(search.share)]
        stress = np.array([stress_of(kp, kv, poses.world.timestep) for kp, kv in held])
        if not search.add(poses.strained(chosen, stress)):
            break


def stress_of(kp: float, kv: float, step: float) -> float:
    """What must be small against the inertia for an explicit step to be stable: kv + kp h / 2."""
    return max(kv + 0.5 * step * kp, 0.0)


def put_gains(chosen: Sequence[Chosen], gains: Gains) -> None:
    """Set the requested gains on the running controllers."""
    for i, one in enumerate(chosen):
        name = literal(one.binding.actuator)
        for gain, value in zip(("kp", "kv"), gains(i, 1.0), strict=True):
            patch(holder_of(one.controller, gain), {gain: {name: value}})


class _Search:
    """The share of its frequency each joint may have."""

    def __init__(self, chosen: Sequence[Chosen], gains: Gains, twins: Mapping[int, int]) -> None:
        self._gains, self._twins = gains, twins
        self._index = {(c.robot.name, c.binding.actuator): i for i, c in enumerate(chosen)}
        #: Of each frequency.
        self.share = [1.0] * len(chosen)
        self._every: list[Group] = []
        self._lost: set[str] = set()

    @property
    def hopeless(self) -> list[str]:
        """Actors that are unstable in some pose even with zero gains on the chosen joints."""
        return sorted(self._lost)

    def add(self, found: Sequence[Group]) -> bool:
        """Add the loops in some poses; whether any of them are unstable."""
        shares, self.share = self.share, [0.0] * len(self.share)
        lost = [not self._holds(group) for group in found]
        self.share = shares
        self._lost |= {d.actor for g, out in zip(found, lost, strict=True) if out for d in g.drives}
        kept = [group for group, out in zip(found, lost, strict=True) if not out]
        self._every += kept
        return not all(self._holds(group) for group in kept)

    def lower(self) -> None:
        """Lower until every pose is stable, each joint in the presence of all others.

        The worst pose first: else the result would depend on the order of the poses.
        """
        while unstable := [group for group in self._every if not self._holds(group)]:
            while unstable:
                worst = max(unstable, key=self._strain)
                self._lower(worst)
                unstable = [group for group in unstable if not self._holds(group)]

    def _strain(self, group: Group) -> float:
        """How large the gains are for the inertia: the largest eigenvalue of M⁻¹ S."""
        kp, kv, _ = self._factors(group)
        pairs = zip(kp, kv, group.drives, strict=True)
        stress = [stress_of(p * d.kp, v * d.kv, group.plant.step) for p, v, d in pairs]
        rows = np.array([d.row[group.dofs] for d in group.drives])
        rows *= np.sqrt(stress)[:, None]
        return float(np.linalg.eigvalsh(rows @ np.linalg.solve(group.plant.mass, rows.T))[-1])

    def _holds(self, group: Group) -> bool:
        return is_stable(group.plant, group.loops(*self._factors(group)))

    def _factors(self, group: Group) -> npt.NDArray[np.float64]:
        """Factors on kp, kv and ki of the drives of a group, (3, drives)."""
        return np.array([self._factor(d) for d in group.drives]).T

    def _factor(self, drive: Drive) -> tuple[float, float, float]:
        i = self._index.get((drive.actor, drive.actuator))
        if i is None:
            return 1.0, 1.0, 1.0
        kp, kv = self._gains(i, self.share[i])
        return ROOM * _ratio(kp, drive.kp), ROOM * _ratio(kv, drive.kv), 1.0

    def _lower(self, group: Group) -> None:
        """Of the joints whose motion grows, lower the one that is damped most for its inertia.

        One at a time, since it relieves the others; but left and right alike. Any joint may have
        to be lowered where those that grow must not be changed.
        """
        factors = self._factors(group)
        grows = growing_joints(group.plant, group.loops(*factors))
        guilt: dict[int, tuple[bool, float]] = {}
        for k, drive in enumerate(group.drives):
            i = self._index.get((drive.actor, drive.actuator))
            if i is not None and self.share[i]:
                row = drive.row[group.dofs]
                lightness = float(row @ np.linalg.solve(group.plant.mass, row))
                guilt[i] = bool(row[grows].any()), float(factors[1, k]) * drive.kv * lightness
        grown, most = max(guilt.values())
        lowered = {i for i, (grew, much) in guilt.items() if grew == grown and much >= ALIKE * most}
        lowered |= {self._twins[i] for i in lowered if i in self._twins}
        for _ in range(TIMES):
            for i in lowered:
                self.share[i] = self.share[i] * LOWER if self.share[i] > LEAST else 0.0
            if self._holds(group):
                break


def _ratio(new: float, old: float) -> float:
    return new / old if old else 1.0
