"""Driven joints of a fit: their present parameters, and the parameters that can be fitted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.plant import PER_JOINT, at_joint
from mjrig.core.errors import BindingError, FitError
from mjrig.core.names import listed, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.synonyms import near_names
from mjrig.core.sim.world import World
from mjrig.lab.fit import inertial_parameters

Lags = npt.NDArray[np.int64]

#: Properties of controllers.
GAINS = ("kp", "kv", "torque_limit")
FRICTION = "frictionloss"
#: Parameters of joints: name → field of MjModel.
DYNAMICS = {
    "armature": "dof_armature",
    "damping": "dof_damping",
    FRICTION: "dof_frictionloss",
}
DELAY = "delay"
#: Delay of commands beyond `Drives.lags` [physics steps]: they act lags · ticks + this later.
#: Simulators delay by whole ticks: it is 0, save where a search passes between them. A robot's
#: fitted delay knows no ticks: its lags become 0, and this is all of it.
BEYOND_LAGS = "delay_beyond_lags"
#: How much more a joint creeps while dry friction holds it than the model says. MuJoCo's friction
#: is soft, by an amount that follows from the inertia; a robot's is not, or by another amount.
CREEP = "creep"
#: Recorded minus true position of a joint; its law sees the recorded one.
ENCODER = "encoder_offset"
#: How old the state is that a law sees [physics steps].
FEEDBACK = "feedback_delay"
#: Recorded over true effort: what a torque constant is wrong by.
TORQUE_GAIN = "torque_gain"
#: Ten numbers per link, see `inertial`; and the mass of a payload.
INERTIAL, PAYLOAD = "inertial", "payload"
#: Parameters of joints, of bodies, and all of them.
OF_JOINTS = ("kp", "kv", DELAY, *DYNAMICS, "torque_limit", ENCODER, FEEDBACK, TORQUE_GAIN)
OF_BODIES = (*inertial_parameters.PARTS, PAYLOAD)
PARAMETERS = (*OF_JOINTS, *OF_BODIES)
#: Units at joints that turn; see `Drives.unit` for those of a joint.
UNITS = {
    **{name: PER_JOINT[name] for name in ("kp", "kv", *DYNAMICS, "torque_limit")},
    DELAY: "steps",
    ENCODER: "rad",
    FEEDBACK: "steps",
    TORQUE_GAIN: "",
    **dict.fromkeys(inertial_parameters.REPORTED["mass"], "kg"),
    **dict.fromkeys(inertial_parameters.REPORTED["centre"], "m"),
    **dict.fromkeys(inertial_parameters.REPORTED["inertia"], "kg·m²"),
    PAYLOAD: "kg",
}


@dataclass(frozen=True)
class Drives:
    """The driven joints of an actor, in binding order.

    Attributes:
        actor: its name.
        joints: local joint names.
        actuators: local actuator names.
        controllers: path of the controller of each, `PDController`.
        columns: places in the setpoint arrays.
        dofs: addresses in qvel.
        qpos: addresses in qpos.
        bodies: the links behind the joints.
        links: names and ids of all bodies of the actor that have a mass.
        payload: the body that carries an unknown payload, an index of `links`; -1: none does.
        values: parameter → (n,), as in the scene; NaN for a gain its law does not have.
        lags: delay of each in ticks of its controller.
        ticks: physics steps per tick.
        slides: whether each moves along its axis; else it turns.
        remembers: whether a law has internal state, so that it can start at a reset only.
    """

    actor: str
    joints: tuple[str, ...]
    actuators: tuple[str, ...]
    controllers: tuple[str, ...]
    columns: npt.NDArray[np.intp]
    dofs: npt.NDArray[np.intp]
    qpos: npt.NDArray[np.intp]
    bodies: npt.NDArray[np.intp]
    links: Mapping[str, int]
    values: Mapping[str, FloatArray]
    lags: Lags
    ticks: Lags
    remembers: bool = False
    payload: int = -1
    own_limits: FloatArray = field(default_factory=lambda: np.zeros(0))
    slides: tuple[bool, ...] = ()

    def unit(self, parameter: str, place: int) -> str:
        """The unit of a parameter of a joint."""
        return at_joint(UNITS[parameter], slides=self.slides[place])

    def __len__(self) -> int:
        return len(self.joints)

    @pattern_budget()
    def match(self, patterns: Sequence[str]) -> list[int]:
        """Places of the joints that a pattern matches.

        Raises:
            FitError: a pattern matches nothing.
        """
        names = [(j, a) for j, a in zip(self.joints, self.actuators, strict=True)]
        slots = Slots(names, self.actor, "driven joint")
        try:
            return sorted({i for pattern in patterns for i in slots.match(pattern)})
        except BindingError as error:
            raise FitError(str(error)) from None


def drives_of(world: World, actor: str) -> Drives:
    """The joints of an actor that are driven by laws.

    Raises:
        FitError: there is no such actor, it has no law, or a delay is drawn at random.
    """
    if actor not in world.articulations:
        raise FitError(
            f"the scene has no actor {actor!r}; {suggestion(actor, world.articulations)}"
        )
    robot = world[actor]
    rows = [
        (controller, k)
        for controller in robot.controllers
        if controller.follows_pose and controller.enabled
        for k, binding in enumerate(controller.bindings)
        if binding.on_joint
    ]
    if not rows:
        raise FitError(f"{actor}: no law drives any of its joints; nothing to fit")
    bindings = [c.bindings[k] for c, k in rows]
    dofs = np.array([b.dof_address for b in bindings], dtype=np.intp)
    values = {name: np.array([_gain(c, k, name) for c, k in rows]) for name in GAINS}
    for name, where in DYNAMICS.items():
        values[name] = np.array(getattr(world.model, where))[dofs]
    links = _links(world, robot)
    values |= {name: np.zeros(len(rows)) for name in (BEYOND_LAGS, ENCODER, FEEDBACK)}
    values[CREEP] = np.ones(len(rows))
    values[INERTIAL] = np.zeros(inertial_parameters.SIZE * len(links))
    values[PAYLOAD] = np.zeros(1)
    return Drives(
        actor,
        tuple(b.joint for b in bindings),
        tuple(b.actuator for b in bindings),
        tuple(c._role for c, _ in rows),
        np.array([robot.actuator_names.index(b.actuator) for b in bindings], dtype=np.intp),
        dofs,
        np.array([b.qpos_address for b in bindings], dtype=np.intp),
        np.asarray(world.model.dof_bodyid[dofs], np.intp),
        links,
        values,
        np.array([_lag(c, k, world.timestep) for c, k in rows], dtype=np.int64),
        np.array([_ticks(c) for c, _ in rows], dtype=np.int64),
        remembers=any("ki" in c.gains() or not _has_gains(c) for c, _ in rows),
        own_limits=np.array([_own_limit(b) for b in bindings]),
        slides=tuple(b.effort_unit == "N" for b in bindings),
    )


def _links(world: World, robot: Articulation) -> dict[str, int]:
    """Local names and ids of the bodies that have a mass and can move."""
    model, prefix = world.model, robot.model_map.prefix
    names = [str(model.body(i).name) for i in range(model.nbody)]
    return {
        name.removeprefix(prefix): body
        for body, name in enumerate(names)
        if name.startswith(prefix) and model.body_mass[body] > 0.0 and model.body_weldid[body] > 0
    }


def _has_gains(controller: ArticulationController) -> bool:
    return "kp" in controller.gains()


def _own_limit(binding: Any) -> float:
    """The largest effort the model itself lets through, at the joint."""
    limits = [np.inf]
    if binding.ctrl_range is not None:
        limits.append(max(map(abs, binding.ctrl_range)) * abs(binding.factor))
    if binding.force_range is not None:
        limits.append(max(map(abs, binding.force_range)) * abs(binding.gear))
    if binding.joint_force_range is not None:
        limits.append(max(map(abs, binding.joint_force_range)))
    return float(min(limits))


def _gain(controller: ArticulationController, k: int, name: str) -> float:
    law = getattr(controller, "law", None)
    own = controller.gains()
    if name not in own or (law is not None and name != "torque_limit"):
        return float("nan")
    return float(own[name][k])


def _ticks(controller: ArticulationController) -> int:
    return int(getattr(controller, "decimation", 1))


def _lag(controller: ArticulationController, k: int, timestep: float) -> int:
    delay: Any = getattr(controller, "delay", None)
    if delay is None:
        return 0
    if delay.is_authored("random"):
        raise FitError(f"{delay.label}: a random delay cannot be fitted")
    return int(delay.lags(timestep * _ticks(controller))[k])


def without_delay(robot: Articulation) -> None:
    """Let the laws of a live robot act at once: a fit delays the commands itself."""
    for controller in robot.controllers:
        delay: Any = getattr(controller, "delay", None)
        if delay is not None:
            with delay.changes():
                for name in ("seconds", "random"):
                    if delay.is_authored(name):
                        delay.unset(name)
                delay.steps = 0


def check_parameters(names: Sequence[str], drives: Drives, chosen: Sequence[int]) -> None:
    """Refuse parameters that do not exist or that a law does not have.

    Raises:
        FitError: the message names the parameter and the valid ones.
    """
    for name in names:
        if name not in PARAMETERS:
            raise FitError(f"unknown parameter {name!r} to fit; {near_names(name, PARAMETERS)}")
        if name in GAINS:
            without = [drives.joints[i] for i in chosen if np.isnan(drives.values[name][i])]
            if without:
                raise FitError(f"{drives.actor}: the law of {listed(without)} has no {name}")
    if not names:
        raise FitError(f"name the parameters to fit, some of: {listed(PARAMETERS)}")
