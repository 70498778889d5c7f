"""AppliedEffort: the effort at the joints that MuJoCo applied, from its actuator forces."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

if TYPE_CHECKING:  # a bridge's process has numpy alone
    from mjrig.model.binding import ActuatorBinding

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
