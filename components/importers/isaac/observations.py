"""Observation terms of Isaac Lab and mjlab, with sensors and height scanners, for policy.yaml."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from mjrig.components.importers.isaac.patterns import bounds, chosen, flat_numbers, python_name
from mjrig.components.importers.sources import policy_description as description
from mjrig.components.importers.sources.policy_description import Term
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.core.names import how_many, listed, nearest

# Sensors ------------------------------------------------------------------------------------------

#: Largest difference of positions [m] and quaternions that are the same.
SAME = 1e-4
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class SensorPlace:
    """A sensor in the frame of the base, or of a site of the base."""

    site: str = ""

    @property
    def site_key(self) -> dict[str, Any]:
        """The term's key."""
        return {"site": self.site} if self.site else {}


def body_of(entry: VendorEntry) -> str:
    """The body of a sensor: the last part of `/World/envs/env_.*/Robot/base`."""
    return entry.text("prim_path").rstrip("/").rpartition("/")[2]


def pose_of(entry: VendorEntry, xyzw: bool) -> tuple[list[float], list[float]]:
    """Offset of a sensor from its body: position and quaternion wxyz."""
    offset = entry.get("offset")
    return ([0.0] * 3, list(UPRIGHT)) if offset is None else placement(offset, xyzw)


def placement(entry: VendorEntry, xyzw: bool) -> tuple[list[float], list[float]]:
    """Position `pos` and quaternion `rot` (wxyz) of an entry, whose quaternions may be xyzw."""
    position = entry.numbers("pos", 3, "component", default=[0.0] * 3)
    turn = entry.numbers("rot", 4, "component", default=UPRIGHT)
    return position, [turn[3], *turn[:3]] if xyzw and "rot" in entry else turn


def imu_place(entry: VendorEntry, robot: Robot, xyzw: bool) -> SensorPlace:
    """An IMU as the base itself, or as the site of the base that is where it is.

    Raises:
        ValueError: it is on another body, or the model has no such site.
    """
    body = body_of(entry)
    if body != robot.base:
        raise ValueError(f"its sensor is on {body!r}, not on the base {robot.base!r}")
    position, turn = pose_of(entry, xyzw)
    if np.allclose(turn, UPRIGHT, atol=SAME) and np.allclose(position, 0.0, atol=SAME):
        return SensorPlace()
    for name in robot.base_sites():
        there, turned = robot.site_pose(name)
        same = np.allclose(there, position, atol=SAME) and _turned_alike(turned, turn)
        if same:
            return SensorPlace(name)
    where = ", ".join(f"{v:g}" for v in (*position, *turn))
    raise ValueError(
        f"the model has no site on {body!r} where its sensor is (position and quaternion {where}); "
        "add one"
    )


def _turned_alike(one: Any, other: Any) -> bool:
    difference = np.zeros(3)
    mujoco.mju_subQuat(difference, np.asarray(one, float), np.asarray(other, float))
    return bool(np.linalg.norm(difference) < SAME)


# Scanners -----------------------------------------------------------------------------------------

_DOWN = (0.0, 0.0, -1.0)
#: What Isaac Lab observes where a ray hits nothing: −∞, which the term's clip bounds.
NOTHING = -1.0e6


