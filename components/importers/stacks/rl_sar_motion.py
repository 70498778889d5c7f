"""The motion of a policy of rl_sar: a CSV of root and joints, as its loader plays it.

A row is one tick, whatever rate is in the file's name; the last row is reached when the clip is
over; the clip is turned about the vertical so that its torso starts as the robot's does.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.errors import SceneError
from mjrig.files.paths import read_limited

#: Largest file of a motion [bytes].
LARGEST = 256_000_000
_ROOT = 7
#: Axes of the joints between pelvis and torso: yaw, roll, pitch.
_AXES = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def read_clip(path: Path, count: int, waist: Sequence[int], tick: float) -> dict[str, FloatArray]:
    """The frames of every tick, as a motion file has them: `count` joints, and the torso.

    `waist` are the places of the joints between pelvis and torso: yaw, roll and pitch.

    Raises:
        SceneError: it cannot be read, or is no such motion.
    """
    rows = _rows(path, count)
    joints = rows[:, _ROOT:]
    speeds = np.diff(joints, axis=0) / tick
    speeds = np.concatenate([speeds, speeds[-1:]])
    size = len(rows)
    at = np.arange(1, size + 1) / size * (size - 1)
    low = np.floor(at).astype(np.intp)
    high, blend = np.minimum(low + 1, size - 1), (at - low)[:, np.newaxis]
    positions = joints[low] * (1.0 - blend) + joints[high] * blend
    roots = [
        _between(rows[a], rows[b], float(t)) for a, b, t in zip(low, high, at - low, strict=True)
    ]
    turn = _yaw(_torso(_quaternion(rows[0]), joints[0, waist]))
    torsos = [_product(turn, _torso(q, j)) for q, j in zip(roots, positions[:, waist], strict=True)]
    places = rows[low, :3] * (1.0 - blend) + rows[high, :3] * blend
    turned = np.zeros_like(places)
    for place, out in zip(places, turned, strict=True):
        mujoco.mju_rotVecQuat(out, place, turn)
    return {
        "fps": np.array([1.0 / tick]),
        "joint_pos": positions,
        "joint_vel": speeds[low] * (1.0 - blend) + speeds[high] * blend,
        "body_pos_w": turned[:, np.newaxis],
        "body_quat_w": np.array(torsos)[:, np.newaxis],
    }


def _rows(path: Path, count: int) -> FloatArray:
    try:
        text = read_limited(path, LARGEST).decode()
        rows = np.array([row for row in csv.reader(text.splitlines()) if row], dtype=np.float64)
    except OSError as error:
        raise SceneError(f"cannot read the motion {path}: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:
        raise SceneError(f"{path.name}: is not a motion: not a table of numbers") from error
    if rows.ndim != 2 or rows.shape[1] != _ROOT + count or len(rows) < 2:
        raise SceneError(
            f"{path.name}: is not a motion of {count} joints: needs two or more rows of "
            f"{_ROOT + count} numbers, has shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise SceneError(f"{path.name}: is not a motion: not all numbers are finite")
    return rows


def _quaternion(row: FloatArray) -> FloatArray:
    """Of the root: xyzw in the file."""
    found = np.roll(row[3:_ROOT], 1)
    mujoco.mju_normalize4(found)
    return found


def _between(one: FloatArray, other: FloatArray, blend: float) -> FloatArray:
    """The root's quaternion between two rows."""
    start, difference = _quaternion(one), np.zeros(3)
    mujoco.mju_subQuat(difference, _quaternion(other), start)
    mujoco.mju_quatIntegrate(start, difference, blend)
    return start


def _torso(root: FloatArray, waist: FloatArray) -> FloatArray:
    found = root
    for angle, axis in zip(waist, _AXES, strict=True):
        turn = np.zeros(4)
        mujoco.mju_axisAngle2Quat(turn, np.array(axis), float(angle))
        found = _product(found, turn)
    return found


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    found = np.zeros(4)
    mujoco.mju_mulQuat(found, one, other)
    return found


def _yaw(quaternion: FloatArray) -> FloatArray:
    """The turn about the vertical that takes its heading away."""
    w, x, y, z = quaternion
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return np.array([np.cos(yaw / 2.0), 0.0, 0.0, -np.sin(yaw / 2.0)])
