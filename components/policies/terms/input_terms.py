"""Input terms: commands, gait phase, constants."""

import math
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import PropertyError
from mjrig.properties.array_kinds import Samples
from mjrig.properties.mapping_kinds import Numbers
from mjrig.properties.scalar_kinds import Choice, Float, OptionalFloat


class CommandTerm(ObservationTerm):
    """The command in force: vx, vy [m/s], yaw rate [rad/s], or what the policy takes."""

    def connect(self, view: View) -> int:
        self._view = view
        return view.command.size

    def measure(self, out: FloatArray) -> None:
        out[:] = self._view.command


class Constant(ObservationTerm):
    """Constant values."""

    values = Numbers(0.0, doc="One number or a list.")

    def connect(self, view: View) -> int:
        return int(self.values.size)

    def measure(self, out: FloatArray) -> None:
        out[:] = self.values


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
    standing = Choice(Standing.RUN, doc="Behaviour while the command is zero.")
    held = Samples([0.5], doc="With `hold`, the phases seen meanwhile [turns]; one stands for all.")
    threshold = Float(0.0, min=0.0, doc="Magnitude up to which a command counts as zero.")

    def _own_validate(self) -> None:
        super()._own_validate()
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
        self.restart()
        return self.offsets.size * (1 if self.form is GaitForm.PHASE else 2)

    def restart(self) -> None:
        self._phase, self._rate = 0.0, 0.0
        self._first = self._counted = -1

    def measure(self, out: FloatArray) -> None:
        walks = self._walks()
        stops = self.standing is Standing.STOP
        turns = self._stepped(walks or not stops) if stops or self.speedup else self._clocked()
        if not walks and stops:
            out[:] = 0.0
            return
        phases = (turns + self.offsets) % 1.0 if walks else np.resize(self.held, self.offsets.size)
        if self.form is GaitForm.PHASE:
            out[:] = phases
            return
        sines, cosines = np.sin(2.0 * math.pi * phases), np.cos(2.0 * math.pi * phases)
        half = phases.size
        first, second = (sines, cosines) if self.form is GaitForm.SIN_COS else (cosines, sines)
        out[:half], out[half:] = first, second

    def _walks(self) -> bool:
        if self.standing is Standing.RUN:
            return True
        return self._magnitude() > self.threshold

    def _magnitude(self) -> float:
        return float(np.linalg.norm(self._view.command))

    def _clocked(self) -> float:
        """Turns by the time since the start."""
        steps = self._view.steps
        if self._first < 0:
            self._first = steps
        if self.clock is GaitClock.FIRST_TICK:
            steps -= self._first
        time = steps * self._view.timestep
        if self.period is not None:
            return (time % self.period) / self.period
        return (time * float(self.frequency or 0.0)) % 1.0

    def _stepped(self, walks: bool) -> float:
        """Turns accumulated step by step, at the rate of the previous tick."""
        steps = self._view.steps
        for _ in range(steps - self._counted if self._counted >= 0 else 0):
            self._phase = math.fmod(self._phase + self._view.timestep * self._rate, 1.0)
        self._counted = steps
        rate = self.frequency if self.frequency is not None else 1.0 / float(self.period or 1.0)
        if self.speedup:
            most = math.inf if self.speedup_up_to is None else self.speedup_up_to
            rate += self.speedup * min(self._magnitude(), most)
        self._rate = rate if walks else 0.0
        return self._phase

    def memory(self) -> Any:
        return self._phase, self._rate, self._first, self._counted

    def restore(self, memory: Any) -> None:
        self._phase, self._rate, self._first, self._counted = memory
