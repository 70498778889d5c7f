"""A file of another system while it is read: hints, checked numbers, columns by joint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError, Wording, hint
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
#: Name and kind of every joint, in the order of the columns.
Joints = Sequence[tuple[str, str]]
#: Name of a floating base for which the file has none.
BASE = "base"
#: Columns by kind of joint: positions, velocities.
SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
#: Larger values are damaged bytes: their squares are not finite.
MAX_VALUE = 1e100


class RecordedFile:
    """A file and the hints that complete it; every problem names the file."""

    def __init__(self, path: Path, hints: Hints) -> None:
        self.path, self.hints = path, hints

    def error(self, problem: str | Wording) -> RecordingError:
        """A RecordingError about this file."""
        return RecordingError(f"{self.path.name}: " + problem)

    # Hints --------------------------------------------------------------------------------------

    def number_hint(self, key: str, default: float | None = None) -> float:
        """A number > 0 from a hint.

        Raises:
            RecordingError: it is missing, and the file does not state it.
        """
        value = self.hints.get(key, default)
        if value is None:
            raise self.error(f"does not state its {key}; set it with " + hint(key, 50))
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = 0.0
        if not 0.0 < number < float("inf"):
            raise self.error(f"the hint {key} must be a number > 0, got {value!r}")
        return number

    def joint_hint(self, count: int, known: Sequence[str] | None = None) -> tuple[str, ...]:
        """Joint names from the hint `joints`: a list, names with commas between, or a policy.yaml.

        Raises:
            RecordingError: they are missing or not `count`.
        """
        value = self.hints.get("joints", known)
        if value is None:
            raise self.error(
                f"has {count} joints without names; list them in its order with "
                + hint("joints", "a,b,c")
                + ", or add a policy.yaml that has them"
            )
        if isinstance(value, str | Path) and str(value).endswith((".yaml", ".yml")):
            value = PolicyFile.load(value).joints
        if isinstance(value, str):
            value = [name.strip() for name in value.split(",")]
        names = tuple(str(name) for name in value) if isinstance(value, Sequence) else ()
        if len(names) != count or len(set(names)) != count:
            raise self.error(
                f"the hint joints must be {count} different names, got {listed(names)}"
            )
        return names

    # Numbers ------------------------------------------------------------------------------------

    def finite(self, what: str, values: npt.ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
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
            raise self.error(f"{what} is not an array of numbers") from error
        fits = array.ndim == len(shape) and all(
            w is None or s == w for s, w in zip(array.shape, shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if size is None else str(size) for size in shape)
            comma = "," if len(shape) == 1 else ""
            raise self.error(f"{what} has shape {array.shape}, expected ({expected}{comma})")
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise self.error(f"{what} has a value that is not finite in row {row}")
        if (huge := np.argwhere(np.abs(array) > MAX_VALUE)).size:
            value = array[tuple(huge[0])]
            raise self.error(f"{what} has the value {value:g} in row {huge[0][0]}")
        return array

    def stacked(self, what: str, rows: Sequence[Any], size: int | None) -> FloatArray:
        """One row of numbers per frame as a table.

        Raises:
            RecordingError: the frames differ in shape, or have other values.
        """
        try:
            table = np.stack([np.asarray(row, dtype=np.float64) for row in rows])
        except (TypeError, ValueError) as error:
            raise self.error(f"{what} differs in shape between frames") from error
        return self.finite(what, table, (len(rows), size))

    def quaternions(self, values: FloatArray, usual: str) -> FloatArray:
        """Quaternions (…, 4) as MuJoCo has them, of length one.

        Args:
            values: as the file has them.
            usual: their order, `wxyz` or `xyzw`, unless the hint `quaternion` overrides it.

        Raises:
            RecordingError: the order is neither, or one has no length, and so no direction.
        """
        order = str(self.hints.get("quaternion", usual))
        if order not in ("wxyz", "xyzw"):
            raise self.error(f"the hint quaternion must be wxyz or xyzw, got {order!r}")
        turned = np.roll(values, 1, axis=-1) if order == "xyzw" else values
        with np.errstate(over="ignore"):  # such a length is not finite
            lengths = np.linalg.norm(turned, axis=-1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise self.error("a quaternion is not finite")
        none = np.flatnonzero(lengths < 1e-6)
        if len(none):
            raise self.error(f"the quaternion in row {none[0]} is 0")
        return np.asarray(turned / lengths)

    def steps(self, time: FloatArray, timestep: float) -> npt.NDArray[np.int64]:
        """Physics steps of ascending times.

        Raises:
            RecordingError: times do not increase, or two of them are in one step.
        """
        if not len(time):
            raise self.error("has no rows")
        if np.any(np.diff(time) <= 0.0):
            row = int(np.argwhere(np.diff(time) <= 0.0)[0][0]) + 1
            raise self.error(f"the time does not increase in row {row}")
        counts = np.round((time - time[0]) / timestep)
        if counts[-1] > MOST_STEPS:
            raise self.error(f"its times span {time[-1] - time[0]:g} s")
        steps = counts.astype(np.int64)
        same = np.flatnonzero(np.diff(steps) <= 0)
        if len(same):
            raise self.error(
                f"row {same[0] + 1} is in the same step as the one before, with a "
                f"timestep of {timestep:g} s; set a smaller one with "
                + hint("timestep", f"{timestep / 10:g}")
            )
        return steps

    # Results ------------------------------------------------------------------------------------

    def actor(
        self,
        joints: Joints,
        steps: npt.NDArray[np.int64],
        time: FloatArray,
        qpos: FloatArray,
        qvel: FloatArray | None,
        *,
        name: str = "",
        driven: tuple[str, ...] = (),
        commands: RecordedCommands | None = None,
        policy: PolicyTicks | None = None,
        **more: Any,
    ) -> ActorRecording:
        """A robot of the file, called as the hint `robot` says unless it has a `name`."""
        return ActorRecording(
            name=name or str(self.hints.get("robot", "robot")),
            joints=columns(joints),
            step=steps,
            time=time,
            qpos=qpos,
            qvel=qvel,
            actuators=driven,
            driven=driven,
            commands=commands,
            policy=policy,
            **more,
        )

    def recording(
        self,
        kind: str,
        timestep: float,
        actors: Sequence[ActorRecording],
        notes: Sequence[str],
        *,
        steps: int | None = None,
        **attributes: Any,
    ) -> Recording:
        """What was read; it ends with the last row unless `steps` says otherwise."""
        return Recording(
            path=self.path,
            format=kind,
            timestep=timestep,
            steps=max(int(actor.step[-1]) for actor in actors) if steps is None else steps,
            actors={actor.name: actor for actor in actors},
            attributes={"source": kind, **attributes},
            notes=tuple(notes),
        )

    def motion(
        self,
        kind: str,
        fps: float,
        joints: Joints,
        qpos: FloatArray,
        qvel: FloatArray | None,
        notes: Sequence[str],
    ) -> Recording:
        """A motion at a rate: no physics, no commands; the timestep is one frame."""
        steps = np.arange(len(qpos), dtype=np.int64)
        actor = self.actor(joints, steps, steps / fps, qpos, qvel)
        return self.recording(kind, 1.0 / fps, [actor], notes, steps=len(qpos) - 1, fps=fps)


def position_commands(steps: npt.NDArray[np.int64], targets: FloatArray) -> RecordedCommands:
    """Position targets; velocities and feed-forward efforts are zero."""
    return RecordedCommands(steps, targets, np.zeros_like(targets), np.zeros_like(targets))


def into_base(vectors: FloatArray, quaternions: FloatArray) -> FloatArray:
    """World vectors (T, 3) in the frames of quaternions (T, 4), wxyz."""
    w, xyz = quaternions[:, :1], -quaternions[:, 1:]
    cross = 2.0 * np.cross(xyz, vectors)
    return np.asarray(vectors + w * cross + np.cross(xyz, cross))


def columns(joints: Joints) -> tuple[JointColumns, ...]:
    """Columns of joints, one after the other."""
    found, q, v = [], 0, 0
    for name, kind in joints:
        nq, nv = SIZES[kind]
        found.append(JointColumns(name, kind, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return tuple(found)