def height_scan(
    entry: VendorEntry, offset: float, robot: Robot, xyzw: bool
) -> tuple[str, int, dict[str, Any]]:
    """Type, size and keys of the term of a scanner.

    Raises:
        ValueError: its pattern, direction or alignment cannot be expressed.
    """
    isaac = "pattern_cfg" in entry
    pattern = entry.at("pattern_cfg") if isaac else entry.at("pattern")
    body = body_of(entry) if isaac else entry.at("frame").text("name")
    if body not in robot.bodies:
        close = nearest(body, robot.bodies)
        raise ValueError(f"the model has no body {body!r} (nearest: {close or 'none'})")
    if "size" not in pattern or "resolution" not in pattern:
        raise ValueError(f"its rays are no grid: {listed(pattern.mapping())}")
    if tuple(pattern.numbers("direction", 3, "component", default=_DOWN)) != _DOWN:
        raise ValueError("its rays do not go straight down")
    if alignment(entry) != "yaw":
        raise ValueError(f"its rays are aligned to {alignment(entry)!r}; known is yaw")
    extent = pattern.numbers("size", 2, "side")
    step = pattern.number("resolution", above=0.0)
    data: dict[str, Any] = {"extent": extent, "resolution": step, "offset": offset}
    if body != robot.base:
        data["body"] = body
    order = pattern.text("ordering", "xy")
    if order not in ("xy", "yx"):
        raise ValueError(f"its order of rays is {order!r}; known are xy and yx")
    data |= {"grid": order} if order != "xy" else {}
    if isaac:
        position, turn = pose_of(entry, xyzw)
        if any(position[:2]) or not np.allclose(turn, UPRIGHT):
            raise ValueError("its grid is moved or turned against the body")
        data["above"] = max(0.0, position[2])
        data["miss"] = NOTHING
    data["reach"] = entry.number("max_distance", 1.0e6, above=0.0)
    sizes = [_count(side, step) for side in extent]
    if isaac and sizes != [len(np.arange(-s / 2.0, s / 2.0 + 1.0e-9, step)) for s in extent]:
        raise ValueError(f"its sides {extent} are no multiples of its resolution {step:g}")
    return "HeightScan", sizes[0] * sizes[1], data


def alignment(entry: VendorEntry) -> str:
    """`ray_alignment`, or its older form `attach_yaw_only`."""
    follows_yaw = entry.flag("attach_yaw_only")
    if follows_yaw is not None:
        return "yaw" if follows_yaw else "base"
    return entry.text("ray_alignment", "base")


def _count(size: float, step: float) -> int:
    """Points of an axis, as HeightScan places them."""
    return len(np.arange(-size / 2.0, size / 2.0 + step / 2.0, step))


# Observations -------------------------------------------------------------------------------------

#: Modules whose functions are known; of others the name is taken, and said.
_HOMES = ("isaaclab.", "omni.isaac.lab.", "omni.isaac.orbit.", "mjlab.", "isaaclab_tasks.",
          "unitree_rl_lab.", "omni.isaac.lab_tasks.")  # fmt: skip
_NO_TERM = "for which policy.yaml has no term"


class NoTermError(Exception):
    """A function that cannot be expressed; the text says why."""


@dataclass(frozen=True)
class ObservedTerm:
    """One term of a file, before its function is looked up.

    Attributes:
        module, function: what computes it.
        params: its arguments; None: not in the file (descriptors).
        history: samples, this one included.
        size: values of one sample, where the file says so.
        joints: names, where the file says so.
        group: the observation group it is in.
    """

    name: str
    entry: VendorEntry
    module: str
    function: str
    params: VendorEntry | None
    clip: VendorEntry | None
    scale: VendorEntry | None
    history: int = 1
    size: int | None = None
    joints: tuple[str, ...] = ()
    kind: str = ""
    group: str = ""


@dataclass
class TermContext:
    """What terms refer to.

    Attributes:
        robot: the model, with the actuators of the scene.
        joints: of the training in its order → as the model calls them.
        moved: the joints of all action terms in the order of the network's output, model names.
        actions: the same by name of the action term.
        commands: names of the values of each command.
        sensor: the entry of a sensor by name; None: there is none.
        xyzw: whether quaternions of the file are x, y, z, w.
        at_com: whether the velocity of the base is that of its centre of mass.
        inputs: observation groups that are an input of the network each, by its name.
        notes, assumed: get what is taken over in a way to be told.
    """

    robot: Robot
    joints: Mapping[str, str]
    moved: tuple[str, ...]
    actions: Mapping[str, tuple[str, ...]]
    commands: Mapping[str, Sequence[str]]
    sensor: Callable[[str], VendorEntry | None]
    xyzw: bool = False
    at_com: bool = True
    robot_name: str = "robot"
    command: str = ""
    inputs: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    def selection(self, term: ObservedTerm) -> dict[str, Any]:
        """`joints` of a joint term: left out where they are those that the policy moves."""
        names = list(self.joints)
        asset = _config(term, "asset_cfg")
        if term.joints:
            names = list(term.joints)
        elif asset is not None and "joint_names" in asset:
            keep = asset.flag("preserve_order") is True
            names = chosen(asset.at("joint_names"), names, keep_order=keep)
        unknown = [name for name in names if name not in self.joints]
        if unknown:
            raise NoTermError(f"it is of {listed(unknown)}, which the robot has not")
        here = [self.joints[name] for name in names]
        return {} if tuple(here) == self.moved else {"joints": here}


