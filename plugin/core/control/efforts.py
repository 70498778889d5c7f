"""Efforts at the joints: those that MuJoCo applied, and those of controllers for a recording.

A law that runs in Python leaves its raw effort in a buffer, which is copied before every
step. A law that MuJoCo runs leaves no effort: it is computed later, many rows at once, from
the recorded state and commands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray

if TYPE_CHECKING:
    from mjrig.core.model.binding import ActuatorBinding


# Applied effort -----------------------------------------------------------------------------------


BoolArray = npt.NDArray[np.bool_]


class AppliedEffort:
    """gear · actuator_force per binding, after the `actuatorfrcrange` of the joints.

    That range limits the sum of a joint's actuators; each takes its share of the cut. Force arrays
    may have any leading axes, steps or worlds: (…, outputs) becomes (…, bindings).

    Args:
        bindings: the actuators to read, in this order.
        among: all actuators of the robot; those that act on the same joints count in their sums.
    """

    def __init__(
        self, bindings: "Sequence[ActuatorBinding]", among: "Sequence[ActuatorBinding]" = ()
    ) -> None:
        self._count = len(bindings)
        limited = {b.joint_id: b.joint_force_range for b in bindings if _is_limited(b)}
        own = {b.actuator_id for b in bindings}
        mates = [b for b in among if b.joint_id in limited and b.actuator_id not in own]
        table = [*bindings, *mates]
        #: Indices of the forces needed: of the bindings, then of other actuators of their joints.
        self.outputs = np.array([b.output_address for b in table], dtype=np.intp)
        self._gear = np.array([b.gear for b in table])
        members = {j: [i for i, b in enumerate(table) if b.joint_id == j] for j in limited}
        alone = [j for j, columns in members.items() if len(columns) == 1]
        self._alone = np.array([members[j][0] for j in alone], dtype=np.intp)
        edges = np.array([limited[j] for j in alone], dtype=np.float64).reshape(-1, 2)
        self._low, self._high = edges[:, 0], edges[:, 1]
        self._shared = [
            (np.array(members[j], dtype=np.intp), edges)
            for j, edges in limited.items()
            if len(members[j]) > 1 and edges is not None
        ]

    def __call__(self, force: FloatArray) -> FloatArray:
        """Efforts per binding from `actuator_force`, a new array."""
        return self.of(force[..., self.outputs])

    def of(self, forces: FloatArray) -> FloatArray:
        """The same from forces that were gathered at `outputs`, (…, outputs)."""
        found: FloatArray = self._gear * forces
        if len(self._alone):
            found[..., self._alone] = np.clip(found[..., self._alone], self._low, self._high)
        for columns, (low, high) in self._shared:
            found[..., columns] = _shared_cut(found[..., columns], low, high)
        return found[..., : self._count]

    def is_cut(self, force: FloatArray) -> BoolArray:
        """Which bindings act on a joint whose sum is beyond its range, (…, bindings)."""
        found: FloatArray = self._gear * force[..., self.outputs]
        cut: BoolArray = np.zeros(found.shape, np.bool_)
        alone = found[..., self._alone]
        cut[..., self._alone] = (alone < self._low) | (alone > self._high)
        for columns, (low, high) in self._shared:
            total = found[..., columns].sum(axis=-1)
            cut[..., columns] = ((total < low) | (total > high))[..., None]
        return cut[..., : self._count]


def _is_limited(binding: "ActuatorBinding") -> bool:
    """MuJoCo limits the actuators of hinges and slides only."""
    return binding.on_joint and binding.joint_force_range is not None


def _shared_cut(efforts: FloatArray, low: float, high: float) -> FloatArray:
    """Efforts (…, actuators of one joint) scaled so that their sum is within a range.

    A sum of zero outside the range has no shares: every actuator takes the same part.
    """
    total = efforts.sum(axis=-1, keepdims=True)
    wanted = np.clip(total, low, high)
    scale = np.where(wanted == total, 1.0, wanted / np.where(total == 0.0, 1.0, total))
    even = (wanted - total) / efforts.shape[-1]
    found: FloatArray = np.where(total == 0.0, efforts + even, efforts * scale)
    return found


# Effort log ---------------------------------------------------------------------------------------
# Effort logs: how the efforts of a controller get into a recording.
#
# A law that runs here leaves its raw effort in a buffer, which is copied before every step. A law
# that MuJoCo runs leaves nothing behind: its efforts are computed later, many rows at once, from
# the state and the commands that were recorded anyway.


Columns = npt.NDArray[np.intp]


@dataclass(frozen=True)
class StepRows:
    """Consecutive steps with unchanged gains, one row each.

    `qpos`, `qvel` before the step, `ctrl` in it, `act` after it. Only the rows from `first` on are
    wanted; the others are its history.
    """

    qpos: FloatArray
    qvel: FloatArray
    ctrl: FloatArray
    act: FloatArray
    first: int


class EffortLog:
    """The efforts of one controller over a stretch with unchanged gains, joint units.

    `columns` are its actuators among the robot's.
    """

    #: Copied before every step; None: nothing is.
    live: npt.NDArray[Any] | None = None
    #: Whether `look` is to be called after every step.
    looks: bool = False

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def look(self, noted: FloatArray) -> None:
        """After a step: note raw effort and effort, (2, n)."""

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Raw effort and effort, (rows, n) each, from what was noted, (rows, 2, n), or recorded.

        `by_ctrl` is the effort from ctrl. Runs in another thread: it uses nothing that may
        change while a simulation runs.
        """
        raise NotImplementedError


class LiveEfforts(EffortLog):
    """A law that runs here: `scale` times its buffer is the raw effort."""

    def __init__(self, columns: Columns, live: npt.NDArray[Any], scale: FloatArray) -> None:
        super().__init__(columns)
        self.live, self._scale = live, scale

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._scale * noted[:, 0], by_ctrl


class Telling(Protocol):
    """A controller that reports the efforts of the last step."""

    @property
    def raw_effort(self) -> FloatArray | None: ...
    @property
    def native_effort(self) -> FloatArray | None: ...


class SeenEfforts(EffortLog):
    """Efforts read from the controller after every step: slow, but works for any."""

    looks = True

    def __init__(self, controller: Telling, columns: Columns) -> None:
        super().__init__(columns)
        self._controller = controller
        self._tells_raw = self._tells_effort = False

    def look(self, noted: FloatArray) -> None:
        raw, effort = self._controller.raw_effort, self._controller.native_effort
        if raw is not None:
            self._tells_raw = True
            noted[0] = raw
        if effort is not None:
            self._tells_effort = True
            noted[1] = effort

    def efforts(
        self, rows: StepRows, noted: FloatArray, by_ctrl: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        effort = noted[:, 1] if self._tells_effort else by_ctrl
        return (noted[:, 0] if self._tells_raw else effort), effort
