"""The plant of a training in a scene: actuators, effort limits, joint dynamics, controllers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, GroupKind
from mjrig.components.importers.isaac.joint_order import JointOrder
from mjrig.components.importers.isaac.patterns import Values
from mjrig.components.importers.sources.policy_description import Doubt
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.core.errors import PropertyError
from mjrig.core.names import listed, literal

# Effort limits ------------------------------------------------------------------------------------
# Effort limits of an actuator group as clamps: tables, torque-speed lines and curves.

#: One number where all are equal, else numbers by joint.
Each = Callable[[Sequence[str], Sequence[float | None]], Any]
#: What Isaac Lab takes for an effort without a limit; a curve that fades needs a number.
UNLIMITED = 1e9


def clamps_of(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> list[dict[str, Any]]:
    """The clamps of an explicit group in order; none: only `effort_limit` limits it.

    `effort_limit_sim` is the solver's limit, and comes last.

    Raises:
        SceneError: the values of a curve contradict each other.
    """
    made = list(_own(group, each, doubts))
    last = [math.inf if v is None else v for v in group.effort_sim]
    if made and min(last) < math.inf:
        made.append({"type": "MaxEffort", "max_effort": each(group.joints, last)})
    return made


def plain_limits(group: ActuatorGroup) -> Values:
    """The smaller one of both limits per joint; of a curve, what the motor gives at most."""
    first = group.effort
    if group.kind is GroupKind.CURVE:
        y1, y2 = group.curve["y1"], group.curve["y2"]
        first = [a if b is None else max(a or 0.0, b) for a, b in zip(y1, y2, strict=True)]
    both = zip(first, group.effort_sim, strict=True)
    return [min((v for v in pair if v is not None), default=None) for pair in both]


def _own(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    if group.kind is GroupKind.REMOTIZED:
        angles, _, efforts = zip(*group.table, strict=True)
        yield {"type": "PositionTable", "positions": [*angles], "efforts": [*efforts]}
    elif group.kind is GroupKind.LSTM:  # its torque-speed line is evaluated at rest
        both = zip(group.saturation, group.effort, strict=True)
        limits = [min((v for v in pair if v is not None), default=math.inf) for pair in both]
        yield {"type": "MaxEffort", "max_effort": each(group.joints, limits)}
    elif group.kind is GroupKind.CURVE:
        yield _curve(group, each, doubts)
    elif group.kind in (GroupKind.DC, GroupKind.MLP):
        yield from _line(group, each, doubts)


def _line(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> Iterator[dict[str, Any]]:
    """The line of a DC motor; a joint without its numbers has `effort_limit` alone."""
    numbers = list(zip(group.saturation, group.speed, strict=True))
    without = [j for j, pair in zip(group.joints, numbers, strict=True) if None in pair]
    most = [math.inf if v is None else v for v in group.effort]
    if without:
        text = (
            f"the actuators {group.name!r} have no saturation_effort or no velocity_limit for "
            f"{listed(without)}: their torque-speed line is in the USD, and only effort_limit is "
            "applied"
        )
        doubts.append(Doubt("not-taken-over", text))
    if len(without) == len(group.joints):
        yield {"type": "MaxEffort", "max_effort": each(group.joints, most)}
        return
    whole = [(math.inf, math.inf) if None in pair else pair for pair in numbers]
    for joint, (stall, speed) in zip(group.joints, whole, strict=True):
        if stall == math.inf and speed != math.inf:
            raise group.entry.error(
                f"saturation_effort of {joint!r} must be finite where velocity_limit is"
            )
    yield {
        "type": "DCMotor",
        "saturation_effort": each(group.joints, [stall for stall, _ in whole]),
        "velocity_limit": each(group.joints, [speed for _, speed in whole]),
        "max_effort": each(group.joints, most),
    }


def _curve(group: ActuatorGroup, each: Each, doubts: list[Doubt]) -> dict[str, Any]:
    """The curve of a geared motor (`UnitreeActuator`), which replaces `effort_limit`."""
    rows = [_corners(group, i) for i in range(len(group.joints))]
    if any(v is not None for v in group.effort):
        text = f"effort_limit of the actuators {group.name!r}: their class limits by its curve only"
        doubts.append(Doubt("not-taken-over", text, mild=True))
    if any(group.sticking):
        text = (
            f"friction of the actuators {group.name!r}: Fs·tanh(v/Va) + Fd·v, a force of the law "
            "there, is frictionloss and damping of the joints here, which hold at rest"
        )
        doubts.append(Doubt("assumed", text, mild=True))
    values = {
        key: each(group.joints, [row[key] for row in rows]) for key in ("x1", "x2", "y1", "y2")
    }
    return {"type": "TorqueSpeedCurve", **values}


def _corners(group: ActuatorGroup, i: int) -> dict[str, float]:
    """Corners of one joint; without a speed, the limits hold at any."""
    x1, x2, y1, y2 = (group.curve[key][i] for key in ("x1", "x2", "y1", "y2"))
    joint = group.joints[i]
    # The class takes 1e9 where nothing is given: such limits and speeds are never reached.
    fades = x1 is not None and x2 is not None and max(x1, x2) < UNLIMITED
    if fades and not x2 > x1:  # type: ignore[operator]
        raise group.entry.error(f"X2 must be above X1, got {x2:g} and {x1:g} for {joint!r}")
    for key in ("x1", "x2", "y1", "y2"):
        value = group.curve[key][i]
        if value is not None and value < 0.0:
            raise group.entry.error(f"{key.upper()} must be >= 0, got {value:g} for {joint!r}")
    driving = UNLIMITED if y1 is None else min(y1, UNLIMITED)
    braking = driving if y2 is None else min(y2, UNLIMITED)
    speeds = (x1, x2) if fades else (math.inf, math.inf)
    return {"x1": speeds[0], "x2": speeds[1], "y1": driving, "y2": braking}  # type: ignore[dict-item]


# Plant --------------------------------------------------------------------------------------------

_NETS = (GroupKind.MLP, GroupKind.LSTM)


@dataclass
class ScenePlant:
    """What the scene says of the robot, as `FoundPolicy` carries it; lists are by joint name."""

    actuators: list[dict[str, Any]] = field(default_factory=list)
    dynamics: dict[str, dict[str, float]] = field(default_factory=dict)
    controllers: list[dict[str, Any]] = field(default_factory=list)
    sim: dict[str, Any] = field(default_factory=dict)
    kp: dict[str, float] = field(default_factory=dict)
    kd: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def actor(self) -> dict[str, Any]:
        """Keys of the actor."""
        parts = {"dynamics": self.dynamics, "actuators": self.actuators}
        return {key: value for key, value in parts.items() if value}


class PlantWriter:
    """Puts actuator groups on a robot.

    Args:
        robot: the model as it is.
        order: the joints of the training.
        kinds: what the policy commands of each joint it moves: position, velocity or effort.
        folder: where networks of actuators are looked for.
    """

    def __init__(
        self, robot: Robot, order: JointOrder, kinds: Mapping[str, str], folder: Path
    ) -> None:
        self._robot, self._order, self._kinds, self._folder = robot, order, kinds, folder
        self._made = ScenePlant()
        self._motors = {b.joint: b for b in robot.driven}
        self._kept: dict[str, list[str]] = {}

    def write(self, groups: Sequence[ActuatorGroup]) -> ScenePlant:
        """The plant of these groups.

        Raises:
            SceneError: a group has no gains, or its law cannot be expressed.
        """
        made = self._made
        for group in groups:
            if group.joints:
                self._joint_dynamics(group)
                self._gains(group)
                if group.kind is GroupKind.IMPLICIT:
                    self._native(group)
                else:
                    self._explicit(group)
            if group.lost:
                text = f"of the actuators {group.name!r} is not taken over: {', '.join(group.lost)}"
                made.doubts.append(Doubt("not-taken-over", text))
        fast = [d.name for d in groups if "velocity_limit_sim" in d.entry]
        if fast:
            text = f"velocity limits of the solver, which MuJoCo has not, of {listed(fast)}"
            made.doubts.append(Doubt("not-taken-over", text, mild=True))
        if self._kept:
            text = "; ".join(f"{what} of {listed(names)}" for what, names in self._kept.items())
            made.doubts.append(
                Doubt("of-the-model", f"not in the files, so the model's: {text}", mild=True)
            )
        if any(d.kind is GroupKind.IMPLICIT and d.joints for d in groups):
            made.sim["integrator"] = "implicitfast"
            made.notes.append(
                "implicit actuators are the model's own position actuators, under implicitfast"
            )
        return made

    def _here(self, joint: str) -> str:
        return self._order.model_name(joint)

    # Joints -------------------------------------------------------------------------------------

    def _joint_dynamics(self, group: ActuatorGroup) -> None:
        fields = {
            "armature": group.armature,
            "damping": group.viscous,
            "frictionloss": group.dynamic,
        }
        for name, values in fields.items():
            given = {self._here(j): v for j, v in zip(group.joints, values, strict=True)
                     if v is not None}  # fmt: skip
            if given:
                self._made.dynamics.setdefault(name, {}).update(given)
            else:
                self._keep(name, group)

    def _keep(self, what: str, group: ActuatorGroup) -> None:
        """Note what a group leaves to the model."""
        self._kept.setdefault(what, []).append(group.name)

    def _gains(self, group: ActuatorGroup) -> None:
        """Check that there are gains; a network needs none."""
        if group.kind in _NETS:
            return
        for name, values in (("stiffness", group.kp), ("damping", group.kd)):
            without = [j for j, v in zip(group.joints, values, strict=True) if v is None]
            if without:
                raise group.entry.error(
                    f"has no {name} for {listed(without)}: they are in the USD, which is not read; "
                    "write the numbers into the group"
                )
        for joint, kp, kd in zip(group.joints, group.kp, group.kd, strict=True):
            assert kp is not None and kd is not None
            if not (kp >= 0.0 and kd >= 0.0):
                raise group.entry.error(f"gains must be >= 0, got {kp:g}, {kd:g} for {joint!r}")
            if kp == kd == 0.0 and self._kinds.get(joint) == "position":
                raise group.entry.error(
                    f"stiffness and damping of {joint!r} are 0, and the policy commands positions: "
                    "no gains"
                )
            if kp > 0.0 and self._kinds.get(joint, "position") != "position":
                raise group.entry.error(
                    f"the policy commands the {self._kinds[joint]} of {joint!r}, which also has a "
                    f"stiffness of {kp:g}: such a mixture is not taken over"
                )
            self._made.kp[joint], self._made.kd[joint] = kp, kd

    def _limit(self, joint: str, given: float | None) -> float:
        """The limit of a file, else the model's."""
        if given is not None:
            return given
        here = self._here(joint)
        return self._robot.limit(here)[0] if here in self._motors else math.inf

    # Native -------------------------------------------------------------------------------------

    def _native(self, group: ActuatorGroup) -> None:
        alike: dict[tuple[Any, ...], list[str]] = {}
        for joint, kp, kd, given in zip(
            group.joints, group.kp, group.kd, group.effort, strict=True
        ):
            limit = self._limit(joint, given)
            self._made.limits[joint] = limit
            kind = self._kinds.get(joint, "position")
            alike.setdefault((kind, kp, kd, limit), []).append(self._here(joint))
        for (kind, kp, kd, limit), joints in alike.items():
            data: dict[str, Any] = {"type": _NATIVE[kind]}
            if kind == "effort":
                damping = self._made.dynamics.setdefault("damping", {})
                for joint in joints if kd else ():
                    damping[joint] = damping.get(joint, self._damping(joint)) + kd
            else:
                data |= {"kp": kp, "kv": kd} if kind == "position" else {"kv": kd}
            if math.isfinite(limit):
                data["forcerange"] = [-limit, limit]
            self._add(data, joints)
        if group.delay[1]:
            raise group.entry.error("delays of implicit actuators cannot be expressed")
        if None in group.effort:
            self._keep("effort limits", group)

    def _damping(self, joint: str) -> float:
        return self._robot.dof_value("damping", joint) if joint in self._motors else 0.0

    def _add(self, data: dict[str, Any], joints: Sequence[str]) -> None:
        """Replace the model's actuators on these joints, or add some where it has none."""
        there = [literal(self._motors[j].actuator) for j in joints if j in self._motors]
        new = [literal(j) for j in joints if j not in self._motors]
        if there:
            self._made.actuators.append({"type": data["type"], "replaces": there, **data})
        if new:
            self._made.actuators.append({"type": data["type"], "joint": "|".join(new), **data})

    # Explicit -----------------------------------------------------------------------------------

    def _explicit(self, group: ActuatorGroup) -> None:
        here = [self._here(joint) for joint in group.joints]
        limits = plain_limits(group)
        for joint, given in zip(group.joints, limits, strict=True):
            self._made.limits[joint] = self._limit(joint, given)
        if None in limits:
            self._keep("effort limits", group)
        lacking = [j for j in here if j not in self._motors or self._motors[j].kind != "motor"]
        for joint in lacking:  # they take efforts from now on; what limits them stays
            limit = self._robot.limit(joint)[0] if joint in self._motors else math.inf
            span = {"forcerange": [-limit, limit]} if math.isfinite(limit) else {}
            self._add({"type": "MotorActuator", **span}, [joint])
        if group.kind in _NETS:
            data = {"type": "NeuralController", **self._network(group)}
        else:
            data = {
                "type": "PDController",
                "kp": self._each(group.joints, group.kp),
                "kv": self._each(group.joints, group.kd),
                "order": "textbook",
            }
        data |= {"actuators": [literal(joint) for joint in here]}
        data["torque_limit"] = math.inf
        clamps = clamps_of(group, self._each, self._made.doubts)
        if clamps:
            data["clamps"] = clamps
        elif any(v is not None for v in limits):
            unlimited = [math.inf if v is None else v for v in limits]
            data["torque_limit"] = self._each(group.joints, unlimited)
        if group.delay[1]:
            least, most = group.delay
            data["delay"] = {"steps": most} if least == most else {"random": [least, most]}
        self._made.controllers.append(data)

    def _each(self, joints: Sequence[str], values: Sequence[float | None]) -> Any:
        """One number where all are equal, else numbers by joint."""
        numbers = [0.0 if v is None else v for v in values]
        if len(set(numbers)) == 1:
            return numbers[0]
        return dict(zip(map(self._here, joints), numbers, strict=True))

    def _network(self, group: ActuatorGroup) -> dict[str, Any]:
        """The ONNX file of a learned actuator, beside the configuration."""
        name = Path(group.network.replace("\\", "/")).name
        path = self._folder / f"{Path(name).stem}.onnx"
        if not path.is_file():
            raise group.entry.error(
                f"the actuators are the network {name!r}: TorchScript is not run here. Convert it "
                f"to ONNX (docs/actuation.md) and put it beside {group.entry.document.file} as "
                f"{path.name}"
            )
        data: dict[str, Any] = {"path": path.resolve().as_posix(), "network": str(group.kind)}
        scales = {_SAME.get(key, key): value for key, value in group.scales.items()}
        if not scales:
            return data
        try:
            file = OnnxFile(path).metadata
        except PropertyError as error:
            raise group.entry.error(f"the network of the actuators: {error}") from None
        told = {_SAME.get(key, key): value for key, value in file.items()}
        for key, value in scales.items():
            if key in told and told[key] != value:
                text = f"{path.name} says {key} {told[key]}, the actuators {group.name!r} {value}"
                self._made.doubts.append(Doubt("not-taken-over", f"{text}: theirs is used"))
        return data | {"metadata": scales}


#: Another name for the same entry of a network's metadata.
_SAME = {"torque_scale": "effort_scale"}
_NATIVE = {
    "position": "PositionActuator",
    "velocity": "VelocityActuator",
    "effort": "MotorActuator",
}
