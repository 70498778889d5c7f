"""Isaac Lab's HDF5: `data/demo_<i>` with actions, an initial state and the states after them."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.components.importers.recordings.recorded_file import (
    BASE,
    Hints,
    RecordedFile,
    into_base,
    position_commands,
)
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import hint
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.h5_columns import H5Columns, h5py_package, open_h5
from mjrig.data.recording.recording import ActorRecording, PolicyTicks, Recording

_SUFFIXES = (".hdf5", ".h5")
_MAGIC = b"\x89HDF"
_STATE = ("root_pose", "root_velocity", "joint_position", "joint_velocity")


def read(path: Path, hints: Hints) -> Recording | None:
    """One episode: the only one, or the one the hint `episode` names (`demo_3`, or 3).

    Joint names and the rate (`fps`) come as hints: the file has neither.

    Raises:
        RecordingError: it has this format, but is damaged or incomplete.
        MissingExtraError: h5py is not installed.
    """
    if path.suffix not in _SUFFIXES or not path.is_file():
        return None
    with path.open("rb") as start:
        if start.read(len(_MAGIC)) != _MAGIC:
            return None
    h5py = h5py_package()
    with ExitStack() as stack:
        with decoding(path):
            opened = stack.enter_context(open_h5(path))
            if "data" not in opened or not isinstance(opened["data"], h5py.Group):
                return None
        columns = H5Columns(path, opened)
        data = columns.groups["data"]
        return _Episode(path, hints, data, columns).read() if _demos(data) else None


class _Episode(RecordedFile):
    """One episode of a file."""

    def __init__(self, path: Path, hints: Hints, data: Any, columns: H5Columns) -> None:
        super().__init__(path, hints)
        demos = _demos(data)
        wanted = str(hints.get("episode", ""))
        if wanted.isdigit():
            wanted = f"demo_{wanted}"
        if not wanted and len(demos) > 1:
            raise self.error(
                f"has {len(demos)} episodes ({listed(demos)}); choose one: "
                + hint("episode", demos[0])
            )
        self.name = wanted or demos[0]
        if self.name not in demos:
            raise self.error(f"has no episode {self.name!r}; has: {listed(demos)}")
        self._demo, self._columns = data[self.name], columns
        self.about = _attributes(path, data)

    def read(self) -> Recording:
        """The episode."""
        robots = self._group("states/articulation")
        if not robots:
            raise self.error(f"{self.name} has no states of an articulation")
        tick = 1.0 / self.number_hint("fps")
        timestep = self.number_hint("timestep", tick)
        every = round(tick / timestep)
        if every < 1 or abs(every * timestep - tick) > 1e-6 * tick:
            raise self.error(f"{tick:g} s are no multiple of {timestep:g} s")
        self.every, self.timestep = every, timestep
        self.notes = [
            "the base's velocity is that of its centre of mass where Isaac Lab is older than 3",
            "positions are relative to the environment's origin",
        ]
        actors = [self._robot(name, len(robots) == 1) for name in robots]
        notes = list(dict.fromkeys(self.notes))
        about: dict[str, Any] = {"episode": self.name, **self.about}
        return self.recording("isaac lab", timestep, actors, notes, **about)

    def _group(self, name: str) -> list[str]:
        return list(self._demo[name]) if name in self._demo else []

    def _robot(self, name: str, alone: bool) -> ActorRecording:
        after = {k: self._rows(f"states/articulation/{name}/{k}") for k in _STATE}
        first = {k: self._rows(f"initial_state/articulation/{name}/{k}") for k in _STATE}
        begins = all(first[k] is not None for k in _STATE)
        parts: list[FloatArray] = []
        for key, width in zip(_STATE, (7, 6, None, None), strict=True):
            rows = after[key]
            if rows is None:
                raise self.error(f"{name} has no {key} in {self.name}")
            values = self.finite(f"{name}/{key}", rows, (None, width))
            if begins:
                start = f"initial_state of {name}/{key}"
                begin = self.finite(start, first[key], (None, values.shape[1]))
                values = np.vstack([begin, values])
            parts.append(values)
        if len({len(values) for values in parts}) != 1:
            rows = listed(f"{k}: {len(v)}" for k, v in zip(_STATE, parts, strict=True))
            raise self.error(f"{name} has columns of different length: {rows}")
        pose, velocity, position, speed = parts
        count = position.shape[1]
        names = RecordedFile(self.path, self._names(name)).joint_hint(count)
        quaternion = self.quaternions(pose[:, 3:], self._order(pose[:, 3:]))
        spin = into_base(velocity[:, 3:], quaternion)
        steps = (np.arange(len(pose), dtype=np.int64) + (not begins)) * self.every
        last = int(steps[-1])
        more: dict[str, Any] = {}
        if alone:
            name = str(self.hints.get("robot", name))
            more = {**self._commands(names, last), "policy": self._policy(names, last)}
        return self.actor(
            [(BASE, "free"), *((n, "hinge") for n in names)],
            steps,
            np.asarray(steps * self.timestep, dtype=np.float64),
            np.hstack([pose[:, :3], quaternion, position]),
            np.hstack([velocity[:, :3], spin, speed]),
            name=name,
            **more,
        )

    def _rows(self, name: str) -> Any:
        column = self._columns.get(f"data/{self.name}/{name}")
        return None if column is None else np.asarray(column[:])

    def _ticks(self, name: str, last: int) -> Any:
        """Rows of the ticks up to a step; None: the episode has none."""
        rows = self._rows(name)
        most = last // self.every + 1
        if rows is not None and rows.ndim and len(rows) > most:
            self.notes.append(f"{len(rows) - most} rows of {name} after the last state are skipped")
            rows = rows[:most]
        return rows

    def _names(self, robot: str) -> Hints:
        """The hints with the joints of this robot, where they are given per robot."""
        joints = self.hints.get("joints")
        if isinstance(joints, Mapping):
            return {**self.hints, "joints": joints.get(robot)} if robot in joints else {}
        return self.hints

    def _order(self, quaternions: FloatArray) -> str:
        """`wxyz` up to 2.x, `xyzw` in 3.0: by the start, which is upright and faces ahead."""
        w_first, w_last = abs(quaternions[0, 0]), abs(quaternions[0, 3])
        if "quaternion" in self.hints:
            return "wxyz"  # the hint replaces it
        if abs(w_first - w_last) < 0.2:
            raise self.error(
                "the order of quaternions is ambiguous in the first pose; "
                "it is wxyz in Isaac Lab 2, xyzw in 3: " + hint("quaternion", "wxyz")
            )
        order = "wxyz" if w_first > w_last else "xyzw"
        self.notes.append(f"quaternions are taken as {order}, by the first pose")
        return order

    def _commands(self, names: Sequence[str], last: int) -> dict[str, Any]:
        """Processed actions, where they are as many as the joints: position targets."""
        targets = self._ticks("processed_actions", last)
        if targets is None or targets.ndim != 2 or targets.shape[1] != len(names):
            return {}
        position = self.finite("processed_actions", targets, (None, len(names)))
        self.notes.append("processed actions are taken to be position targets, in joint order")
        steps = np.arange(len(position), dtype=np.int64) * self.every
        return {"driven": tuple(names), "commands": position_commands(steps, position)}

    def _policy(self, names: Sequence[str], last: int) -> PolicyTicks | None:
        actions = self._ticks("actions", last)
        if actions is None or actions.ndim != 2:
            return None
        self.finite("actions", actions, (None, None))
        array = self._ticks("obs", last)
        if array is None or array.shape[:1] != actions.shape[:1] or array.ndim != 2:
            array = np.zeros((len(actions), 0))
        self.finite("obs", array, (None, None))
        return PolicyTicks(
            np.arange(len(actions), dtype=np.int64) * self.every,
            array.astype(np.float32),
            actions.astype(np.float32),
            np.zeros((len(actions), 0)),
            tuple(names) if actions.shape[1] == len(names) else (),
        )


def _demos(data: Any) -> list[str]:
    """The episodes in their order."""
    return sorted((str(k) for k in data if str(k).startswith("demo_")), key=_number)


def _number(name: str) -> tuple[int, str]:
    tail = name.removeprefix("demo_")
    return (int(tail) if tail.isdigit() else 10**9, name)


def _attributes(path: Path, data: Any) -> dict[str, Any]:
    """Attributes of the file: plain values only."""
    found: dict[str, Any] = {}
    with decoding(path, "env_args"):
        text = data.attrs.get("env_args")
    if isinstance(text, str | bytes):
        try:
            found["env_args"] = json.loads(text)
        except (ValueError, RecursionError):
            found["env_args"] = str(text)
    return found
