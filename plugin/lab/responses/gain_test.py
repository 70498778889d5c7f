"""Gain tests: what each measures, and its verdict against the thresholds of a scene."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding, Level, error, note
from mjrig.core.scene.scene_sections import GainTests
from mjrig.lab.responses.frequency_response import measured, unsettled
from mjrig.lab.rollouts.actuator_selection import Tested
from mjrig.lab.rollouts.joint_bench import Response
from mjrig.lab.rollouts.signals import Signal, Trace

#: Shares are shown as percentages.
PERCENT = 100.0
#: Name of the steady-state error, which has causes.
ERROR = "error"
#: Numbers below this are rounding errors.
NOTHING = 1e-9


class GainTest(StrEnum):
    """The tests of the suite, in the order they are shown."""

    LIMITS = "limits"
    STEP = "step"
    SINE = "sine"
    LOAD = "load"
    TIMESTEP = "timestep"


ABOUT = {
    GainTest.LIMITS: "to both ends of the range",
    GainTest.STEP: "a step",
    GainTest.SINE: "a sine",
    GainTest.LOAD: "holding the start pose under gravity and payload",
    GainTest.TIMESTEP: "the same step with half and twice the timestep",
}


class GainVerdict(StrEnum):
    """Result of a test."""

    PASS = "pass"
    FAIL = "FAIL"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Measure:
    """One number of a test and what it may be at least and at most; without both it is not judged.

    `value` None: there is none, which fails where one is demanded. Shown in `unit`, times `scale`.
    """

    name: str
    value: float | None
    unit: str = ""
    scale: float = 1.0
    low: float | None = None
    high: float | None = None

    @property
    def is_judged(self) -> bool:
        """Whether there is a threshold."""
        return self.low is not None or self.high is not None

    @property
    def is_passed(self) -> bool:
        """Whether the number is within its thresholds."""
        if not self.is_judged:
            return True
        if self.value is None or not math.isfinite(self.value):
            return False
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return low <= self.value <= high

    @property
    def text(self) -> str:
        """The number alone."""
        return _shown(self.value, self.scale)

    @property
    def bounds(self) -> str:
        """`at most 20`; empty: it is not judged."""
        low, high = (_shown(bound, self.scale) for bound in (self.low, self.high))
        if self.low is not None and self.high is not None:
            return f"{low} to {high}"
        return f"at least {low}" if self.low is not None else f"at most {high}" * self.is_judged

    def finding(self, actor: str, actuator: str) -> Finding:
        """The finding that the number is out of its thresholds."""
        bounds = [self.scale * b for b in (self.low, self.high) if b is not None]
        forms = "measure", "measure missing"
        if len(bounds) > 1:
            forms = "measure in range", "measure in range missing"
        return error(
            self.name,
            actor,
            (actuator,),
            form=forms[self.value is None],
            here=None if self.value is None else self.scale * self.value,
            expected=bounds if len(bounds) > 1 else bounds[0],
            unit=self.unit,
        )


def _shown(value: float | None, scale: float) -> str:
    if value is None:
        return "-"
    return f"{scale * value:.3g}" if abs(value) > NOTHING else "0"


@dataclass(frozen=True)
class GainResult:
    """One test of one joint.

    Attributes:
        actor: name of the robot.
        actuator: name of the actuator.
        test: which test.
        case: which part of it: an end of the range, a timestep; may be empty.
        measures: the numbers.
        trace: what was recorded.
        problem: why there are no numbers; a note: the test does not apply.
        causes: what keeps the joint from its target.
    """

    actor: str
    actuator: str
    test: GainTest
    case: str = ""
    measures: tuple[Measure, ...] = ()
    trace: Trace | None = None
    problem: Finding | None = None
    causes: tuple[Finding, ...] = ()

    @property
    def label(self) -> str:
        """`dog.FL_hip`."""
        return f"{self.actor}.{self.actuator}"

    @property
    def verdict(self) -> GainVerdict:
        """Whether it passed."""
        if self.problem is not None:
            is_failure = self.problem.severity is Level.ERROR
            return GainVerdict.FAIL if is_failure else GainVerdict.SKIPPED
        fine = all(m.is_passed for m in self.measures)
        return GainVerdict.PASS if fine else GainVerdict.FAIL

    @property
    def findings(self) -> list[Finding]:
        """Why it failed or was skipped, with the causes of errors and missing numbers."""
        if self.problem is not None:
            return [self.problem]
        bad = [m for m in self.measures if not m.is_passed]
        explained = any(m.name == ERROR or m.value is None for m in bad)
        failures = [m.finding(self.actor, self.actuator) for m in bad]
        return [*failures, *(self.causes if explained else ())]


# The tests --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """Turns recorded responses of one joint into results."""

    chosen: Tested
    limits: GainTests

    def skipped(self, test: GainTest, kind: str, case: str = "") -> GainResult:
        """A test that does not apply to the joint; the kind of finding is the reason."""
        return self._result(test, case, problem=note(kind, *self._where))

    def _failed(self, test: GainTest, event: str, case: str = "", stage: str = "") -> GainResult:
        """A test whose simulation failed: the event, and at which stage."""
        problem = error("not simulated", *self._where, event=event, stage=stage)
        return self._result(test, case, problem=problem)

    @property
    def _where(self) -> tuple[str, tuple[str]]:
        return self.chosen.robot.name, (self.chosen.binding.actuator,)

    def step(self, response: Response) -> GainResult:
        """A step."""
        limits, m = self.limits, response.metrics
        if m is None:
            return self._failed(GainTest.STEP, response.problem)
        measures = (
            Measure("rise", m.rise_time, "s", high=limits.rise_time),
            Measure("overshoot", m.overshoot, "%", PERCENT, high=limits.overshoot),
            Measure("settling", m.settling_time, "s", high=limits.settling_time),
            self._error(m.steady_state_error),
            Measure("saturated", m.saturation, "%", PERCENT, high=limits.saturation),
        )
        return self._result(GainTest.STEP, "", measures, response.trace, causes=response.causes)

    def at_limit(self, response: Response, case: str) -> GainResult:
        """A step to an end of the range."""
        limits, m, trace = self.limits, response.metrics, response.trace
        if m is None or trace is None:
            return self._failed(GainTest.LIMITS, response.problem, case)
        low, high = self.chosen.binding.joint_range or (-math.inf, math.inf)
        ends = float(low - trace.position.min()), float(trace.position.max() - high)
        beyond = max(0.0, ends[case == "high"]) / (high - low)
        measures = (
            Measure("settling", m.settling_time, "s", high=limits.limit_time),
            self._error(m.steady_state_error),
            Measure("beyond", beyond, "%", PERCENT, high=limits.limit_overshoot),
            Measure("saturated", m.saturation, "%", PERCENT, high=limits.limit_saturation),
        )
        return self._result(GainTest.LIMITS, case, measures, trace, causes=response.causes)

    def sine(self, response: Response, signal: Signal, timestep: float) -> GainResult:
        """A sine: amplitude ratio and phase once it has swung in, and the RMS error."""
        limits, m, trace = self.limits, response.metrics, response.trace
        if m is None or trace is None:
            return self._failed(GainTest.SINE, response.problem)
        if cause := unsettled(trace, signal, timestep):
            actor, names = self._where
            problem = replace(cause, severity=Level.ERROR, actor=actor, names=names)
            return self._result(GainTest.SINE, trace=trace, problem=problem)
        found = measured(trace, signal, timestep)
        gain = None if found is None else float(found.gain[0])
        lag = None if found is None else -float(found.phase[0])
        error = limits.gain_error
        measures = (
            Measure("Hz", signal.frequency),
            Measure(
                "gain",
                gain,
                low=None if error is None else 1.0 - error,
                high=None if error is None else 1.0 + error,
            ),
            Measure("lag", lag, "°", high=limits.phase_lag),
            Measure(
                "rms", m.rmse / abs(signal.amplitude), "%", PERCENT, high=limits.tracking_error
            ),
            Measure("saturated", m.saturation, "%", PERCENT),
        )
        return self._result(GainTest.SINE, "", measures, trace)

    def load(self, trace: Trace | None, why: str) -> GainResult:
        """Holding the start pose; `why` it cannot be told."""
        if trace is None or why:
            return replace(self._failed(GainTest.LOAD, why), trace=trace)
        one = self.chosen
        effort = abs(float(trace.applied_effort[-1]))
        limit = one.effort_limit
        share = effort / limit if 0.0 < limit < math.inf else None
        most = None if math.isinf(limit) else self.limits.static_effort
        measures = (
            self._error(float(trace.target[-1] - trace.position[-1])),
            Measure("effort", effort, one.binding.effort_unit),
            Measure("of limit", share, "%", PERCENT, high=most),
        )
        return self._result(GainTest.LOAD, "", measures, trace)

    def other_timestep(
        self, response: Response, usual: Response, signal: Signal, case: str
    ) -> GainResult:
        """A step with another timestep, compared with the one of the scene."""
        if usual.trace is None:
            stage = "at the scene's own timestep"
            return self._failed(GainTest.TIMESTEP, usual.problem, case, stage=stage)
        if response.trace is None or response.metrics is None:
            return self._failed(GainTest.TIMESTEP, response.problem, case)
        change = difference(response.trace, usual.trace, signal)
        m = response.metrics
        measures = (
            Measure("change", change, "%", PERCENT, high=self.limits.timestep_change),
            Measure("overshoot", m.overshoot, "%", PERCENT),
            Measure("settling", m.settling_time, "s"),
        )
        return self._result(GainTest.TIMESTEP, case, measures, response.trace)

    def _error(self, value: float | None) -> Measure:
        is_slide = self.chosen.binding.effort_unit == "N"
        most = self.limits.distance_error if is_slide else self.limits.angle_error
        size = None if value is None else abs(value)
        return Measure(ERROR, size, "m" if is_slide else "rad", high=most)

    def _result(
        self,
        test: GainTest,
        case: str = "",
        measures: tuple[Measure, ...] = (),
        trace: Trace | None = None,
        *,
        problem: Finding | None = None,
        causes: Sequence[Finding] = (),
    ) -> GainResult:
        actor, (actuator,) = self._where
        return GainResult(actor, actuator, test, case, measures, trace, problem, tuple(causes))


def difference(one: Trace, other: Trace, signal: Signal) -> float:
    """The largest distance between two step responses, as a share of the step.

    A response that ended earlier is at rest from then on.
    """
    time = np.union1d(one.time, other.time)
    curves = [_moved(trace, time) for trace in (one, other)]
    return float(np.abs(curves[0] - curves[1]).max()) / abs(signal.amplitude)


def _moved(trace: Trace, time: FloatArray) -> FloatArray:
    moved = np.concatenate([[0.0], trace.position - trace.start])
    found: FloatArray = np.interp(time, np.concatenate([[0.0], trace.time]), moved)
    return found
