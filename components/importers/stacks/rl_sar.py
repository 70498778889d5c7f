"""rl_sar: `base.yaml` of a robot, `config.yaml` of a policy, which wins, and a network.

A motion is a CSV of root and joints. A row is one tick, whatever rate is in the file's name;
the last row is reached when the clip is over; the clip is turned about the vertical so that
its torso starts as the robot's does.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.components.importers.sources.joint_matching import find_joint
from mjrig.components.importers.sources.policy_description import (
    FoundPolicy,
    Start,
    Term,
    TermMaker,
    velocity_command,
)
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile, unread
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import SceneError, option
from mjrig.core.files.paths import read_limited
from mjrig.core.names import suggestion

# Rl sar motion ------------------------------------------------------------------------------------
# The motion of a policy of rl_sar: a CSV of root and joints, as its loader plays it.

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


# Rl sar -------------------------------------------------------------------------------------------

#: How long the robot stands before the policy begins; the stack waits for a key press [s].
STAND = 1.0
#: Duration of the dance whose policy sees only how far it is; the stack has it in its code [s].
DANCE = 18.0
#: How many folders above the policy's file its robot's base.yaml may be.
ABOVE = 5
_MOTION, _ANCHOR = "whole_body_tracking/motion_command", "whole_body_tracking/motion_anchor_ori_b"
_PHASE = "RoboMimic_Deploy/phase"
#: The stack's name of a measurement → type of the term, and the key of its scale.
_TERMS = {
    "ang_vel": ("BaseAngularVelocity", "ang_vel_scale"),
    "ang_vel_body": ("BaseAngularVelocity", "ang_vel_scale"),
    "lin_vel": ("BaseLinearVelocity", "lin_vel_scale"),
    "gravity_vec": ("ProjectedGravity", ""),
    "commands": ("CommandTerm", "commands_scale"),
    "dof_pos": ("JointPositions", "dof_pos_scale"),
    "dof_vel": ("JointVelocities", "dof_vel_scale"),
    "actions": ("LastAction", ""),
    _MOTION: ("MotionJoints", ""),
    _ANCHOR: ("MotionAnchorOrientation", ""),
    _PHASE: ("MotionPhase", ""),
}
#: Keys of both files; three of them make a file of the stack.
_KEYS = {"num_of_dofs", "joint_mapping", "default_dof_pos", "num_observations", "observations",
         "rl_kp", "rl_kd", "fixed_kp", "fixed_kd", "joint_names", "action_scale"}  # fmt: skip


def recognises(source: PolicySource) -> bool:
    """By the one key of the robot with what all files of the stack have under it."""
    return any(_inside(config) is not None for config in source.configs)


def _inside(config: VendorFile) -> VendorEntry | None:
    """The value of the only key, if it looks like rl_sar's."""
    if not isinstance(config.data, dict) or len(config.data) != 1:
        return None
    _, entry = next(config.root.entries())
    return entry if isinstance(entry.data, dict) and len(_KEYS & set(entry.data)) > 2 else None


#: What is read; names of the simulator's controllers and of the network are not needed.
_KNOWN = ("num_of_dofs", "joint_names", "joint_mapping", "wheel_indices", "waist_joint_indices",
          "dt", "decimation", "fixed_kp", "fixed_kd", "rl_kp", "rl_kd", "default_dof_pos",
          "clip_obs", "clip_actions_lower", "clip_actions_upper", "torque_limits", "action_scale",
          "lin_vel_scale", "ang_vel_scale", "dof_pos_scale", "dof_vel_scale", "commands_scale",
          "num_observations", "observations", "observations_history",
          "observations_history_priority", "motion_file", "motion_length",
          "joint_controller_names", "model_name")  # fmt: skip


