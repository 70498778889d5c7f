"""Control: an articulation's inputs as arrays by coordinate and degree of freedom."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, copy_into
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, Setpoints
from mjrig.core.model.binding import ActorModel, ActuatorBinding


class Control(CheckedAttributes):
    """Write into the arrays; what changed takes effect with the next step.

    - `target_q`: position targets, coordinate layout (the robot's share of qpos);
    - `target_qd`, `feedforward`: velocity targets and efforts, dof layout;
    - `force`: applied to the dofs directly, dof layout; on a free joint a world-frame wrench
      (force, then torque) about the body's centre of mass;
    - `activation`: excitation of the muscles, 0 to 1, in actuator order.

    The targets are the setpoints in another layout: there is one store. An actuator on a hinge or
    slide joint takes its joint's entry; coordinates without an actuator are only remembered.
    Assigning an array, `control.force = …`, copies its values.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        where: ActorModel,
        actuators: Sequence[ActuatorBinding],
        setpoints: Setpoints,
    ) -> None:
        self._model, self._data, self._setpoints = model, data, setpoints
        self._qpos, self._dof = where.qpos, where.dof
        column = {name: i for i, name in enumerate(setpoints.names)}
        scalar = [b for b in actuators if b.on_joint]
        self._columns = np.array([column[b.actuator] for b in scalar], dtype=np.intp)
        self._at_q = np.array([_find(self._qpos, b.qpos_address) for b in scalar], dtype=np.intp)
        self._at_dof = np.array([_find(self._dof, b.dof_address) for b in scalar], dtype=np.intp)
        muscles = [b for b in actuators if b.kind == "muscle"]
        self._muscles = np.array([column[b.actuator] for b in muscles], dtype=np.intp)
        self._free = [
            (_find(self._dof, int(model.jnt_dofadr[j])), int(model.jnt_bodyid[j]))
            for j in where.joint_ids
            if int(model.jnt_type[j]) == int(mujoco.mjtJoint.mjJNT_FREE)
        ]
        self._rest = np.array(data.qpos[self._qpos])
        self._target_q = self._rest.copy()
        self._target_qd, self._feedforward, self._force = np.zeros((3, len(self._dof)))
        self._activation = np.zeros(len(muscles))
        self._remember()

    def _remember(self) -> None:
        """Take the setpoints as the reference: only later differences are changes."""
        values = self._setpoints.values
        self._target_q[self._at_q] = values[POSITION, self._columns]
        self._target_qd[self._at_dof] = values[VELOCITY, self._columns]
        self._feedforward[self._at_dof] = values[FEEDFORWARD, self._columns]
        self._activation[:] = values[POSITION, self._muscles]
        self._seen = [a.copy() for a in self._arrays()]
        self._bytes = self._now()

    def _arrays(self) -> tuple[FloatArray, ...]:
        return (
            self._target_q, self._target_qd, self._feedforward, self._force, self._activation
        )  # fmt: skip

    def _now(self) -> bytes:
        return b"".join(a.tobytes() for a in self._arrays())

    def _synced(self, array: FloatArray) -> FloatArray:
        """An array from the setpoints, with values written here and not yet passed on."""
        self.push()
        self._remember()
        return array

    @property
    def target_q(self) -> FloatArray:
        """Position targets, coordinate layout."""
        return self._synced(self._target_q)

    @target_q.setter
    def target_q(self, values: npt.ArrayLike) -> None:
        copy_into(self.target_q, values, "control.target_q")

    @property
    def target_qd(self) -> FloatArray:
        """Velocity targets, dof layout."""
        return self._synced(self._target_qd)

    @target_qd.setter
    def target_qd(self, values: npt.ArrayLike) -> None:
        copy_into(self.target_qd, values, "control.target_qd")

    @property
    def feedforward(self) -> FloatArray:
        """Feedforward efforts, dof layout."""
        return self._synced(self._feedforward)

    @feedforward.setter
    def feedforward(self, values: npt.ArrayLike) -> None:
        copy_into(self.feedforward, values, "control.feedforward")

    @property
    def force(self) -> FloatArray:
        """Efforts applied to the dofs directly; wrenches on free joints."""
        return self._force

    @force.setter
    def force(self, values: npt.ArrayLike) -> None:
        copy_into(self.force, values, "control.force")

    @property
    def activation(self) -> FloatArray:
        """Excitation of the muscles, 0 to 1."""
        return self._synced(self._activation)

    @activation.setter
    def activation(self, values: npt.ArrayLike) -> None:
        copy_into(self.activation, values, "control.activation")

    def push(self) -> None:
        """Pass on what was written; called before every step.

        Raises:
            LeaseError: an actuator whose target was written is held by a lease.
            ValueError: an activation is not between 0 and 1.
        """
        if self._now() == self._bytes:
            return
        arrays, seen = self._arrays(), self._seen
        changed = [_differs(a, b) for a, b in zip(arrays, seen, strict=True)]
        self._check_activation()
        if not np.isfinite(self._force).all():
            bad = int(np.flatnonzero(~np.isfinite(self._force))[0])
            raise ValueError(f"force[{bad}] is {self._force[bad]}; must be finite")
        for row, array, news, at in (
            (POSITION, self._target_q, changed[0], self._at_q),
            (VELOCITY, self._target_qd, changed[1], self._at_dof),
            (FEEDFORWARD, self._feedforward, changed[2], self._at_dof),
        ):
            chosen = np.flatnonzero(news[at])
            self._setpoints.write_columns(row, self._columns[chosen], array[at[chosen]])
        chosen = np.flatnonzero(changed[4])
        self._setpoints.write_columns(POSITION, self._muscles[chosen], self._activation[chosen])
        if changed[3].any():
            self._apply_force()
        self._seen = [a.copy() for a in arrays]
        self._bytes = self._now()

    def _check_activation(self) -> None:
        bad = ~((self._activation >= 0.0) & (self._activation <= 1.0))
        if bad.any():
            at = int(bad.argmax())
            name = self._setpoints.names[self._muscles[at]]
            raise ValueError(f"activation of {name!r} must be 0 to 1, got {self._activation[at]}")

    def _apply_force(self) -> None:
        """Free joints through xfrc_applied at the centre of mass; others through qfrc_applied."""
        generalised = self._force.copy()
        for first, body in self._free:
            self._data.xfrc_applied[body] = generalised[first : first + 6]
            generalised[first : first + 6] = 0.0
        self._data.qfrc_applied[self._dof] = generalised

    def clear(self) -> None:
        """Zero everything; position targets return to the pose of the last reset.

        Quaternions in `target_q` keep unit length.
        """
        for array in self._arrays():
            array[:] = 0.0
        self._target_q[:] = self._rest
        self._apply_force()

    def memory(self) -> list[FloatArray]:
        """A copy of everything written."""
        return [a.copy() for a in (*self._arrays(), self._rest)]

    def restore(self, memory: list[FloatArray] | None) -> None:
        """Restore what `memory` returned; None: the arrays were not in use then."""
        if memory is None:
            self._force[:] = 0.0
            self._remember()
            return
        for array, saved in zip((*self._arrays(), self._rest), memory, strict=True):
            array[:] = saved
        self._seen = [a.copy() for a in self._arrays()]
        self._bytes = self._now()

    def reset(self, rest: npt.ArrayLike) -> None:
        """The world was reset to a pose: discard what was written."""
        self._rest = np.array(rest)
        self._target_q[:] = self._rest
        self._force[:] = 0.0
        self._remember()


def _find(addresses: npt.NDArray[np.intp], address: int) -> int:
    return int(np.flatnonzero(addresses == address)[0])


def _differs(a: FloatArray, b: FloatArray) -> npt.NDArray[np.bool_]:
    """Where two arrays differ; NaN equals NaN here."""
    return ~(np.equal(a, b) | (np.isnan(a) & np.isnan(b)))
