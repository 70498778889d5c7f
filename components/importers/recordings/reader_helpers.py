"""Helpers of the readers for other stacks' recordings: hints, safe files, columns by joint."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError, hint
from mjrig.core.names import listed
from mjrig.data.recording.checks import MOST_STEPS
from mjrig.data.recording.recording import (
    ActorRecording,
    JointColumns,
    PolicyTicks,
    RecordedCommands,
    Recording,
)

Hints = Mapping[str, object]
#: The name a floating base gets where the file has none.
BASE = "base"
#: Numbers per kind of joint: qpos, dof.
SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}


def number_hint(path: Path, hints: Hints, key: str, default: float | None = None) -> float:
    """A number > 0 from a hint.

    Raises:
        RecordingError: it is missing, and the file does not state it.
    """
    value = hints.get(key, default)
    if value is None:
        raise RecordingError(f"{path.name}: does not state its {key}; set it with " + hint(key, 50))
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise RecordingError(f"{path.name}: the hint {key} must be a number > 0, got {value!r}")
    return number


def joint_hint(
    path: Path, hints: Hints, count: int, known: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Joint names from a hint: a list, names with commas between, or a policy.yaml.

    Raises:
        RecordingError: they are missing or not `count`.
    """
    given = hints.get("joints", known)
    if given is None:
        raise RecordingError(
            f"{path.name}: has {count} joints without names; list them in its order with "
            + hint("joints", "a,b,c")
            + ", or add a policy.yaml that has them"
        )
    if isinstance(given, str | Path) and str(given).endswith((".yaml", ".yml")):
        given = PolicyFile.load(given).joints
    if isinstance(given, str):
        given = [name.strip() for name in given.split(",")]
    names = tuple(str(name) for name in given) if isinstance(given, Sequence) else ()
    if len(names) != count or len(set(names)) != count:
        raise RecordingError(
            f"{path.name}: the hint joints must be {count} different names, got {listed(names)}"
        )
    return names


def quaternion_hint(path: Path, hints: Hints, default: str) -> str:
    """`wxyz` or `xyzw`.

    Raises:
        RecordingError: it is neither.
    """
    order = str(hints.get("quaternion", default))
    if order not in ("wxyz", "xyzw"):
        problem = f"the hint quaternion must be wxyz or xyzw, got {order!r}"
        raise RecordingError(f"{path.name}: {problem}")
    return order


#: Larger values are damaged bytes: their squares are not finite.
MAX_VALUE = 1e100


def wxyz(path: Path, quaternions: FloatArray, order: str) -> FloatArray:
    """Quaternions (…, 4) as MuJoCo has them, of length one.

    Raises:
        RecordingError: one has no length, and so no direction.
    """
    turned = np.roll(quaternions, 1, axis=-1) if order == "xyzw" else quaternions
    with np.errstate(over="ignore"):  # such a length is not finite
        lengths = np.linalg.norm(turned, axis=-1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise RecordingError(f"{path.name}: a quaternion is not finite")
    none = np.flatnonzero(lengths < 1e-6)
    if len(none):
        raise RecordingError(f"{path.name}: the quaternion in row {none[0]} is 0")
    return np.asarray(turned / lengths)


def into_base(vectors: FloatArray, quaternions: FloatArray) -> FloatArray:
    """World vectors (T, 3) in the frames of quaternions (T, 4), wxyz."""
    w, xyz = quaternions[:, :1], -quaternions[:, 1:]
    cross = 2.0 * np.cross(xyz, vectors)
    return np.asarray(vectors + w * cross + np.cross(xyz, cross))


def columns(joints: Sequence[tuple[str, str]]) -> tuple[JointColumns, ...]:
    """Columns of (name, kind) one after the other."""
    found, q, v = [], 0, 0
    for name, kind in joints:
        nq, nv = SIZES[kind]
        found.append(JointColumns(name, kind, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return tuple(found)


def finite(
    path: Path, what: str, values: npt.ArrayLike, shape: tuple[int | None, ...]
) -> FloatArray:
    """An array of finite numbers of a shape; None stands for any size.

    Raises:
        RecordingError: it is something else.
    """
    try:
        stored = np.asarray(values)
        if stored.dtype.kind in "cVMm":  # a cast would drop a part of the value
            raise ValueError(stored.dtype)
        with np.errstate(invalid="ignore"):  # damaged bytes are NaN of any kind; see below
            array = stored.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(f"{path.name}: {what} is not an array of numbers") from error
    fits = array.ndim == len(shape) and all(
        w is None or s == w for s, w in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = tuple("any" if w is None else w for w in shape)
        text = f"{what} has shape {array.shape}, expected {wanted}"
        raise RecordingError(f"{path.name}: {text}".replace("'", ""))
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise RecordingError(f"{path.name}: {what} has a value that is not finite in row {row}")
    if (huge := np.argwhere(np.abs(array) > MAX_VALUE)).size:
        value = array[tuple(huge[0])]
        raise RecordingError(f"{path.name}: {what} has the value {value:g} in row {huge[0][0]}")
    return array


def steps_of(path: Path, time: FloatArray, timestep: float) -> npt.NDArray[np.int64]:
    """Physics steps of ascending times.

    Raises:
        RecordingError: times do not increase, or two of them are in one step.
    """
    if not len(time):
        raise RecordingError(f"{path.name}: has no rows")
    if np.any(np.diff(time) <= 0.0):
        row = int(np.argwhere(np.diff(time) <= 0.0)[0][0]) + 1
        raise RecordingError(f"{path.name}: the time does not increase in row {row}")
    counts = np.round((time - time[0]) / timestep)
    if counts[-1] > MOST_STEPS:
        raise RecordingError(f"{path.name}: its times span {time[-1] - time[0]:g} s")
    steps = counts.astype(np.int64)
    same = np.flatnonzero(np.diff(steps) <= 0)
    if len(same):
        raise RecordingError(
            f"{path.name}: row {same[0] + 1} is in the same step as the one before, with a "
            f"timestep of {timestep:g} s; set a smaller one with "
            + hint("timestep", f"{timestep / 10:g}")
        )
    return steps


def actor_of(
    hints: Hints,
    joints: Sequence[tuple[str, str]],
    steps: npt.NDArray[np.int64],
    time: FloatArray,
    qpos: FloatArray,
    qvel: FloatArray | None,
    *,
    name: str = "robot",
    commands: tuple[tuple[str, ...], RecordedCommands] | None = None,
    policy: PolicyTicks | None = None,
) -> ActorRecording:
    """One robot's share; `commands` come with the joints they are for."""
    driven = commands[0] if commands else ()
    return ActorRecording(
        name=str(hints.get("robot", name)),
        joints=columns(joints),
        step=steps,
        time=time,
        qpos=qpos,
        qvel=qvel,
        actuators=driven,
        driven=driven,
        commands=commands[1] if commands else None,
        policy=policy,
    )


def clip(
    path: Path,
    kind: str,
    hints: Hints,
    fps: float,
    joints: Sequence[tuple[str, str]],
    qpos: FloatArray,
    qvel: FloatArray | None,
    notes: Sequence[str],
) -> Recording:
    """A motion at a rate: no physics, no commands; the timestep is one frame."""
    steps = np.arange(len(qpos), dtype=np.int64)
    actor = actor_of(hints, joints, steps, steps / fps, qpos, qvel)
    return Recording(
        path=path,
        format=kind,
        timestep=1.0 / fps,
        steps=len(qpos) - 1,
        actors={actor.name: actor},
        attributes={"source": kind, "fps": fps},
        notes=tuple(notes),
    )