def read_terms(found: Sequence[ObservedTerm], context: TermContext) -> list[Term]:
    """The terms of policy.yaml, in order.

    Raises:
        SceneError: some cannot be expressed; all of them are named.
    """
    made: list[Term] = []
    refused: list[str] = []
    for term in found:
        try:
            one = _made(term, context)
            if term.group in context.inputs:
                one = replace(one, data={**one.data, "input": term.group})
            made.append(one)
        except NoTermError as error:
            refused.append(f"{term.name!r} ({_source(term)}{_params(term)}): {error}")
    if refused:
        known = sum(term.length for term in made)
        raise found[0].entry.error(
            f"{how_many(len(refused), 'observation term')} cannot be taken over: "
            f"{'; '.join(refused)}. The others have {how_many(known, 'value')}"
        )
    return made


def _source(term: ObservedTerm) -> str:
    return f"{term.module}:{term.function}" if term.module else term.function


def _params(term: ObservedTerm) -> str:
    if term.params is None or not isinstance(term.params.data, dict):
        return ""
    simple = {k: v for k, v in term.params.data.items() if not isinstance(v, dict | list)}
    return "".join(f", {key}: {value}" for key, value in simple.items())


def _config(term: ObservedTerm, key: str) -> VendorEntry | None:
    """A configuration among the arguments of a term: `asset_cfg`, `sensor_cfg`."""
    return None if term.params is None else term.params.section(key)


def _text(term: ObservedTerm, key: str) -> str:
    """A text among the arguments of a term."""
    return "" if term.params is None else term.params.text(key)


def _sensor(term: ObservedTerm, context: "TermContext", name: str) -> VendorEntry:
    entry = context.sensor(name)
    if entry is None:
        raise NoTermError(f"its sensor {name!r} is not in the file")
    return entry


def _made(term: ObservedTerm, context: TermContext) -> Term:
    make = _FUNCTIONS.get(term.function)
    if make is None and term.kind == "Command":
        make = _command
        context.assumed.append(f"the term {term.name!r} ({_source(term)}) is the command")
    if make is None:
        close = nearest(term.function, _FUNCTIONS)
        hint = f" (nearest: {close})" if close else ""
        raise NoTermError("unknown function" + hint)
    asset = _config(term, "asset_cfg")
    name = asset.text("name") if asset is not None else ""
    if name and name != context.robot_name and not term.function.startswith("imu_"):
        raise NoTermError(f"it is of {name!r}, not of the robot")
    kind, size, more = make(term, context)
    if term.module and not term.module.startswith(_HOMES):
        text = f"the term {term.name!r}: {_source(term)} is taken for Isaac Lab's {term.function}"
        context.assumed.append(text)
    if term.size is not None and term.size != size:
        raise NoTermError(f"it has {term.size} values in the file, {size} here")
    more |= {"history": term.history}
    if term.clip is not None:
        more |= {"clip": bounds(term.clip)}
        more |= {"order": "clip_then_scale"} if term.scale is not None else {}
    scale = flat_numbers(term.scale, size) if term.scale is not None else None
    return description.term(kind, size, scale, **more)


Made = tuple[str, int, dict[str, Any]]
Make = Callable[[ObservedTerm, TermContext], Made]


def _plain(kind: str, size: int, **more: Any) -> Make:
    return lambda term, context: (kind, size, dict(more))


def _joints(kind: str, **more: Any) -> Make:
    def make(term: ObservedTerm, context: TermContext) -> Made:
        own = context.selection(term)
        return kind, len(own.get("joints", context.moved)), {**more, **own}

    return make


