"""Events of a run, and the guard that reports values that are not finite."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.setpoints import Setpoints
from mjrig.core.model.binding import ActuatorBinding

# Events ------------------------------------------------------------------------------------------
# Events in a world that a user should notice, such as non-finite setpoints.


KEPT = 1000


@dataclass(frozen=True)
class Event:
    """One event; `actuator` and `joint` may be empty."""

    time: float
    actor: str
    kind: str
    actuator: str
    joint: str
    message: str

    def __str__(self) -> str:
        return f"t={self.time:.4f} s: {self.message}"


def folded(events: Iterable[Event]) -> list[str]:
    """One line for each kind of event of each actuator, with the number of its repetitions."""
    groups: dict[tuple[str, str, str, str], list[Event]] = {}
    for event in events:
        key = (event.actor, event.kind, event.actuator, event.joint)
        groups.setdefault(key, []).append(event)
    return [_line(same) for same in groups.values()]


def _line(same: list[Event]) -> str:
    more = f" (… {len(same) - 1} more until t={same[-1].time:.4f} s)" if len(same) > 1 else ""
    return f"{same[0]}{more}"


class EventLog:
    """The latest events, oldest first, and the total count."""

    def __init__(self) -> None:
        self.latest: deque[Event] = deque(maxlen=KEPT)
        self.count = 0

    def add(self, event: Event) -> None:
        """Add an event."""
        self.latest.append(event)
        self.count += 1

    def clear(self) -> None:
        """Forget everything, as if nothing had happened."""
        self.latest.clear()
        self.count = 0


# Finite guard ------------------------------------------------------------------------------------


#: MuJoCo treats larger numbers as invalid: one of them in ctrl zeroes every ctrl.
LARGEST = 1e10
_ROWS = ("position", "velocity", "feedforward")


def is_bad(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Which values MuJoCo would reject."""
    return ~(np.abs(values) <= LARGEST)


class Guard:
    """Remembers the last valid setpoints and ctrl of an articulation, and restores them.

    Args:
        name: the articulation's, for events.
        actuators: all of its actuators.
        setpoints: its store.
        ctrl: its share of `data.ctrl`, a view; `first` is where that begins.
    """

    def __init__(
        self,
        name: str,
        actuators: Sequence[ActuatorBinding],
        setpoints: Setpoints,
        data: Any,
        where: slice,
        events: EventLog,
    ) -> None:
        self._name, self._actuators, self._setpoints = name, actuators, setpoints
        self._data, self._events = data, events
        self._ctrl, self._first = data.ctrl[where], where.start
        self.setpoints = setpoints.flat.copy()
        self.inputs = {n: a.copy() for n, a in setpoints.input_values.items()}
        self.ctrl: bytes = self._ctrl.tobytes()
        #: Factors of the setpoints in ctrl, where they are above one; None: nowhere.
        self._scale: FloatArray | None = None

    def owned(self, ids: Collection[int]) -> None:
        """Laws own these actuators: their setpoints are multiplied by gear·gain, or divided."""
        single = [b for b in self._actuators if b.output_count == 1]
        factors = np.array([abs(b.factor) if b.actuator_id in ids else 1.0 for b in single])
        scale = np.maximum([factors, factors, 1.0 / factors], 1.0)
        self._scale = scale.reshape(-1) if (scale > 1.0).any() else None

    def check_setpoints(self) -> None:
        """Remember valid setpoints; replace an invalid one by the last valid one."""
        flat, good = self._setpoints.flat, self.setpoints
        scaled = flat if self._scale is None else flat * self._scale
        if np.vdot(scaled, scaled) < LARGEST**2:
            good[:] = flat
            return
        for i in np.flatnonzero(is_bad(scaled)):
            row, column = divmod(int(i), len(self._setpoints.names))
            self._report(
                "non-finite setpoint",
                self._setpoints.names[column],
                f"{_ROWS[row]} setpoint is {flat[i]}; the last finite one, {good[i]:g}, is used",
            )
            flat[i] = good[i]
        good[:] = flat

    def check_inputs(self) -> None:
        """The same for input vectors."""
        for name, values in self._setpoints.input_values.items():
            if np.vdot(values, values) < LARGEST**2:
                self.inputs[name][:] = values
                continue
            bad = is_bad(values)
            if bad.any():
                problem = "input is not finite; the last finite one is used"
                self._report("non-finite setpoint", name, problem)
                values[bad] = self.inputs[name][bad]

    def check_ctrl(self, now: bytes) -> None:
        """Remember a valid ctrl (`now` is its bytes); replace an invalid one by the last valid."""
        ctrl = self._ctrl
        if np.vdot(ctrl, ctrl) < LARGEST**2:
            self.ctrl = now
            return
        bad = is_bad(ctrl)
        for binding in self._actuators:
            own = slice(
                binding.ctrl_address - self._first,
                binding.ctrl_address - self._first + binding.ctrl_count,
            )
            if bad[own].any():
                self.report_non_finite(binding)
        ctrl[bad] = np.frombuffer(self.ctrl)[bad]
        self.keep_ctrl()

    def keep_good_ctrl(self) -> None:
        """Start watching: the present ctrl is valid as far as it is finite."""
        if np.vdot(self._ctrl, self._ctrl) < LARGEST**2:
            self.keep_ctrl()

    def keep_ctrl(self) -> None:
        """Take the present ctrl as valid."""
        self.ctrl = self._ctrl.tobytes()

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Note that an effort was not finite, and that the last finite ctrl is held.

        Not where the state itself is not: MuJoCo resets it, which is reported as a divergence.
        """
        if self._is_reset_next():
            return
        problem = "effort is not finite; the last finite ctrl is held"
        self._report("non-finite effort", binding.actuator, problem)

    def _is_reset_next(self) -> bool:
        """Whether MuJoCo will reset the state at the beginning of the next step."""
        data = self._data
        if int(data.model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_AUTORESET):
            return False
        return bool(is_bad(data.qpos).any() or is_bad(data.qvel).any())

    def _report(self, kind: str, actuator: str, problem: str) -> None:
        binding = next(b for b in self._actuators if b.actuator == actuator)
        message = f"{self._name}.{binding.joint or actuator}: {problem}"
        time = float(self._data.time)
        self._events.add(Event(time, self._name, kind, actuator, binding.joint, message))

    def memory(self) -> tuple[FloatArray, dict[str, FloatArray], bytes]:
        """A copy of what is remembered."""
        return self.setpoints.copy(), {n: a.copy() for n, a in self.inputs.items()}, self.ctrl

    def restore(self, memory: tuple[FloatArray, dict[str, FloatArray], bytes]) -> None:
        """Restore what `memory` returned."""
        self.setpoints[:] = memory[0]
        for name, values in memory[1].items():
            self.inputs[name][:] = values
        self.ctrl = memory[2]
