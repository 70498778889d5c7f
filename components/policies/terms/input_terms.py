"""Input terms: commands, gait phase, constants, and gaps still to be filled."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import how_many
from mjrig.core.properties.collection_kinds import Numbers, Samples
from mjrig.core.properties.memory import DeclaredMemory
from mjrig.core.properties.scalar_kinds import Choice, Float, Int, OptionalFloat, Text

# Input terms --------------------------------------------------------------------------------------

#: One turn, and its angle, as arrays: a number would have to become one in every tick.
_TURN, _ANGLE = np.array(1.0), np.array(2.0 * math.pi)


class CommandTerm(ObservationTerm):
    """The command in force: vx, vy [m/s], yaw rate [rad/s], or what the policy takes."""

    over_worlds: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        self._view = view
        return view.command.shape[-1]

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.command


class Constant(ObservationTerm):
    """Constant values."""

    over_worlds: ClassVar[bool] = True

    values = Numbers(0.0, doc="One number or a list.")

    def connect(self, view: View) -> int:
        return int(self.values.size)

    def measure(self, out: FloatArray) -> None:
        out[...] = self.values


class GaitForm(StrEnum):
    """Representation of a phase."""

    SIN_COS = "sin_cos"
    COS_SIN = "cos_sin"
    PHASE = "phase"


class GaitClock(StrEnum):
    """Zero of a phase."""

    START = "start"
    FIRST_TICK = "first_tick"


class Standing(StrEnum):
    """Behaviour of a gait while the command is zero."""

    RUN = "run"
    STOP = "stop"
    HOLD = "hold"


class GaitPhase(ObservationTerm):
    """Sine and cosine of one or more gait phases: all sines, then all cosines, or the reverse.

    While the command is zero, with `standing: stop` the phase stops and the values are zero; with
    `hold` the phase runs on, but the values are those of the phases `held`.
    """

    over_worlds: ClassVar[bool] = True

    period = OptionalFloat(None, min=0.0, above=True, unit="s", doc="Period of one stride.")
    frequency = OptionalFloat(
        None, min=0.0, unit="Hz", doc="Stride frequency, instead of the period."
    )
    speedup = Float(
        0.0, unit="Hz", doc="Added to the frequency per unit of the command's magnitude."
    )
    speedup_up_to = OptionalFloat(
        None, min=0.0, doc="Magnitude of the command above which it adds no more; none: any."
    )
    form = Choice(GaitForm.SIN_COS, doc="Representation; phase: in turns, 0 to 1.")
    offsets = Samples([0.0], doc="Offset of each phase [turns]; [0, 0.5] for two legs.")
    clock = Choice(GaitClock.START, doc="Zero at the start of the policy, or at its first tick.")
    _remembered: ClassVar[tuple[str, ...]] = ("_states",)

    standing = Choice(Standing.RUN, doc="Behaviour while the command is zero.")
    held = Samples([0.5], doc="With `hold`, the phases seen meanwhile [turns]; one stands for all.")
    threshold = Float(0.0, min=0.0, doc="Magnitude up to which a command counts as zero.")

    def validate(self) -> None:
        super().validate()
        if self.period is not None and self.frequency is not None:
            raise PropertyError(f"{self.label}: give a period or a frequency, not both")
        if self.held.size not in (1, self.offsets.size):
            raise PropertyError(
                f"{self.label}.held: must have 1 or {self.offsets.size} values, one per offset, "
                f"got {self.held.size}"
            )

    def connect(self, view: View) -> int:
        self._view = view
        if self.period is None and self.frequency is None:
            raise PropertyError(f"{self.label}: needs a period or a frequency")
        self._by_steps = self.standing is Standing.STOP or bool(self.speedup)
        self._by_clock = self.standing is Standing.RUN and not self.speedup
        #: Turns, their rate, step of the first tick, and of the last one, of every world.
        self._states = [_Gait() for _ in range(view.count)]
        self._turns = np.zeros(view.count)
        self._column = view.column(self._turns)
        return self.offsets.size * (1 if self.form is GaitForm.PHASE else 2)

    def restart(self) -> None:
        for world in self._view.ticking:
            self._states[world] = _Gait()

    def measure(self, out: FloatArray) -> None:
        view, many = self._view, bool(self._view.worlds)
        if self._by_clock:
            for world in view.ticking:
                steps = int(view.steps[world]) if many else view.steps
                self._turns[world] = self._clocked(self._states[world], steps)
            self._write(out, None)
            return
        strength = self._magnitude()
        walks = strength > (-1.0 if self.standing is Standing.RUN else self.threshold)
        for world in view.ticking:
            steps, state = int(view.steps[world]) if many else view.steps, self._states[world]
            if self._by_steps:
                on = bool(walks[world]) or self.standing is not Standing.STOP
                self._turns[world] = self._stepped(state, steps, on, float(strength[world]))
            else:
                self._turns[world] = self._clocked(state, steps)
        self._write(out, None if walks.all() else walks)

    def _write(self, out: FloatArray, walks: npt.NDArray[np.bool_] | None) -> None:
        """The values of every world; None: none of them stands."""
        one = not self._view.worlds
        phases = self._column + self.offsets
        np.remainder(phases, _TURN, out=phases)
        if walks is not None and self.standing is Standing.HOLD:
            phases[... if one else ~walks] = np.resize(self.held, self.offsets.size)
        if self.form is GaitForm.PHASE:
            out[...] = phases
        else:
            np.multiply(phases, _ANGLE, out=phases)
            half, first = self.offsets.size, self.form is GaitForm.SIN_COS
            out[..., :half] = np.sin(phases) if first else np.cos(phases)
            out[..., half:] = np.cos(phases) if first else np.sin(phases)
        if walks is not None and self.standing is Standing.STOP:
            out[... if one else ~walks] = 0.0

    def _magnitude(self) -> FloatArray:
        """Magnitude of the command of every world."""
        command = np.atleast_2d(self._view.command)
        found: FloatArray = np.sqrt(np.add.reduce(command * command, axis=1))
        return found

    def _clocked(self, state: "_Gait", steps: int) -> float:
        """Turns by the time since the start."""
        if state.first < 0:
            state.first = steps
        if self.clock is GaitClock.FIRST_TICK:
            steps -= state.first
        time = steps * self._view.timestep
        if self.period is not None:
            return (time % self.period) / self.period
        return (time * float(self.frequency or 0.0)) % 1.0

    def _stepped(self, state: "_Gait", steps: int, walks: bool, strength: float) -> float:
        """Turns accumulated step by step, at the rate of the previous tick."""
        for _ in range(steps - state.counted if state.counted >= 0 else 0):
            state.phase = math.fmod(state.phase + self._view.timestep * state.rate, 1.0)
        state.counted = steps
        rate = self.frequency if self.frequency is not None else 1.0 / float(self.period or 1.0)
        if self.speedup:
            most = math.inf if self.speedup_up_to is None else self.speedup_up_to
            rate += self.speedup * min(strength, most)
        state.rate = rate if walks else 0.0
        return state.phase


@dataclass
class _Gait(DeclaredMemory):
    """The clock of one world."""

    _remembered: ClassVar[tuple[str, ...]] = ("phase", "rate", "first", "counted")
    phase: float = 0.0
    rate: float = 0.0
    first: int = -1
    counted: int = -1


# Gap ----------------------------------------------------------------------------------------------


class Gap(ObservationTerm):
    """A part of the observation that no file describes: the policy does not run until it is filled.

    An import writes it where the observation is in the code of the training.
    """

    size = Int(0, min=0, unit="values", doc="Values that are missing; 0: unknown.")
    about = Text("", doc="What is known of it.")

    def connect(self, view: View) -> int:
        size = how_many(self.size, "value") if self.size else "an unknown number of values"
        raise BindingError(
            f"{self.label}: the policy file has a gap of {size} ({self.about}); replace it by the "
            "terms the network was trained with (docs/policies.md)"
        )

    def measure(self, out: FloatArray) -> None:
        raise NotImplementedError