def _linear_velocity(term: ObservedTerm, context: TermContext) -> Made:
    return "BaseLinearVelocity", 3, {"point": "com"} if context.at_com else {}


def _orientation(term: ObservedTerm, context: TermContext) -> Made:
    unique = term.params.mapping().get("make_quat_unique") if term.params is not None else False
    if unique:
        raise NoTermError("make_quat_unique is not taken over")
    return "BaseOrientation", 4, {"convention": "xyzw"} if context.xyzw else {}


def _last_action(term: ObservedTerm, context: TermContext) -> Made:
    name = _text(term, "action_name")
    if not name:
        return "LastAction", len(context.moved), {}
    if name not in context.actions:
        raise NoTermError(f"there is no action {name!r}; there are {listed(context.actions)}")
    own = context.actions[name]
    return "LastAction", len(own), {} if own == context.moved else {"joints": list(own)}


def _command(term: ObservedTerm, context: TermContext) -> Made:
    """The command; a policy has one."""
    name = _text(term, "command_name") or next(iter(context.commands), "")
    if name not in context.commands and term.size is not None:
        return "CommandTerm", term.size, {}
    if name not in context.commands:
        raise NoTermError(f"there is no command {name!r}; there are {listed(context.commands)}")
    values = context.commands[name]
    if not values:
        raise NoTermError(f"the command {name!r} is of a class that is not known")
    if context.command not in ("", name):
        raise NoTermError(f"the policy also takes the command {context.command!r}; here it has one")
    context.command = name
    return "CommandTerm", term.size or len(values), {}


def _gait(term: ObservedTerm, context: TermContext) -> Made:
    if term.params is None or "period" not in term.params:
        raise NoTermError("its period is not in the file")
    return "GaitPhase", 2, {"period": term.params.number("period", above=0.0), "form": "sin_cos"}


def _scan(term: ObservedTerm, context: TermContext) -> Made:
    sensor = _config(term, "sensor_cfg")
    name = sensor.text("name") if sensor is not None else ""
    entry = _sensor(term, context, name or _text(term, "sensor_name"))
    offset = term.params.number("offset", 0.5 if context.at_com else 0.0) if term.params else 0.5
    try:
        return height_scan(entry, offset, context.robot, context.xyzw)
    except ValueError as error:
        raise NoTermError(str(error)) from None


def _imu(make: Callable[[SensorPlace, TermContext], Made]) -> Make:
    def made(term: ObservedTerm, context: TermContext) -> Made:
        asset = _config(term, "asset_cfg")
        name = asset.text("name", "imu") if asset is not None else "imu"
        entry = _sensor(term, context, name)
        try:
            place = imu_place(entry, context.robot, context.xyzw)
        except ValueError as error:
            raise NoTermError(str(error)) from None
        return make(place, context)

    return made


def _imu_orientation(place: SensorPlace, context: TermContext) -> Made:
    if place.site:
        raise NoTermError("the orientation of a sensor that is turned against the base")
    return "BaseOrientation", 4, {"convention": "xyzw"} if context.xyzw else {}


def _builtin(term: ObservedTerm, context: TermContext) -> Made:
    """mjlab: a sensor of the model by name, `robot/imu_ang_vel`."""
    local = _text(term, "sensor_name").rpartition("/")[2]
    site = context.robot.site_of_sensor(local)
    kinds = {"imu_lin_vel": "BaseLinearVelocity", "imu_ang_vel": "BaseAngularVelocity"}
    on_base = context.robot.base_sites()
    if local in kinds:
        site = next((s for s in (site, "imu", "imu_in_pelvis") if s and s in on_base), "")
        if not site and local == "imu_lin_vel":
            text = (
                "the velocity is that of the base's origin: the model has no IMU site on its base"
            )
            context.assumed.append(text)
        return kinds[local], 3, {"site": site} if site else {}
    if local not in context.robot.sensors:
        raise NoTermError(f"the model has no sensor {local!r}")
    return "SensorTerm", context.robot.sensor_size(local), {"sensor": local}


def _refuse(why: str) -> Make:
    def make(term: ObservedTerm, context: TermContext) -> Made:
        raise NoTermError(why)

    return make


