"""Affine servos: the pid actuators of a model in a form that MuJoCo Warp runs too.

Warp has no pid. Without an integral it is an actuator with affine bias and a gain of one, whose
control is what the pid makes of its inputs:

    f = clip(u + (b0 − kp·length − kv·velocity), forcerange),   u = kp·q* + kv·v* + feedforward

One actuator becomes one actuator: limits stay in its forcerange, gears and delays where they were,
and nothing is compiled again. In MuJoCo it has the bits of the pid, under every integrator.
"""

from copy import copy
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.lowering import FF, POS, VEL

_PID = int(mujoco.mjtGain.mjGAIN_PID)


class AffineServos:
    """The pid actuators of a model, none of which may have a state or turn without end.

    `ids` are their numbers.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.ids = np.flatnonzero(np.asarray(model.actuator_gaintype) == _PID)
        self._control = np.asarray(model.actuator_ctrladr)[self.ids].astype(np.intp)
        spec = np.asarray(model.actuator_ctrlspec)[self.ids]
        self._position, self._velocity, self._feedforward = (
            _Input(model, self._control, spec, bit) for bit in (POS, VEL, FF)
        )

    def twin(self) -> Any:
        """A copy of the model in which the servos have their affine form."""
        twin = copy(self._model)
        # NOTE: not FIXED, which with kp = 1 would look like a position servo: of a ball joint or a
        # reference site MuJoCo wraps the control of those to the nearest turn.
        twin.actuator_gaintype[self.ids] = int(mujoco.mjtGain.mjGAIN_AFFINE)
        twin.actuator_gainprm[self.ids, :3] = (1.0, 0.0, 0.0)
        twin.actuator_ctrllimited[self._control] = False  # the inputs are clamped by `fold`
        return twin

    def fold(self, ctrl: FloatArray, biasprm: FloatArray) -> FloatArray:
        """The controls of the twin, from those of the model.

        Args:
            ctrl: (worlds, nu).
            biasprm: (worlds or 1, actuators, 10): kp and kv of each world. They must not change
                while a command is delayed.
        """
        folded = ctrl.copy()
        if len(self.ids):
            kp, kv = -biasprm[:, self.ids, 1], -biasprm[:, self.ids, 2]
            # The order of MuJoCo's pid, for its bits.
            sum_ = kp * self._position.of(ctrl) + kv * self._velocity.of(ctrl)
            folded[:, self._control] = sum_ + self._feedforward.of(ctrl)
        return folded


def turns_without_end(model: Any, actuator: int) -> bool:
    """Whether a pid takes its position error to the nearest turn: an affine form would not."""
    if not int(model.actuator_ctrlspec[actuator]) & POS:
        return False
    kind, (target, reference) = (
        int(model.actuator_trntype[actuator]),
        model.actuator_trnid[actuator],
    )
    if kind == int(mujoco.mjtTrn.mjTRN_SITE):
        gear = model.actuator_gear[int(model.actuator_outadr[actuator])]
        return int(reference) >= 0 and not np.any(gear[:3])
    on_joint = kind in (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return on_joint and int(model.jnt_type[target]) == int(mujoco.mjtJoint.mjJNT_BALL)


class _Input:
    """One input of some actuators: zero where an actuator does not have it."""

    def __init__(self, model: Any, first: Any, spec: Any, bit: int) -> None:
        self._has = (spec & bit) != 0
        # Inputs are in the order of their bits.
        before = sum(((spec & lower) != 0).astype(np.intp) for lower in (POS, VEL) if lower < bit)
        self._at = np.where(self._has, first + before, first)
        limited = np.asarray(model.actuator_ctrllimited)[self._at].astype(bool)
        ranges = np.asarray(model.actuator_ctrlrange)[self._at]
        limited &= not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
        self._low = np.where(limited, ranges[:, 0], -np.inf)
        self._high = np.where(limited, ranges[:, 1], np.inf)

    def of(self, ctrl: FloatArray) -> FloatArray:
        given = np.clip(ctrl[:, self._at], self._low, self._high)
        found: FloatArray = np.where(self._has, given, 0.0)
        return found
