"""Frequency response of a joint: measured, from the linearised loop with margins, and its modes.

One tick maps small motions x = (q, q̇, ∫) and targets r to x⁺ = A x + B r. Targets enter as
separate joints that are far too heavy to move, so that A and B both come from one map.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding, note
from mjrig.core.sim.world import World
from mjrig.lab.check.closed_loop import ROUNDING, Carrier, transition
from mjrig.lab.check.feedback_loops import Drive, Group, Indices, groups
from mjrig.lab.rollouts.signals import WINDOW, Kind, Signal, Trace, is_still, most_speed

# Frequency ----------------------------------------------------------------------------------------
# Frequency response of a joint: position over target, gain and phase.


ComplexArray = npt.NDArray[np.complex128]
#: Share of a sine's run, at its beginning, that is discarded as transient.
SWINGING_IN = 0.5
#: A chirp that ends with more speed than this, in amplitudes per duration, shows no response.
MOVING = 0.05
#: A sine has swung in if its first and last cycle differ by less than this share.
STEADY = 0.01
#: A resonance is at least so much above the lowest frequency: a joint with ζ < 0.69 reaches it.
PROMINENT = 1.002
#: −3 dB.
HALF_POWER = 1.0 / math.sqrt(2.0)


@dataclass(frozen=True)
class FrequencyResponse:
    """H = position / target over frequency.

    Attributes:
        frequency: [Hz], ascending.
        value: H, complex.
    """

    frequency: FloatArray
    value: ComplexArray

    @property
    def gain(self) -> FloatArray:
        """|H|."""
        return np.abs(self.value)

    @property
    def phase(self) -> FloatArray:
        """∠H [deg], without jumps."""
        return np.degrees(np.unwrap(np.angle(self.value)))

    def distance(self, other: "FrequencyResponse") -> float:
        """The largest |H − H'| as a share of the largest |H'|; both at the same frequencies."""
        return float(np.abs(self.value - other.value).max() / np.abs(other.value).max())

    @property
    def bandwidth(self) -> float | None:
        """Where the gain first falls 3 dB below that of the lowest frequency [Hz].

        None: not within the available frequencies.
        """
        if len(self.frequency) < 2:
            return None
        share = self.gain / self.gain[0]
        below = np.flatnonzero(share < HALF_POWER)
        return crossing(self.frequency, share / HALF_POWER, int(below[0])) if len(below) else None

    @property
    def peak(self) -> tuple[float, float] | None:
        """The resonance: its frequency [Hz] and its gain relative to the lowest frequency.

        Between the frequencies by a parabola on logarithmic scales. None: the gain has no maximum
        within the available frequencies that is above that of the lowest.
        """
        highest = int(np.argmax(self.gain))
        if not 0 < highest < len(self.gain) - 1:
            return None
        around = slice(highest - 1, highest + 2)
        x, y = np.log(self.frequency[around]), np.log(self.gain[around] / self.gain[0])
        (left, right), (before, after) = np.diff(y) / np.diff(x), (x[:2] + x[1:]) / 2.0
        at = before + left * (after - before) / (left - right) if left > right else x[1]
        bend = (right - left) / (after - before)
        height = math.exp(y[1] - 0.5 * bend * (at - x[1]) ** 2)
        return (float(math.exp(at)), height) if height > PROMINENT else None


def crossing(frequency: FloatArray, gain: FloatArray, after: int) -> float:
    """Where a gain is 1 between a frequency and the one before it, on logarithmic scales."""
    x, y = np.log(frequency[after - 1 : after + 1]), np.log(gain[after - 1 : after + 1])
    return float(np.exp(x[0] - y[0] * (x[1] - x[0]) / (y[1] - y[0])))


def measured(trace: Trace, signal: Signal, timestep: float) -> FrequencyResponse | None:
    """The frequency response from a trace of a chirp or a sine.

    A chirp: the ratio of the spectra of the whole record, which begins and ends at rest, so that
    nothing leaks and no window is needed; exact for a linear joint. A sine: the least-squares
    sine through the last whole cycles, one frequency. None: other signals, or a run too short.
    """
    target = trace.target - trace.target[-1] if signal.kind is Kind.CHIRP else trace.target
    # NOTE: a trace pairs a target with the position one step later.
    position = np.concatenate([[trace.start], trace.position[:-1]]) - trace.start
    if signal.kind is Kind.CHIRP:
        return _of_chirp(target, position, signal, timestep)
    if signal.kind is Kind.SINE:
        return _of_sine(target - np.mean(target), position, signal, timestep)
    return None


def unsettled(trace: Trace, signal: Signal, timestep: float) -> Finding | None:
    """Why a trace shows no frequency response; None: it does."""
    if signal.kind is Kind.CHIRP:
        speed = most_speed(trace.position[-WINDOW:], timestep)
        if not is_still(speed, signal, MOVING).all():
            values = {"here": float(trace.time[-1]), "unit": "s"}
            return note("no frequency response", "", form="no frequency response moving", **values)
    if signal.kind is Kind.SINE and not _is_steady(trace, signal, timestep):
        return note("no frequency response", "")
    return None


def _is_steady(trace: Trace, signal: Signal, timestep: float) -> bool:
    per_cycle = round(1.0 / (signal.frequency * timestep))
    count = len(trace.position)
    early = max(round(count * SWINGING_IN), per_cycle) if count >= 2 * per_cycle else 0
    turn = 2.0 * np.pi * signal.frequency * timestep * np.arange(count, dtype=float)
    waves = np.column_stack([np.cos(turn), np.sin(turn), np.ones_like(turn)])
    ends = []
    for begin in (min(early, count - per_cycle), count - per_cycle):
        window = slice(max(begin, 0), max(begin, 0) + per_cycle)
        ends.append(_phasor(waves[window], trace.position[window]))
    return abs(ends[0] - ends[1]) <= STEADY * abs(ends[1])


def _of_chirp(
    target: FloatArray, position: FloatArray, signal: Signal, timestep: float
) -> FrequencyResponse | None:
    frequency = np.asarray(np.fft.rfftfreq(len(target), timestep), float)
    low, high = sorted((signal.frequency, signal.end_frequency))
    inside = (frequency >= low) & (frequency <= high)
    if not inside.any():
        return None
    x, y = np.fft.rfft(target), np.fft.rfft(position)
    return FrequencyResponse(frequency[inside], (y / x)[inside])


def _of_sine(
    target: FloatArray, position: FloatArray, signal: Signal, timestep: float
) -> FrequencyResponse | None:
    per_cycle = 1.0 / (signal.frequency * timestep)
    count = round(signal.duration / timestep)
    cycles = math.floor(count * (1.0 - SWINGING_IN) / per_cycle)
    if cycles < 1:
        return None
    window = slice(count - round(cycles * per_cycle), count)
    time = np.arange(count, dtype=float)[window] * timestep
    turn = np.asarray(2.0 * np.pi * signal.frequency * time, float)
    waves = np.column_stack([np.cos(turn), np.sin(turn), np.ones_like(turn)])
    x, y = (_phasor(waves, v[window]) for v in (target, position))
    return FrequencyResponse(np.array([signal.frequency]), np.array([y / x]))


def _phasor(waves: FloatArray, values: FloatArray) -> complex:
    """The sine through values."""
    (cosine, sine, _), *_ = np.linalg.lstsq(waves, values, rcond=None)
    return complex(cosine, -sine)


# Modes --------------------------------------------------------------------------------------------
# Modes of a joint in a coupled robot: how much of its step response each of them is.


#: Eigenvalues that differ by less than this share are one: those of limbs built alike.
SAME = 0.02
#: Overdamped, a joint has two real eigenvalues: the second takes at least this share of the part of
#: the first.
PARTNER = 0.05
#: Eigenvalues closer to 1 do not settle.
STAYS = 1e-10
#: Instants within a period at which the part of a mode is evaluated.
INSTANTS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class Mode:
    """One mode in the step response of a joint.

    Attributes:
        frequency: natural frequency [Hz].
        damping: damping ratio.
        size: the largest it contributes to the step response, as a share of the step.
        dof: the degree of freedom that has the largest part in it.
    """

    frequency: float
    damping: float
    size: float
    dof: int = -1


@dataclass(frozen=True)
class _Term:
    """residue · exp(rate · t) in the step response.

    `part` is the joint's part in the mode, `dof` the position that has the largest.
    """

    rate: complex
    residue: complex
    part: float
    dof: int

    @property
    def is_real(self) -> bool:
        return abs(self.rate.imag) <= 1e-9 * abs(self.rate)


def step_modes(a: FloatArray, b: FloatArray, row: FloatArray, tick: float) -> list[Mode]:
    """The modes of x⁺ = a x + b r in the position row · x after a step of r, the largest first.

    Two real eigenvalues count as one overdamped mode.

    Args:
        row: over the positions, which are the first of x; as many velocities follow.
    """
    terms = _terms(a, b, row, tick)
    found = [_mode(t, replace(t, rate=t.rate.conjugate())) for t in terms if not t.is_real]
    real = sorted((t for t in terms if t.is_real), key=lambda t: -abs(t.residue))
    while real:
        first = real.pop(0)
        near = [t for t in real if t.part > PARTNER * first.part]
        if near:
            partner = max(near, key=lambda t: t.part)
            real.remove(partner)
            found.append(_mode(first, partner))
        else:
            found.append(_mode(first, replace(first, residue=0.0)))
    return sorted(found, key=lambda mode: -mode.size)


def _terms(a: FloatArray, b: FloatArray, row: FloatArray, tick: float) -> list[_Term]:
    """One per eigenvalue, of conjugate ones the upper; those that are the same added up."""
    values, right = np.linalg.eig(a)
    left, n = np.linalg.pinv(right), len(row)
    with np.errstate(all="ignore"):
        rates = np.log(values.astype(complex)) / tick
        residues = (row @ right[:n]) * (left @ b) / (1.0 - values)
    rates = np.where(np.isfinite(rates), rates, -1.0 / tick)
    residues = np.where(np.abs(1.0 - values) > STAYS, residues, 0.0)
    share = np.abs(right * left.T)
    moving = share[:n] + share[n : 2 * n]
    parts, most = np.abs(row) @ moving, moving.argmax(axis=0)
    found: list[_Term] = []
    for k in np.argsort(-np.abs(residues)):
        new = _Term(complex(rates[k]), complex(residues[k]), float(parts[k]), int(most[k]))
        if not new.is_real and new.rate.imag < 0.0:
            continue
        same = next((i for i, t in enumerate(found) if _are_same(t.rate, new.rate)), None)
        if same is None:
            found.append(new)
        else:
            old = found[same]
            both = old.residue + new.residue
            found[same] = replace(old, residue=both, part=old.part + new.part)
    return found


def _are_same(one: complex, other: complex) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _mode(one: _Term, other: _Term) -> Mode:
    size = math.sqrt(abs(one.rate * other.rate))
    damping = -(one.rate + other.rate).real / (2.0 * size) if size else math.inf
    if not size:
        return Mode(0.0, damping, 0.0, one.dof)
    time = INSTANTS * 2.0 * math.pi / size
    # Of a conjugate pair only one has its residue here; the real parts of both are equal.
    twice = 1.0 if one.is_real else 2.0
    terms: ComplexArray = one.residue * np.exp(one.rate * time)
    if one.is_real:
        terms = terms + other.residue * np.exp(other.rate * time)
    with np.errstate(over="ignore"):
        most = float(np.abs(twice * terms.real).max())
    return Mode(size / (2.0 * math.pi), float(damping), most, one.dof)


# Frequency linear ---------------------------------------------------------------------------------
# The frequency response and the margins of a feedback loop, from the exact linear map of a tick.
#
# One tick takes small motions x = (q, q̇, ∫) and targets r to x⁺ = A x + B r. Targets are put in as
# joints of their own that are far too heavy to move, so that A and B both come from the one map.


#: Inertia of the joints that stand for targets, in units of the robot's largest.
IMMOVABLE = 1e20
#: Number of frequencies for the margins of a loop, before those around its modes are added.
GRID = 1000
#: The lowest of them, as a share of the slowest mode.
LOWEST = 0.01
#: Frequencies added on each side of a mode, in units of its width: a lightly damped one is narrow.
BESIDE_MODES = np.geomspace(0.05, 50.0, 25)
#: Joint displacement for the derivative of gravity [rad or m].
NUDGE = 1e-5
#: Share of its rate up to which a mode has not moved.
UNMOVED = 1e-3
#: Growth up to which a mode creeps, as joints do whose constraints are not in the map [1/s].
CREEPING = 0.1


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop, cut at one actuator with all others closed.

    Attributes:
        phase_margin: [deg], the smallest over all crossovers; None: the loop's gain is never 1.
        crossover: its frequency [Hz].
        delay_margin: the least additional dead time in the feedback that makes it unstable [s],
            over all crossovers, not only the one of the phase margin; None: none does.
        gain_margin: the factor on the loop's gains that makes it unstable; None: none does, as
            where the integrator or the law solves for the end of the step.
        stable: False: the closed loop grows already, and there are no margins. Modes that only
            creep count for the drives that have a part in them.
    """

    phase_margin: float | None = None
    crossover: float | None = None
    delay_margin: float | None = None
    gain_margin: float | None = None
    stable: bool = True