_FUNCTIONS: dict[str, Make] = {
    "base_lin_vel": _linear_velocity,
    "base_ang_vel": _plain("BaseAngularVelocity", 3),
    "projected_gravity": _plain("ProjectedGravity", 3),
    "root_quat_w": _orientation,
    "generated_commands": _command,
    "joint_pos_rel": _joints("JointPositions"),
    "joint_pos": _joints("JointPositions", relative=False),
    "joint_vel_rel": _joints("JointVelocities"),
    "joint_vel": _joints("JointVelocities"),
    "last_action": _last_action,
    "height_scan": _scan,
    "gait_phase": _gait,
    "builtin_sensor": _builtin,
    "imu_ang_vel": _imu(lambda place, _: ("BaseAngularVelocity", 3, place.site_key)),
    "imu_projected_gravity": _imu(lambda place, _: ("ProjectedGravity", 3, place.site_key)),
    "imu_orientation": _imu(_imu_orientation),
    "imu_lin_acc": _refuse(f"an accelerometer, {_NO_TERM}"),
    "joint_pos_limit_normalized": _refuse(f"positions by their limits, {_NO_TERM}"),
    "joint_effort": _refuse(f"measured efforts, {_NO_TERM}"),
    "image": _refuse(f"a camera, {_NO_TERM}"),
    "body_incoming_wrench": _refuse(f"forces in joints, {_NO_TERM}"),
    "body_pose_w": _refuse(f"a pose in the world, {_NO_TERM}"),
    "base_pos_z": _refuse(f"the height of the base, {_NO_TERM}"),
    "root_pos_w": _refuse(f"a position in the world, {_NO_TERM}"),
    "lambda": _refuse("a lambda: what it computes is in its code"),
}


def observed_term(
    name: str, entry: VendorEntry, group_history: int | None, flat: bool | None
) -> ObservedTerm:
    """A term of env.yaml; the group's history, where it has one, overrides the term's.

    Raises:
        SceneError: it has what cannot be expressed, or a wrong value.
    """
    module, function = python_name(entry.text("func"))
    if not function:
        raise entry.error("has no func: nothing says what it measures")
    if "modifiers" in entry and entry.at("modifiers").data:
        kinds = [python_name(item.text("func"))[1] for item in entry.at("modifiers").items()]
        raise entry.at("modifiers").error(f"modifiers are not taken over: {listed(kinds)}")
    own = int(entry.number("history_length", 0.0))
    length = own if group_history is None else group_history
    flatten = entry.mapping().get("flatten_history_dim") if flat is None else flat
    if length > 1 and flatten is False:
        raise entry.error(
            "keeps its history as a dimension of its own (flatten_history_dim: false)"
        )
    lag = entry.number("delay_max_lag", 0.0)
    if lag > 0.0:
        raise entry.at("delay_max_lag").error(
            f"a delay of measurements of {lag:g} ticks is not taken over"
        )
    return ObservedTerm(
        name,
        entry,
        module,
        function,
        entry.get("params"),
        entry.get("clip"),
        entry.get("scale"),
        max(1, length),
    )


def described_term(entry: VendorEntry) -> ObservedTerm:
    """A term of IO descriptors; histories are resolved already.

    Raises:
        SceneError: a value is wrong.
    """
    module, function = python_name(entry.text("full_path"))
    more = entry.get("overloads") or entry
    extras = entry.section("extras")
    if extras is not None and "modifiers" in extras and extras.at("modifiers").data:
        raise extras.at("modifiers").error("modifiers are not taken over")
    history = int(more.number("history_length", 0.0))
    if history > 1 and more.mapping().get("flatten_history_dim") is False:
        raise entry.error("keeps its history as a dimension of its own")
    size = 1
    for item in entry.at("shape").items():
        size *= max(1, int(item.as_number()))
    return ObservedTerm(
        entry.text("name", function),
        entry,
        module,
        function or entry.text("name"),
        None,
        more.get("clip"),
        more.get("scale"),
        max(1, history),
        size,
        tuple(entry.texts("joint_names")) if "joint_names" in entry else (),
        entry.text("observation_type"),
    )
