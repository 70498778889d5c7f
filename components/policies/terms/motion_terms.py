"""Motion terms: comparison of the robot with a reference motion, and the files that have one."""

from abc import ABC
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.components.policies.terms.state_terms import each
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import MOTION_SHAPES, View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PolicyError, RecordingError
from mjrig.core.names import how_many, suggestion
from mjrig.core.properties.scalar_kinds import Float
from mjrig.data.recording.file_limits import check_regular
from mjrig.data.recording.npz_arrays import npz_arrays


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


# Motion files -------------------------------------------------------------------------------------


def _table(key: str, values: npt.NDArray[Any]) -> FloatArray:
    """Numbers of all frames.

    Raises:
        ValueError: other values, or another shape.
    """
    shape = MOTION_SHAPES[key]
    if values.dtype.kind not in "fiu":
        raise ValueError(f"{key} holds {values.dtype}, not numbers")
    if values.ndim != len(shape) or any(
        isinstance(size, int) and size != actual
        for size, actual in zip(shape, values.shape, strict=True)
    ):
        raise ValueError(f"{key} has shape {values.shape}, expected ({', '.join(map(str, shape))})")
    return values.astype(np.float64)


class Clip:
    """The frames of a motion file.

    Raises:
        PolicyError: it is not a motion, or of other joints or bodies.
    """

    def __init__(
        self, path: Path, joints: Sequence[str], own: Sequence[str], bodies: Sequence[str]
    ) -> None:
        try:
            check_regular(path)
            arrays = npz_arrays(path)
            names = {*arrays, *arrays.skipped} if arrays is not None else set()
            found = {
                key: _table(key, arrays[key])
                for key in MOTION_SHAPES
                if arrays is not None and key in names
            }
        except (RecordingError, ValueError, TypeError) as error:
            what = str(error).removeprefix(f"{path}: ")
            raise PolicyError(f"{path.name}: not a motion: {what}") from error
        lacking = [key for key in MOTION_SHAPES if key not in found]
        if lacking:
            raise PolicyError(f"{path.name}: not a motion: has no {', '.join(lacking)}")
        order = list(own or joints)
        size = found["joint_pos"].shape[-1]
        if size != len(order):
            raise PolicyError(
                f"{path.name}: joint_pos has shape {found['joint_pos'].shape}; the policy file "
                f"names {how_many(len(order), 'joint')} of the motion"
            )
        for name in joints:
            if name not in order:
                hint = suggestion(name, order)
                raise PolicyError(f"{path.name}: the motion has no joint {name!r}; {hint}")
        if bodies and found["body_pos_w"].shape[1:] != (len(bodies), 3):
            raise PolicyError(
                f"{path.name}: body_pos_w has shape {found['body_pos_w'].shape}; the policy file "
                f"names {len(bodies)} bodies"
            )
        lengths = {len(values) for values in found.values()}
        same = [("joint_vel", "joint_pos", 1), ("body_quat_w", "body_pos_w", 1)]
        differ = [(one, other) for one, other, axis in same
                  if found[one].shape[axis] != found[other].shape[axis]]  # fmt: skip
        if differ:
            one, other = differ[0]
            raise PolicyError(
                f"{path.name}: not a motion: {one} has shape {found[one].shape}, {other} "
                f"{found[other].shape}"
            )
        columns = [order.index(name) for name in joints]
        found["joint_pos"] = found["joint_pos"][:, columns]
        found["joint_vel"] = found["joint_vel"][:, columns]
        if (
            len(lengths) != 1
            or 0 in lengths
            or not all(np.isfinite(v).all() for v in found.values())
        ):
            raise PolicyError(f"{path.name}: not a motion: lengths differ or not all is finite")
        self._arrays = found
        self.frames = lengths.pop()

    def frame(self, index: int) -> Mapping[str, FloatArray]:
        """A frame; the last one is held."""
        at = min(index, self.frames - 1)
        return {key: values[at] for key, values in self._arrays.items()}