class LinearGroup:
    """Dynamically coupled joints and the feedback on them, as one linear map per tick.

    Args:
        group: all of its loops must have the same tick.
        stiffness: how the effort that holds each joint changes with the pose, (n, n).
        damping: how it changes with the velocities, (n, n).
    """

    def __init__(self, group: Group, stiffness: FloatArray, damping: FloatArray) -> None:
        self.group = group
        self._plant = replace(group.plant, stiffness=stiffness, damping=damping)
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
        z = np.exp(2j * np.pi * frequency * self.tick)[:, None]
        opened = self._modes_without(drive)
        return np.asarray(np.prod((z - self._modes) / (z - opened), axis=1) - 1.0)

    @cached_property
    def _modes(self) -> ComplexArray:
        """Eigenvalues of the closed loop."""
        return np.asarray(np.linalg.eigvals(self._system[0]), complex)

    def _modes_without(self, drive: int) -> ComplexArray:
        """Eigenvalues with one drive cut."""
        gains = np.ones(len(self.group.drives))
        gains[drive] = 0.0
        opened = np.linalg.eigvals(transition(self._plant, self.group.loops(gains, gains, gains)))
        # An integral without input is left out of the map; it stays constant.
        return np.concatenate([opened, np.ones(len(self._modes) - len(opened))]).astype(complex)

    def margins(self, drive: int) -> Margins:
        """The margins of one drive."""
        opened = self._modes_without(drive)
        growing = self._modes[np.abs(self._modes) > 1.0 + ROUNDING]
        fast = np.log(np.abs(growing)) > CREEPING * self.tick
        if fast.any() or any(_moves(mode, opened) for mode in growing):
            return Margins(stable=False)
        modes = np.concatenate([self._modes, opened])
        frequency = _around(modes, self.tick)
        found = margins_of(frequency, self.open_loop(drive, frequency))
        return found if self._is_explicit(drive) else replace(found, gain_margin=None)

    def modes(self, drive: int) -> list[Mode]:
        """The modes in the response of a drive's joint to a step of its target, largest first."""
        a, b = self._system
        row = self.group.drives[drive].row[self.group.dofs]
        found = step_modes(a, b[:, drive], row, self.tick)
        return [replace(mode, dof=int(self.group.dofs[mode.dof])) for mode in found]

    def _is_explicit(self, drive: int) -> bool:
        """Whether L is proportional to the gains."""
        carrier = self.group.drives[drive].carrier
        inside = carrier is Carrier.ENGINE and self._plant.integrator != "Euler"
        return carrier is not Carrier.SOLVED and not inside