class Layers(VendorEntry):
    """Both files merged: config.yaml overrides base.yaml."""

    def __init__(self, entries: list[VendorEntry]) -> None:
        first = entries[0]
        super().__init__(first.document, first.path, first.data)
        self.layers = entries

    def __contains__(self, key: str) -> bool:
        return any(key in entry for entry in self.layers)

    def at(self, key: str) -> VendorEntry:
        """The value of a key; the first file raises where there is none."""
        return next((e for e in self.layers if key in e), self.layers[0]).at(key)


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by both files.

    Raises:
        SceneError: a file or a key is missing, or has a wrong value.
    """
    files, folder, notes = _layers(source)
    settings = Layers([e for _, e in files])
    count = settings.whole("num_of_dofs")
    sdk = settings.texts("joint_names", distinct=True)
    mapping = settings.indices("joint_mapping", count, len(sdk))
    wheels = settings.numbers("wheel_indices") if "wheel_indices" in settings else []
    kinds = ["velocity" if i in wheels else "position" for i in range(count)]
    names = tuple(sdk[i] for i in mapping)
    tick = settings.number("dt", above=0.0) * settings.whole("decimation")
    made = _Terms(settings, count, [names[int(i)] for i in wheels], tick)
    found = made.all()
    _check_size(settings, found)
    clip, network = _motion(settings, source, folder, sdk, tick) if made.tracks else ({}, {})
    stand = Start(STAND, settings.numbers("fixed_kp", count), settings.numbers("fixed_kd", count))
    return FoundPolicy(
        stack="rl_sar",
        robot=files[0][0].partition("/")[0],
        names=names,
        timestep=settings.number("dt", above=0.0),
        tick=tick,
        state="float32",
        kp=settings.numbers("rl_kp", count),
        kv=settings.numbers("rl_kd", count),
        default=settings.numbers("default_dof_pos", count),
        start=stand,
        terms=found,
        clip=settings.number("clip_obs") if "clip_obs" in settings else None,
        history=_history(settings),
        action=_action(settings, count),
        kinds=kinds,
        command={} if made.tracks else velocity_command(),
        motion=clip,
        network=network,
        trained={"torque_limit": settings.numbers("torque_limits", count)}
        if "torque_limits" in settings
        else {},
        doubts=unread((entry, _KNOWN) for entry in settings.layers),
        notes=(*notes, "the stack only logs torque_limits: they are not applied"),
        assumed=(f"the robot stands for {STAND:g} s before the policy begins", *made.assumed),
    )


def _layers(source: PolicySource) -> tuple[list[tuple[str, VendorEntry]], Path, list[str]]:
    """Name and content, the policy's file first, and where that is; its base.yaml is found."""
    notes = []
    files = {}
    for config in source.configs:
        entry = _inside(config)
        if entry is None:
            raise SceneError(f"{config.path.name}: is not a file of rl_sar")
        files[next(iter(config.data))] = (config, entry)
    names = sorted(files, key=lambda name: "/" not in name)
    if all("/" in name for name in names):
        base, entry = _base(files[names[0]][0].path.resolve(), names[0])
        source.configs = (*source.configs, base)
        robot = next(iter(base.data))
        files[robot], names = (base, entry), [*names, robot]
        notes.append(f"base.yaml was found in the folder {base.path.parent.name!r} above")
    elif not any("/" in name for name in names):
        raise SceneError(f"{files[names[0]][0].path.name}: give the policy's config.yaml too")
    if len(names) != 2 or (names[0].partition("/")[0] != names[1] and not source.overrides.robot):
        why = f"files of different robots: {' and '.join(names)}"
        if len(names) == 2:
            raise SceneError(f"{why}; " + option("robot", "NAME") + " takes them together")
        raise SceneError(why)
    folder = files[names[0]][0].path.resolve().parent
    return [(name, files[name][1]) for name in names], folder, notes


def _base(config: Path, name: str) -> tuple[VendorFile, VendorEntry]:
    """The nearest base.yaml above a policy's file."""
    found = [folder / "base.yaml" for folder in config.parents[:ABOVE]]
    path = next((p for p in found if p.is_file()), None)
    if path is None:
        raise SceneError(f"{name} needs the base.yaml of its robot: give it too")
    base = VendorFile(path)
    entry = _inside(base)
    if entry is None:
        raise SceneError(f"{path}: is not a base.yaml of rl_sar; give the right one too")
    return base, entry


