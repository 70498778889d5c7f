"""Motion: the reference of a motion-tracking policy, frame by frame."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PolicyError, RecordingError
from mjrig.core.names import how_many, suggestion
from mjrig.data.recording.file_limits import check_regular
from mjrig.data.recording.npz_arrays import npz_arrays

#: Arrays of a frame; the last axes of the arrays in a file, and of the network's outputs.
SHAPES = {
    "joint_pos": ("frames", "joints"), "joint_vel": ("frames", "joints"),
    "body_pos_w": ("frames", "bodies", 3), "body_quat_w": ("frames", "bodies", 4),
}  # fmt: skip
KEYS = tuple(SHAPES)


class Motion:
    """One frame at a time: of a clip, or of a network's output.

    Attributes:
        joint_pos, joint_vel: in the order of the policy's joints; (worlds, …) in a batch.
        anchor_position, anchor_quaternion: of the anchor body in the world, wxyz.
        anchor: its name.
    """

    def __init__(self, joints: int, anchor: str, bodies: Sequence[str], worlds: int = 0) -> None:
        self.anchor = anchor
        self._index = bodies.index(anchor) if anchor in bodies else 0
        lead = (worlds,) if worlds else ()
        self.joint_pos, self.joint_vel = np.zeros((*lead, joints)), np.zeros((*lead, joints))
        self.anchor_position = np.zeros((*lead, 3))
        self.anchor_quaternion = np.zeros((*lead, 4))
        self.anchor_quaternion[..., 0] = 1.0

    def take(self, frame: Mapping[str, npt.NDArray[np.floating]], world: int | None = None) -> None:
        """Set the current frame: `KEYS` → values; leading axes of size 1 are dropped."""
        own: Any = ... if world is None else world
        self.joint_pos[own] = frame["joint_pos"].reshape(-1)
        self.joint_vel[own] = frame["joint_vel"].reshape(-1)
        self.anchor_position[own] = frame["body_pos_w"].reshape(-1, 3)[self._index]
        self.anchor_quaternion[own] = frame["body_quat_w"].reshape(-1, 4)[self._index]


def _table(key: str, values: npt.NDArray[Any]) -> FloatArray:
    """Numbers of all frames.

    Raises:
        ValueError: other values, or another shape.
    """
    shape = SHAPES[key]
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
                key: _table(key, arrays[key]) for key in KEYS if arrays is not None and key in names
            }
        except (RecordingError, ValueError, TypeError) as error:
            what = str(error).removeprefix(f"{path}: ")
            raise PolicyError(f"{path.name}: not a motion: {what}") from error
        lacking = [key for key in KEYS if key not in found]
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