def _moves(mode: complex, opened: ComplexArray) -> bool:
    """Whether a mode is another one with a drive cut; else the drive has no part in it."""
    return bool(np.abs(opened - mode).min() > UNMOVED * abs(mode - 1.0))


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


def _around(modes: ComplexArray, tick: float) -> FloatArray:
    """Frequencies up to half the rate [Hz], dense around modes (eigenvalues per tick)."""
    highest = 0.5 / tick
    with np.errstate(divide="ignore"):
        rates = np.log(modes[np.abs(modes - 1.0) > ROUNDING]) / (2.0 * np.pi * tick)
    size = np.abs(rates[np.isfinite(rates)])
    lowest = LOWEST * min(float(size.min(initial=highest)), highest)
    center = np.abs(rates.imag)[:, None]
    width = np.maximum(np.abs(rates.real)[:, None], 1e-9 * highest)
    beside = np.concatenate([center + width * BESIDE_MODES, center - width * BESIDE_MODES])
    every = np.concatenate([np.geomspace(lowest, highest, GRID), beside.ravel(), center.ravel()])
    return np.unique(every[(every >= lowest) & (every <= highest)])


def margins_of(frequency: FloatArray, loop: ComplexArray) -> Margins:
    """The margins of a loop given at frequencies up to half its rate [Hz].

    A loop is stable without additional dead time, and remains so up to the first that turns L
    to −1 at any frequency where |L| is 1: the smallest of all, as a late crossover with a large
    margin can be the first to be used up.
    """
    gain, phase = np.abs(loop), np.unwrap(np.angle(loop))
    found = []
    for k in np.flatnonzero((gain[1:] < 1.0) != (gain[:-1] < 1.0)) + 1:
        at = crossing(frequency, gain, int(k))
        found.append((float(np.degrees(np.interp(at, frequency, phase))) + 180.0, at))
    delays = [(angle % 360.0) / 360.0 / at for angle, at in found]
    if loop[-1].real > 1.0:  # a tick reverses its sign at half the rate
        delays.append(0.5 / float(frequency[-1]))
    late, factor = min(delays, default=None), _gain_margin(loop)
    if not found:
        return Margins(delay_margin=late, gain_margin=factor)
    margin, at = min((((a + 180.0) % 360.0 - 180.0, f) for a, f in found), key=_size)
    return Margins(margin, at, late, factor)


