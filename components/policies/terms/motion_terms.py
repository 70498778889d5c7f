"""Motion terms: comparison of the robot with a reference motion."""

from abc import ABC
from typing import ClassVar

import mujoco
import numpy as np

from mjrig.components.policies.terms.state_terms import each
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.core.arrays import FloatArray
from mjrig.core.properties.scalar_kinds import Float


class MotionPhase(ObservationTerm):
    """Share of a motion's duration that has passed since the first tick, held at 1."""

    over_worlds: ClassVar[bool] = True

    _remembered: ClassVar[tuple[str, ...]] = ("_first",)

    duration = Float(1.0, min=0.0, above=True, unit="s", doc="Duration of the motion.")
    start = Float(0.0, min=0.0, unit="s", doc="Time of the motion at the first tick.")

    def connect(self, view: View) -> int:
        self._view = view
        self._first = np.full(view.count, -1)
        return 1

    def restart(self) -> None:
        self._first[list(self._view.ticking)] = -1

    def measure(self, out: FloatArray) -> None:
        view, rows = self._view, list(self._view.ticking)
        steps = np.broadcast_to(view.steps, view.count)
        first = self._first[rows]
        self._first[rows] = np.where(first < 0, steps[rows], first)
        passed = (steps - self._first) * view.timestep
        out.reshape(-1)[:] = np.minimum((self.start + passed) / self.duration, 1.0)


class MotionJoints(ObservationTerm):
    """Joint positions, then joint velocities, of the motion [rad, rad/s]."""

    over_worlds: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        self._motion = view.motion_for(self.label)
        return 2 * len(view.joints)

    def measure(self, out: FloatArray) -> None:
        half = out.shape[-1] // 2
        out[..., :half], out[..., half:] = self._motion.joint_pos, self._motion.joint_vel


class _AnchorTerm(ObservationTerm, ABC):
    """Base class of anchor terms: the robot's body and the motion's."""

    needs_position_stage: ClassVar[bool] = True  # a body's frame must belong to the current state
    over_worlds: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        self._motion = view.motion_for(self.label)
        body = view.body_id(self._motion.anchor, self)
        self._place = view.data.xpos[..., body, :]
        self._quaternion = view.data.xquat[..., body, :]
        self._inverse = np.zeros(4)
        return self.size

    size: ClassVar[int] = 3


class MotionAnchorPosition(_AnchorTerm):
    """Position of the motion's anchor body in the frame of the robot's anchor body [m]."""

    def measure(self, out: FloatArray) -> None:
        offsets = self._motion.anchor_position - self._place
        for own, offset, quaternion in each(out, offsets, self._quaternion):
            mujoco.mju_negQuat(self._inverse, quaternion)
            mujoco.mju_rotVecQuat(own, offset, self._inverse)


class MotionAnchorOrientation(_AnchorTerm):
    """Rotation of the motion's anchor body relative to the robot's: two columns, row by row."""

    size: ClassVar[int] = 6

    def measure(self, out: FloatArray) -> None:
        relative, matrix = np.zeros(4), np.zeros(9)
        for own, mine, wanted in each(out, self._quaternion, self._motion.anchor_quaternion):
            mujoco.mju_negQuat(self._inverse, mine)
            mujoco.mju_mulQuat(relative, self._inverse, wanted)
            mujoco.mju_quat2Mat(matrix, relative)
            own[:] = matrix.reshape(3, 3)[:, :2].reshape(-1)
