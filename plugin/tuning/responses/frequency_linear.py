"""The frequency response and the margins of a feedback loop, from the exact linear map of a tick.

One tick takes small motions x = (q, q̇, ∫) and targets r to x⁺ = A x + B r. Targets are put in as
joints of their own that are far too heavy to move, so that A and B both come from the one map.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.check.closed_loop import Carrier, transition
from mjrig.check.feedback_loops import Drive, Group, Indices, groups
from mjrig.sim.world import World
from mjrig.tuning.responses.frequency import ComplexArray, FrequencyResponse, crossing

#: Inertia of the joints that stand for targets, in units of the robot's largest.
IMMOVABLE = 1e20
#: Number of frequencies for the margins of a loop.
GRID = 2000
#: Lowest of them [Hz].
LOWEST = 0.01
#: Joint displacement for the derivative of gravity [rad or m].
NUDGE = 1e-5


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop, cut at one actuator with all others closed.

    Attributes:
        phase_margin: [deg], the smallest over all crossovers; None: the loop's gain is never 1.
        crossover: its frequency [Hz].
        delay_margin: additional dead time that would use up the phase margin [s].
        gain_margin: the factor on the loop's gains that makes it unstable; None: none does, as
            where the integrator or the law solves for the end of the step.
    """

    phase_margin: float | None
    crossover: float | None
    delay_margin: float | None
    gain_margin: float | None


class LinearGroup:
    """Dynamically coupled joints and the feedback on them, as one linear map per tick.

    Args:
        group: all of its loops must have the same tick.
        gravity: how the effort that holds each joint changes with the pose, (n, n).
    """

    def __init__(self, group: Group, gravity: FloatArray) -> None:
        self.group = group
        self._plant = replace(group.plant, stiffness=group.plant.stiffness + gravity)
        #: Time between two states [s].
        self.tick = group.drives[0].every * group.plant.step

    @cached_property
    def _system(self) -> tuple[FloatArray, FloatArray]:
        """A, and B with one column per drive."""
        n, m = len(self._plant.mass), len(self.group.drives)
        wide = self._with_targets()
        matrix = transition(wide.plant, wide.loops())
        own = [*range(n), *range(n + m, 2 * n + m), *range(2 * (n + m), len(matrix))]
        return matrix[np.ix_(own, own)], matrix[np.ix_(own, range(n, n + m))]

    def _with_targets(self) -> Group:
        """The same with a joint per target; each drive measures its own joint minus that one."""
        plant, drives, dofs = self._plant, self.group.drives, self.group.dofs
        m = len(drives)
        wide = replace(
            plant,
            mass=_padded(plant.mass, m, IMMOVABLE * float(plant.mass.max())),
            damping=_padded(plant.damping, m),
            stiffness=_padded(plant.stiffness, m),
        )
        rows = np.hstack([np.array([d.row[dofs] for d in drives]), -np.eye(m)])
        measuring = tuple(replace(d, row=row) for d, row in zip(drives, rows, strict=True))
        return Group(np.arange(len(wide.mass)), wide, measuring)

    def response(self, frequency: FloatArray) -> ComplexArray:
        """position / target of every drive alone at some frequencies [Hz], (drives, frequencies).

        The delay of commands is included; a random one counts as none.
        """
        a, b = self._system
        rows = np.array([d.row[self.group.dofs] for d in self.group.drives])
        found = np.empty((len(rows), len(frequency)), complex)
        late = np.array([_delay(d, self.tick) for d in self.group.drives])
        for k, z in enumerate(np.exp(2j * np.pi * frequency * self.tick)):
            x = np.linalg.solve(z * np.eye(len(a)) - a, b)[: rows.shape[1]]
            found[:, k] = np.einsum("ij,ji->i", rows, x) * z**-late
        return found

    def open_loop(self, drive: int, frequency: FloatArray) -> ComplexArray:
        """L of one drive, all others closed: 1 + L = det(z − A) / det(z − A without it)."""
        gains = np.ones(len(self.group.drives))
        gains[drive] = 0.0
        cut = transition(self._plant, self.group.loops(gains, gains, gains))
        closed, opened = np.linalg.eigvals(self._system[0]), np.linalg.eigvals(cut)
        # An integral without input is left out of the map; it stays constant.
        opened = np.concatenate([opened, np.ones(len(closed) - len(opened))])
        z = np.exp(2j * np.pi * frequency * self.tick)[:, None]
        return np.asarray(np.prod((z - closed) / (z - opened), axis=1) - 1.0)

    def margins(self, drive: int) -> Margins:
        """The margins of one drive."""
        highest = 0.5 / self.tick
        frequency = np.geomspace(min(LOWEST, highest / 2.0), highest, GRID)
        found = margins_of(frequency, self.open_loop(drive, frequency))
        return found if self._is_explicit(drive) else replace(found, gain_margin=None)

    def _is_explicit(self, drive: int) -> bool:
        """Whether L is proportional to the gains."""
        carrier = self.group.drives[drive].carrier
        inside = carrier is Carrier.ENGINE and self._plant.integrator != "Euler"
        return carrier is not Carrier.SOLVED and not inside