def _size(margin: tuple[float, float]) -> float:
    return abs(margin[0])


def _gain_margin(loop: ComplexArray) -> float | None:
    """The smallest factor above 1 that moves the loop through −1."""
    x, y = loop.real, loop.imag
    k = np.flatnonzero(np.sign(y[1:]) != np.sign(y[:-1]))
    passes = x[k] - y[k] * (x[k + 1] - x[k]) / (y[k + 1] - y[k])
    real = np.append(passes, x[-1])  # at half the rate everything is real
    return min((float(-1.0 / v) for v in real if -1.0 < v < 0.0), default=None)


def holding_gradients(world: World, dofs: Indices) -> tuple[FloatArray, FloatArray]:
    """∂(effort that holds the pose)/∂q and /∂q̇ at rest, over some degrees of freedom.

    Gravity, and springs and dampers of joints, tendons and actuators.
    """
    model = world.model
    scratch = mujoco.MjData(model)
    stiffness, damping = np.zeros((len(dofs), len(dofs))), np.zeros((len(dofs), len(dofs)))
    for column, dof in enumerate(dofs):
        direction = np.zeros(model.nv)
        for side in (1.0, -1.0):
            direction[dof] = side
            scratch.qpos[:], scratch.qvel[:] = world.data.qpos, 0.0
            mujoco.mj_integratePos(model, scratch.qpos, direction, NUDGE)
            mujoco.mj_fwdPosition(model, scratch)
            mujoco.mj_fwdVelocity(model, scratch)
            held = scratch.qfrc_bias - scratch.qfrc_gravcomp - scratch.qfrc_spring
            stiffness[:, column] += side * held[dofs] / (2.0 * NUDGE)
        scratch.qpos[:], scratch.qvel[dof] = world.data.qpos, NUDGE
        mujoco.mj_fwdPosition(model, scratch)
        mujoco.mj_fwdVelocity(model, scratch)
        damping[:, column] = -scratch.qfrc_damper[dofs] / NUDGE
    return stiffness, damping


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
            linear = LinearGroup(group, *holding_gradients(world, group.dofs))
            for i, drive in enumerate(group.drives):
                places[drive.actor, drive.actuator] = linear, i
        return cls(places)

    def margins(self, actor: str, actuator: str) -> Margins | None:
        """The margins of one actuator's loop; None: not covered."""
        if (actor, actuator) not in self.places:
            return None
        group, drive = self.places[actor, actuator]
        return group.margins(drive)

    def modes(self, actor: str, actuator: str) -> list[Mode]:
        """The modes in the step response of an actuator's joint, largest first; [] not covered."""
        if (actor, actuator) not in self.places:
            return []
        group, drive = self.places[actor, actuator]
        return group.modes(drive)

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