class _Terms:
    """The observation terms by the names the stack has for them."""

    def __init__(self, settings: Layers, count: int, wheels: list[str], tick: float) -> None:
        self._settings, self._wheels, self._tick = settings, wheels, tick
        self._make = TermMaker(count, history=len(_places(settings)) or 1)
        self._names = settings.texts("observations")
        self.assumed: list[str] = []

    @property
    def tracks(self) -> bool:
        """Whether it needs a motion."""
        return _MOTION in self._names or _ANCHOR in self._names

    def all(self) -> list[Term]:
        """All of them, in order."""
        place = self._settings.at("observations")
        for name in self._names:
            if name not in _TERMS:
                raise place.error(f"there is no term for {name!r}; {suggestion(name, _TERMS)}")
        return [self._term(name) for name in self._names]

    def _term(self, name: str) -> Term:
        kind, key = _TERMS[name]
        if kind == "MotionPhase":
            return self._phase()
        settings, scale = self._settings, None
        if key:
            scale = settings.numbers(key, 3) if kind == "CommandTerm" else settings.number(key)
        # The stack hides the angle of wheels.
        more = {"zero": self._wheels or None} if kind == "JointPositions" else {}
        return self._make(kind, scale, **more)

    def _phase(self) -> Term:
        """How far the dance is; the stack counts a tick before it looks."""
        duration = self._settings.number("motion_length", DANCE)
        if "motion_length" not in self._settings:
            text = f"the dance takes {duration:g} s, as in the code of the stack"
            self.assumed.append(text + " (duration of MotionPhase in policy.yaml)")
        return self._make("MotionPhase", duration=duration, start=self._tick)


def _check_size(settings: Layers, found: list[Term]) -> None:
    """The file counts one frame; some count the whole history."""
    declared, frame = settings.whole("num_observations"), sum(t.size for t in found)
    if declared not in (frame, sum(t.length for t in found)):
        parts = " + ".join(f"{t.data['type']} {t.size}" for t in found)
        raise settings.at("num_observations").error(
            f"is {declared}, the terms have {frame}: {parts}"
        )


def _motion(
    settings: Layers, source: PolicySource, folder: Path, sdk: list[str], tick: float
) -> tuple[dict[str, FloatArray], dict[str, Any]]:
    """Arrays of the clip beside the policy's file, and what policy.yaml says of it."""
    name = settings.at("motion_file").data
    path = folder / str(name)
    if not path.is_file():
        raise settings.at("motion_file").error(f"{name} is not beside the file, in {folder}")
    waist = settings.indices("waist_joint_indices", 3, len(sdk))
    pitch = find_joint(sdk[waist[-1]], source.robot)
    if pitch is None:
        raise SceneError(f"{source.robot.label} has no joint {sdk[waist[-1]]!r}: it has no torso")
    torso = source.robot.body_of(pitch)
    joints = [find_joint(joint, source.robot) or joint for joint in sdk]
    motion = {"anchor": torso, "bodies": [torso], "joints": joints}
    return read_clip(path, len(sdk), waist, tick), {"motion": motion}


def _places(settings: Layers) -> list[int]:
    """How many ticks ago each frame is, in order."""
    if "observations_history" not in settings:
        return []
    entry = settings.at("observations_history")
    values = [item.as_number() for item in entry.items()]
    if any(v != int(v) or v < 0 for v in values):
        raise entry.error("must be whole numbers >= 0, where 0 is the newest")
    return [int(v) for v in values]


def _history(settings: Layers) -> dict[str, Any]:
    places = _places(settings)
    rising = list(range(len(places)))
    if places in ([], [0]):
        return {}
    priority = settings.text("observations_history_priority", "time")
    if priority not in ("time", "term"):
        raise settings.at("observations_history_priority").error(
            f"must be time or term, got {priority}"
        )
    order: dict[str, Any] = {"ticks": places}
    if places in (rising, rising[::-1]):
        order = {"order": "newest_first" if places == rising else "oldest_first"}
    return {**order, "fill": "zeros", "by": "frame" if priority == "time" else "term"}


def _action(settings: Layers, count: int) -> dict[str, Any]:
    action: dict[str, Any] = {"scale": settings.numbers("action_scale", count), "dtype": "float32"}
    if "clip_actions_lower" in settings:
        low, high = (settings.numbers(f"clip_actions_{side}", count) for side in ("lower", "upper"))
        action["clip"] = [low, high]
    return action