def _delay(drive: Drive, tick: float) -> int:
    """Command delay of a controller in ticks."""
    delay: Any = getattr(drive.controller, "delay", None)
    if drive.controller is None or delay is None or delay.is_authored("random"):
        return 0
    names = [b.actuator for b in drive.controller.bindings]
    lags = np.broadcast_to(delay.lags(tick), len(names))
    return int(lags[names.index(drive.actuator)])


def _padded(matrix: FloatArray, count: int, value: float = 0.0) -> FloatArray:
    n = len(matrix)
    wide = np.diag(np.full(n + count, value))
    wide[:n, :n] = matrix
    return wide


def margins_of(frequency: FloatArray, loop: ComplexArray) -> Margins:
    """The margins of a loop given at frequencies up to half its rate [Hz]."""
    gain, phase = np.abs(loop), np.unwrap(np.angle(loop))
    found = []
    for k in np.flatnonzero((gain[1:] < 1.0) != (gain[:-1] < 1.0)) + 1:
        at = crossing(frequency, gain, int(k))
        angle = np.degrees(np.interp(at, frequency, phase))
        found.append((float(angle) % 360.0 - 180.0, at))
    factor = _gain_margin(loop)
    if not found:
        return Margins(None, None, None, factor)
    margin, at = min(found, key=lambda pair: abs(pair[0]))
    return Margins(margin, at, margin / 360.0 / at, factor)


def _gain_margin(loop: ComplexArray) -> float | None:
    """The smallest factor above 1 that moves the loop through −1."""
    x, y = loop.real, loop.imag
    k = np.flatnonzero(np.sign(y[1:]) != np.sign(y[:-1]))
    passes = x[k] - y[k] * (x[k + 1] - x[k]) / (y[k + 1] - y[k])
    real = np.append(passes, x[-1])  # at half the rate everything is real
    return min((float(-1.0 / v) for v in real if -1.0 < v < 0.0), default=None)


def gravity_gradient(world: World, dofs: Indices) -> FloatArray:
    """∂(effort that holds the pose)/∂q at rest, over some degrees of freedom."""
    model = world.model
    scratch = mujoco.MjData(model)
    found = np.zeros((len(dofs), len(dofs)))
    for column, dof in enumerate(dofs):
        for side in (1.0, -1.0):
            scratch.qpos[:] = world.data.qpos
            direction = np.zeros(model.nv)
            direction[dof] = side
            mujoco.mj_integratePos(model, scratch.qpos, direction, NUDGE)
            mujoco.mj_fwdPosition(model, scratch)
            mujoco.mj_fwdVelocity(model, scratch)
            held = scratch.qfrc_bias - scratch.qfrc_gravcomp
            found[:, column] += side * held[dofs] / (2.0 * NUDGE)
    return found


@dataclass(frozen=True)
class LinearResponse:
    """Linear analysis of the drives of a world at its current pose.

    Drives are looked up by actor and actuator; loops with several rates are not covered.
    """

    places: dict[tuple[str, str], tuple[LinearGroup, int]]

    @classmethod
    def of(cls, world: World) -> Self:
        """Linearise a world where it is."""
        places = {}
        for group in groups(world):
            if len({drive.every for drive in group.drives}) > 1:
                continue
            linear = LinearGroup(group, gravity_gradient(world, group.dofs))
            for i, drive in enumerate(group.drives):
                places[drive.actor, drive.actuator] = linear, i
        return cls(places)

    def margins(self, actor: str, actuator: str) -> Margins | None:
        """The margins of one actuator's loop; None: not covered."""
        if (actor, actuator) not in self.places:
            return None
        group, drive = self.places[actor, actuator]
        return group.margins(drive)

    def responses(self, frequency: FloatArray) -> dict[tuple[str, str], FrequencyResponse]:
        """The frequency response of every drive, at frequencies below half its rate [Hz]."""
        known = {}
        for linear in {id(g): g for g, _ in self.places.values()}.values():
            at = frequency[frequency < 0.5 / linear.tick]
            known[id(linear)] = at, linear.response(at)
        found = {}
        for key, (linear, drive) in self.places.items():
            at, values = known[id(linear)]
            found[key] = FrequencyResponse(at, values[drive])
        return found
