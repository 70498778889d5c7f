"""Efforts at the joints: those that MuJoCo applied, and those of controllers for a recording.

A law that runs in Python leaves its raw effort in a buffer, which is copied before every
step. A law that MuJoCo runs leaves no effort: it is computed later, many rows at once, from
the recorded state and commands.
"""

import math
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


#: What of MjData efforts are computed from; all but the first only for joints with other forces.
EFFORT_FIELDS = (
    "actuator_force", "actuator_moment", "moment_rownnz", "moment_rowadr", "moment_colind",
    "qfrc_gravcomp",
)  # fmt: skip


class AppliedEffort:
    """gear · actuator_force per binding, after the `actuatorfrcrange` of the joints.

    That range limits the sum of all that MuJoCo counts as actuator force at a joint: its actuators,
    those of tendons, sites and bodies, and with `actuatorgravcomp` its gravity compensation. Each
    of them has its share of the cut: all are scaled by one factor. Within the range an effort is
    gear · actuator_force, whatever else acts; `qfrc_actuator` is the sum of all.

    It reads MjData, or an object with `EFFORT_FIELDS` of many worlds, as terms (…, terms): forces
    at `outputs`, then sums at `dofs`, which only joints with other forces than those of their own
    actuators need. Histories of terms become efforts later: `of` takes any leading axes.

    Args:
        bindings: the actuators to read, in this order.
        among: all actuators of the robot; those that act on the same joints count in their sums.
    """

    def __init__(
        self, bindings: "Sequence[ActuatorBinding]", among: "Sequence[ActuatorBinding]" = ()
    ) -> None:
        self._count = len(bindings)
        limited = {b.joint_id: b for b in bindings if _is_limited(b)}
        summed = {j: b for j, b in limited.items() if b.has_other_forces or b.counts_gravcomp}
        own = {b.actuator_id for b in bindings}
        mates = [
            b
            for b in among
            if b.joint_id in limited and b.joint_id not in summed and b.actuator_id not in own
        ]
        table = [*bindings, *mates]
        #: Indices of the forces needed: of the bindings, then of other actuators of their joints.
        self.outputs = np.array([b.output_address for b in table], dtype=np.intp)
        #: Degrees of freedom whose sums are needed.
        self.dofs = np.array([b.dof_address for b in summed.values()], dtype=np.intp)
        self._compensated = np.array([float(b.counts_gravcomp) for b in summed.values()])
        self._gear = np.array([b.gear for b in table])
        members = {
            j: np.array([i for i, b in enumerate(table) if b.joint_id == j], dtype=np.intp)
            for j in limited
        }
        ranges = {j: b.joint_force_range or (-np.inf, np.inf) for j, b in limited.items()}
        alone = [j for j, columns in members.items() if len(columns) == 1 and j not in summed]
        self._alone = np.array([members[j][0] for j in alone], dtype=np.intp)
        edges = np.array([ranges[j] for j in alone], dtype=np.float64).reshape(-1, 2)
        self._low, self._high = edges[:, 0], edges[:, 1]
        #: Of every joint whose sum is more than one force: its columns, range and term, if any.
        self._shared = [
            (members[j], ranges[j], len(table) + list(summed).index(j) if j in summed else None)
            for j in limited
            if j not in alone
        ]

    def __call__(self, data: Any) -> FloatArray:
        """Efforts per binding in the last step, (…, bindings), a new array."""
        return self.of(self.terms(data))

    def terms(self, data: Any) -> FloatArray:
        """What efforts are computed from, (…, terms)."""
        forces: FloatArray = np.asarray(data.actuator_force)[..., self.outputs]
        if not len(self.dofs):
            return forces
        return np.concatenate([forces, self.sums(data)], axis=-1)

    def sums(self, data: Any) -> FloatArray:
        """All actuator forces at `dofs` before the ranges of their joints, (…, dofs)."""
        compensation = np.asarray(data.qfrc_gravcomp)[..., self.dofs]
        found: FloatArray = _joint_forces(data)[..., self.dofs] + self._compensated * compensation
        return found

    def of(self, terms: FloatArray) -> FloatArray:
        """Efforts per binding from terms, (…, bindings)."""
        found: FloatArray = self._gear * terms[..., : len(self._gear)]
        if len(self._alone):
            found[..., self._alone] = np.clip(found[..., self._alone], self._low, self._high)
        for columns, (low, high), term in self._shared:
            efforts = found[..., columns]
            total = _total(efforts, terms, term)
            found[..., columns] = _shared_cut(efforts, total, low, high)
        return found[..., : self._count]

    def is_cut(self, data: Any) -> BoolArray:
        """Which bindings act on a joint whose sum is beyond its range, (…, bindings)."""
        terms = self.terms(data)
        found: FloatArray = self._gear * terms[..., : len(self._gear)]
        cut: BoolArray = np.zeros(found.shape, np.bool_)
        alone = found[..., self._alone]
        cut[..., self._alone] = (alone < self._low) | (alone > self._high)
        for columns, (low, high), term in self._shared:
            total = _total(found[..., columns], terms, term)
            cut[..., columns] = (total < low) | (total > high)
        return cut[..., : self._count]


def _joint_forces(data: Any) -> FloatArray:
    """The forces of all actuators per degree of freedom, before any limit of a joint, (…, nv).

    The sparse moments of every world, one row per output, times the forces.
    """
    force, moment = np.asarray(data.actuator_force), np.asarray(data.actuator_moment)
    *lead, outputs = force.shape
    worlds, nv = math.prod(lead), np.asarray(data.qfrc_gravcomp).shape[-1]
    world = np.repeat(np.arange(worlds), outputs)
    sizes = np.ravel(data.moment_rownnz)
    starts = np.ravel(data.moment_rowadr) + world * (moment.size // worlds)
    entries = np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    dofs = np.ravel(data.moment_colind)[entries] + np.repeat(world * nv, sizes)
    values: FloatArray = moment.ravel()[entries] * np.repeat(force.ravel(), sizes)
    total = np.zeros(worlds * nv)
    np.add.at(total, dofs, values)
    return total.reshape(*lead, nv)


def _is_limited(binding: "ActuatorBinding") -> bool:
    """MuJoCo limits the actuators of hinges and slides only."""
    return binding.on_joint and binding.joint_force_range is not None


def _total(efforts: FloatArray, terms: FloatArray, term: int | None) -> FloatArray:
    """The sum at one joint, (…, 1): that of its own efforts, or a term."""
    total: FloatArray = (
        efforts.sum(axis=-1, keepdims=True) if term is None else terms[..., term : term + 1]
    )
    return total


def _shared_cut(efforts: FloatArray, total: FloatArray, low: float, high: float) -> FloatArray:
    """Efforts (…, actuators of one joint) scaled as their joint's sum is to be within a range.

    A sum of zero outside the range has no shares: every actuator takes the same part.
    """
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
