"""RoboJuDo's log: `log.msgpack`, a stream of frames with arrays in them, beside `config.json`.

Arrays are decoded by hand: type, shape, bytes. Python objects are refused.
"""

import json
import math
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.components.importers.recordings.recorded_file import (
    BASE,
    Hints,
    RecordedFile,
    position_commands,
)
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError, RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.data.recording.recording import Recording

_SUFFIXES = (".msgpack", ".msgpk")
#: Largest array or text in a frame [bytes].
_LARGEST = 64_000_000
_ND, _TYPE, _SHAPE, _DATA = b"nd", b"type", b"shape", b"data"


def read(path: Path, hints: Hints) -> Recording | None:
    """A log; joint names and rates come from the config.json beside it, or as hints.

    Raises:
        RecordingError: it has this format, but is damaged or incomplete.
        MissingExtraError: msgpack is not installed.
    """
    if path.suffix not in _SUFFIXES:
        return None
    file = RecordedFile(path, hints)
    frames = list(_frames(file))
    if not frames or not all("env_data" in frame for frame in frames):
        raise file.error("is not a log of RoboJuDo: a frame has no env_data")
    config = _config(path)
    dof = config.get("env", {}).get("dof") or {}
    positions = _column(file, frames, "dof_pos")
    if positions is None:
        raise file.error("its frames have no dof_pos")
    names = file.joint_hint(positions.shape[1], dof.get("joint_names"))
    timestep, every = _timing(file, config)
    steps = np.arange(len(frames), dtype=np.int64) * every
    time = np.asarray(steps * timestep, dtype=np.float64)
    notes = ["a log has no efforts, observations or actions"]
    qpos, qvel = positions, _column(file, frames, "dof_vel", positions.shape[1])
    joints = [(name, "hinge") for name in names]
    base = _base(file, frames, time)
    if base is None:
        notes.append("it has no position of the base: only the joints are read")
    else:
        joints = [(BASE, "free"), *joints]
        qpos = np.hstack([base[0], positions])
        qvel = np.hstack([base[1], qvel]) if qvel is not None else None
        notes.append("the base's velocity is taken from its positions")
    commands: dict[str, Any] = {}
    targets = [frame.get("pd_target") for frame in frames]
    if all(target is not None for target in targets):
        position = file.stacked("pd_target", targets, len(names))
        commands = {"driven": names, "commands": position_commands(steps, position)}
    actor = file.actor(joints, steps, time, qpos, qvel, **commands)
    end = int(steps[-1]) + every
    return file.recording("robojudo", timestep, [actor], notes, steps=end, config=config)


# Frames -----------------------------------------------------------------------------------------


def _frames(file: RecordedFile) -> Iterator[dict[str, Any]]:
    try:
        import msgpack
    except ImportError as error:
        raise MissingExtraError("a msgpack log", "record", error) from error
    with file.path.open("rb") as opened:
        stream = msgpack.Unpacker(
            opened, raw=False, max_buffer_size=_LARGEST, unicode_errors="replace"
        )
        frames = iter(stream)
        for number in count(1):
            with decoding(file.path.name, f"frame {number}", problem="is not msgpack"):
                frame = next(frames, stream)
                decoded = _decoded(file, frame)
            if frame is stream:  # the end
                return
            if not isinstance(decoded, dict):
                raise file.error(f"frame {number} is not a mapping")
            yield decoded


def _decoded(file: RecordedFile, value: Any) -> Any:
    """Plain data, with encoded arrays decoded."""
    if isinstance(value, dict):
        if _ND in value or "nd" in value:
            return _array(file, {k.encode() if isinstance(k, str) else k: v
                                 for k, v in value.items()})  # fmt: skip
        return {str(key): _decoded(file, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(file, item) for item in value]
    return value


def _array(file: RecordedFile, value: Mapping[bytes, Any]) -> Any:
    """An array from its type, shape and bytes.

    Raises:
        RecordingError: it holds objects, or the bytes do not fit.
    """
    try:
        kind = value[_TYPE]
        dtype = np.dtype(kind.decode() if isinstance(kind, bytes) else kind)
        shape = tuple(int(n) for n in value.get(_SHAPE, ()))
        data = bytes(value[_DATA])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise file.error(f"an array is broken: {error}") from error
    if dtype.kind not in "fiub":
        raise file.error(f"an array of type {dtype} is refused: only numbers are read")
    if min(shape, default=0) < 0 or len(data) != dtype.itemsize * math.prod(shape):
        raise file.error(f"an array of shape {shape} and type {dtype} has {len(data)} bytes")
    return np.frombuffer(data, dtype=dtype).reshape(shape)


def _column(
    file: RecordedFile, frames: list[dict[str, Any]], key: str, size: int | None = None
) -> FloatArray | None:
    """One value of all frames; None: the first has none."""
    rows = [frame["env_data"].get(key) for frame in frames]
    return None if rows[0] is None else file.stacked(key, rows, size)


# Interpretation ---------------------------------------------------------------------------------


def _config(path: Path) -> dict[str, Any]:
    beside = path.with_name("config.json")
    if not beside.is_file():
        return {}
    try:
        config = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{beside.name} beside {path.name}: is not JSON: {error}") from error
    return config if isinstance(config, dict) else {}


def _timing(file: RecordedFile, config: Mapping[str, Any]) -> tuple[float, int]:
    """Physics timestep [s] and steps per frame."""
    env, policy = config.get("env") or {}, config.get("policy") or {}
    timestep = file.number_hint("timestep", env.get("sim_dt") or 0.001)
    rate = policy.get("freq") if isinstance(policy, Mapping) else None
    decimation = env.get("sim_decimation")
    if rate is None and decimation is not None and "fps" not in file.hints:
        return timestep, int(decimation)
    fps = file.number_hint("fps", rate)
    every = round(1.0 / (fps * timestep))
    if every < 1 or abs(every * fps * timestep - 1.0) > 1e-6:
        raise file.error(
            f"{fps:g} frames per second are no multiple of the timestep {timestep:g} s"
        )
    return timestep, every


def _base(
    file: RecordedFile, frames: list[dict[str, Any]], time: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Pose (7) and velocity (6) of the floating base; None: it is not in the log."""
    position = _column(file, frames, "base_pos", 3)
    turned = _column(file, frames, "base_quat", 4)
    if position is None or turned is None:
        return None
    quaternion = file.quaternions(turned, "xyzw")
    angular = _column(file, frames, "base_ang_vel", 3)
    linear = np.gradient(position, time, axis=0) if len(time) > 1 else np.zeros_like(position)
    spin = angular if angular is not None else np.zeros_like(position)
    return np.hstack([position, quaternion]), np.hstack([linear, spin])
