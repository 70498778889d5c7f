"""A run of Isaac Lab or mjlab: its files, compared and put together as policy and plant."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mjrig.components.importers.isaac.actions import (
    ActionContext,
    ActionTerm,
    action_recipe,
    class_of,
    read_actions,
)
from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, read_groups
from mjrig.components.importers.isaac.joint_order import (
    JointOrder,
    TreeOrder,
    guessed_order,
    order_from_file,
)
from mjrig.components.importers.isaac.observations import TermContext, read_terms
from mjrig.components.importers.isaac.plant import PlantWriter, ScenePlant
from mjrig.components.importers.isaac.training_files import (
    AgentFile,
    DescriptorFile,
    EnvFile,
    agent_in,
    descriptors_in,
    env_in,
)
from mjrig.components.importers.sources.policy_description import (
    Doubt,
    FoundPolicy,
    Term,
)
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import Metadata, PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, unread
from mjrig.core.errors import SceneError, option
from mjrig.core.names import listed

# Run files ----------------------------------------------------------------------------------------

_BESIDE = "give params/env.yaml of the run too"
_INTEGRATORS = {"euler": "Euler", "rk4": "RK4"}


@dataclass
class Run:
    """The files of a run, as far as they were read.

    Attributes:
        file: env.yaml, or IO descriptors where they are alone.
        described: IO descriptors, if there are some.
        order: the joints of the training.
        default: their default positions.
        actions: action terms, in the order of the network's output.
        unmatched: patterns that match no joint of the model.
    """

    source: PolicySource
    file: EnvFile | DescriptorFile
    agent: AgentFile
    described: DescriptorFile | None
    order: JointOrder
    default: dict[str, float]
    groups: list[ActuatorGroup]
    actions: list[ActionTerm]
    unmatched: list[str]
    notes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    @property
    def moved(self) -> list[str]:
        """The joints of the network's output, as the files call them."""
        return [joint for term in self.actions for joint in term.joints]

    def here(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Joints as the model calls them."""
        return tuple(self.order.model_name(joint) for joint in joints)


def described_run(source: PolicySource, described: DescriptorFile) -> Run:
    """A run of which only IO descriptors are there: complete unless the exporter left terms out.

    Raises:
        SceneError: terms or gains are missing, or a value is wrong.
    """
    actions = described.actions()
    _check_complete(source, described, actions)
    run = Run(
        source,
        described,
        agent_in(source.configs),
        described,
        order_from_file(described.joints, source.robot, described.name),
        described.values("default_joint_pos"),
        [described.group()],
        actions,
        [],
    )
    run.assumed.append(
        "gains in descriptors are those of the simulator's drives: implicit actuators"
    )
    return run


def _check_complete(
    source: PolicySource, described: DescriptorFile, actions: Sequence[ActionTerm]
) -> None:
    """Missing terms and gains, all in one message."""
    problems = []
    size = sum((term.size or 0) * term.history for term in described.observed(()))
    network = source.network
    takes = network.width(network.observation) if network is not None else None
    if takes is not None and takes != size:
        problems.append(
            f"it describes {size} of the {takes} inputs of {network.path.name if network else ''}: "
            "Isaac Lab leaves out height scans, IMUs, images and functions of one's own"
        )
    gains = [described.values(f"default_joint_{k}") for k in ("stiffness", "damping")]
    moved = [j for term in actions if term.kind == "position" for j in term.joints]
    zero = [j for j in moved if not any(values.get(j) for values in gains)]
    if zero:
        problems.append(
            f"stiffness and damping are 0 for {listed(zero)}: the actuators are explicit (DCMotor, "
            "IdealPD or a network), and their gains are not in descriptors"
        )
    if problems:
        raise SceneError(f"{described.name}: {'; and '.join(problems)}. {_BESIDE.capitalize()}")


def opened_run(
    source: PolicySource,
    env: EnvFile,
    order: JointOrder | None = None,
    actions: list[ActionTerm] | None = None,
) -> Run:
    """The parts of a run, read; with another order or other actions than its files have.

    Raises:
        SceneError: something is missing, wrong or cannot be expressed.
    """
    described = descriptors_in(source.configs)
    order = order or _order(source, env, described)
    unmatched: list[str] = []
    default = env.default(order.names, unmatched)
    groups = read_groups(env.groups(), order.names, source.overrides.actuators, unmatched)
    run = Run(
        source, env, agent_in(source.configs), described, order, default, groups, [], unmatched
    )
    run.actions = actions or _actions(run, env)
    return run


def _order(source: PolicySource, env: EnvFile, described: DescriptorFile | None) -> JointOrder:
    """By what is known best: the user, descriptors, the network, deploy.yaml, the tree."""
    robot, overrides = source.robot, source.overrides
    if overrides.joints:
        # It is the order of the training here, not that of the network.
        source.overrides = replace(overrides, joints=())
        return order_from_file(overrides.joints, robot, "--joints")
    if overrides.order:
        return guessed_order(robot, overrides.order, env.order, env.knows)
    if described is not None:
        return order_from_file(described.joints, robot, described.name)
    network = source.network
    if network is not None and "joint_names" in network.metadata:
        names = Metadata(network.path.name, network.metadata).names("joint_names")
        return order_from_file(names, robot, network.path.name)
    deploy = source.one("joint_ids_map", "step_dt")
    if deploy is not None:
        count = len(deploy.root.numbers("joint_ids_map"))
        places = deploy.root.indices("joint_ids_map", count, len(robot.motors))
        return order_from_file([robot.motors[i] for i in places], robot, deploy.path.name)
    return guessed_order(robot, "", env.order, env.knows)


def _actions(run: Run, env: EnvFile) -> list[ActionTerm]:
    if env.is_direct:
        return [_direct_action(run)]
    context = ActionContext(
        run.order.names,
        env.robot_name,
        run.default,
        partial(_soft_range, run.source.robot, run.order, env.soft_limit),
        env.decimation == 1,
        run.unmatched,
    )
    return read_actions(env.actions(), context)


def _soft_range(
    robot: Robot, order: JointOrder, factor: float, joint: str
) -> tuple[float, float] | None:
    """The range of a joint, narrowed around its middle as the training does."""
    span = robot.joint_range(order.model_name(joint))
    if span is None:
        return None
    middle, half = (span[0] + span[1]) / 2.0, (span[1] - span[0]) / 2.0 * factor
    return middle - half, middle + half


DIRECT = (
    "it is a task of the Direct workflow: its observation is in the code of the environment, and "
    "in no file"
)


def _direct_action(run: Run) -> ActionTerm:
    root = run.file.root
    driven = {joint for group in run.groups for joint in group.joints}
    joints = tuple(joint for joint in run.order.names if joint in driven)
    count = root.whole("action_space") if "action_space" in root else len(joints)
    if count != len(joints):
        raise root.at("action_space").error(
            f"is {count}, and the actuators drive {len(joints)} joints"
        )
    scale = root.number("action_scale", 1.0)
    run.assumed.append(
        f"the action is a position target, {scale:g} · action + default pose, for all joints: the "
        "code of a Direct task may do otherwise"
    )
    size = len(joints)
    offset = tuple(run.default[joint] for joint in joints)
    return ActionTerm(
        "action", "position", joints, (scale,) * size, offset, (-math.inf,) * size,
        (math.inf,) * size,
    )  # fmt: skip


def gap_of(run: Run) -> Term:
    """The whole observation as a gap, with what the file says of it."""
    root = run.file.root
    size = root.whole("observation_space") if "observation_space" in root else 0
    words = ("observation", "history", "clock", "filter", "imu", "command")
    hints = {
        key: value
        for key, value in root.mapping().items()
        if any(word in key for word in words) and isinstance(value, bool | int | float | str)
    }
    about = ", ".join(f"{key}: {value}" for key, value in hints.items())
    data = {"type": "Gap", "size": size, "about": f"Direct workflow; {about}" if about else DIRECT}
    return Term(data, size)


# Plant ------------------------------------------------------------------------------------------


def plant_of(run: Run) -> ScenePlant:
    """The plant on the robot; the robot of the source has it from now on.

    Raises:
        SceneError: a group of actuators cannot be expressed, or none drives a joint.
    """
    source, robot = run.source, run.file.robot
    kinds = {joint: term.kind for term in run.actions for joint in term.joints}
    folder = run.file.config.path.parent
    plant = PlantWriter(source.robot, run.order, kinds, folder).write(run.groups)
    driven = {joint for group in run.groups for joint in group.joints}
    lacking = [joint for joint in run.moved if joint not in driven]
    if lacking:
        entry = next((robot.at(k) for k in ("actuators", "init_state") if k in robot), robot)
        raise entry.error(f"no group of actuators drives {listed(lacking)}, which the policy moves")
    plant.sim |= _sim(run)
    source.robot = Robot(source.robot.path, plant.actor, plant.sim)
    return plant


def _sim(run: Run) -> dict[str, Any]:
    """Options of the simulation that the file sets and the model has otherwise."""
    options: dict[str, Any] = {"timestep": run.file.timestep}
    for key, value in run.file.options().items():
        word = str(value).lower()
        options[key] = _INTEGRATORS.get(word, word) if isinstance(value, str) else value
    gravity = run.file.gravity
    here = np.asarray(run.source.robot.model.opt.gravity)
    if gravity is not None and not np.allclose(gravity, here, atol=1e-6):
        options["gravity"] = gravity
    return options


# Merging ------------------------------------------------------------------------------------------
# Agreement of env.yaml with IO descriptors of the same run.

#: Descriptors are float32: a relative difference up to this is rounding.
ROUNDING = 1e-5


def check_agreement(
    env: EnvFile,
    described: DescriptorFile,
    order: JointOrder,
    default: Mapping[str, float],
    actions: Sequence[ActionTerm],
    groups: Sequence[str],
) -> None:
    """Compare what both files state.

    Raises:
        SceneError: they contradict each other; both are named.
    """
    problems = [
        *_timing(env, described),
        *_poses(described, default),
        *_check_actions(described, actions),
        *_terms(env, described, groups),
    ]
    if problems:
        files = f"{env.name} and {described.name}"
        raise SceneError(f"{files} contradict each other: {'; '.join(problems)}. Of one run?")


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > ROUNDING * max(1e-3, abs(one), abs(other))


def _timing(env: EnvFile, described: DescriptorFile) -> Iterator[str]:
    if _differ(env.timestep, described.timestep):
        yield f"timestep {env.timestep:g} s and {described.timestep:g} s"
    if _differ(env.tick, described.tick):
        yield f"time from tick to tick {env.tick:g} s and {described.tick:g} s"


def _poses(described: DescriptorFile, default: Mapping[str, float]) -> Iterator[str]:
    for joint, value in described.values("default_joint_pos").items():
        if joint in default and _differ(default[joint], value):
            yield f"default position of {joint} {default[joint]:g} and {value:g}"


def _check_actions(described: DescriptorFile, actions: Sequence[ActionTerm]) -> Iterator[str]:
    theirs = described.actions()
    ours = [joint for term in actions for joint in term.joints]
    other = [joint for term in theirs for joint in term.joints]
    if ours != other:
        yield f"joints of the action {', '.join(ours)} and {', '.join(other)}"
        return
    for name in ("scale", "offset"):
        one = [v for term in actions for v in getattr(term, name)]
        two = [v for term in theirs for v in getattr(term, name)]
        for joint, a, b in zip(ours, one, two, strict=True):
            if _differ(a, b):
                yield f"action {name} of {joint} {a:g} and {b:g}"
                break


def _terms(env: EnvFile, described: DescriptorFile, groups: Sequence[str]) -> Iterator[str]:
    """Histories of the terms that both have, in order; descriptors leave some out."""
    rest = iter(env.observed(groups))
    for theirs in described.observed(()):
        ours = next((term for term in rest if term.function == theirs.function), None)
        if ours is None:
            yield f"the term {theirs.function} is only in {described.name}, or in another order"
            return
        if ours.history != theirs.history:
            yield f"history of {ours.name} {ours.history} and {theirs.history}"


# Known fields -------------------------------------------------------------------------------------
# Fields of actions and observation terms in env.yaml that are read, or matter to a training.

_ACTION = ("class_type", "asset_name", "entity_name", "debug_vis", "clip", "joint_names",
           "actuator_names", "transmission_type", "scale", "offset", "preserve_order",
           "use_default_offset")  # fmt: skip
_OF_CLASS = {
    "JointPositionToLimitsAction": ("rescale_to_limits",),
    "RelativeJointPositionAction": ("use_zero_offset",),
}
#: Noise is of the training; the rest of a delay matters only where there is a lag.
_TERM = ("func", "params", "modifiers", "noise", "clip", "scale", "history_length",
         "flatten_history_dim", "delay_min_lag", "delay_max_lag", "delay_per_env",
         "delay_hold_prob", "delay_update_period", "delay_per_env_phase")  # fmt: skip


def known_fields(
    env: EnvFile, groups: Sequence[str]
) -> Iterator[tuple[VendorEntry, Collection[str]]]:
    """Every action and observation term, with the fields of it that are known."""
    for _, entry in env.actions():
        if entry.data is not None:
            yield entry, (*_ACTION, *_OF_CLASS.get(class_of(entry), ()))
    for term in env.observed(groups):
        yield term.entry, _TERM


# Remarks ------------------------------------------------------------------------------------------
# What a user should know of an imported run: guesses, gaps, and what the network lacks.


def remarks(run: Run, plant: ScenePlant) -> Iterator[Doubt]:
    """Findings about a run."""
    if isinstance(run.file, EnvFile):
        yield from _about_training(run, run.file)
    else:
        text = "descriptors have no effort limits: those of the model apply, if it has some"
        yield Doubt("no-limit", text, _BESIDE)
    yield from plant.doubts


def _about_training(run: Run, env: EnvFile) -> Iterator[Doubt]:
    yield from _about_network(run)
    if run.order.other:
        yield Doubt(
            "order-guessed",
            f"two joint orders are possible: taken is {listed(run.here(run.order.names))}; with "
            f"siblings by name, as in a USD made from a URDF, it is {listed(run.order.other)}",
            option("order", TreeOrder.SORTED)
            + " selects the other one; IO descriptors would state it",
        )
    if run.unmatched:
        text = f"patterns that match no joint of the model: {listed(dict.fromkeys(run.unmatched))}"
        yield Doubt("unmatched", text, "does the model lack joints of the training?")
    left = [*env.left_out(), *(f"initial velocities ({text})" for text in env.moving())]
    if left:
        yield Doubt("not-imported", f"not imported: {'; '.join(left)}", mild=True)
    if not env.is_direct:
        yield from unread(known_fields(env, run.agent.groups))


def assumptions(run: Run, plant: ScenePlant) -> Iterator[str]:
    """What no file states."""
    yield from run.order.assumed
    yield from run.assumed
    if run.file is run.described:
        return
    still = [j for j in run.order.names if j not in run.moved]
    held = [j for j in still if any(j in group.joints for group in run.groups)]
    if held:
        yield f"joints that no action moves hold the default pose: {listed(held)}"
    if run.file.stack == "mjlab" and not plant.controllers:
        yield (
            "the classes of the actuators are not in the file: position actuators of MuJoCo, as "
            "mjlab's robots have them"
        )


def _about_network(run: Run) -> Iterator[Doubt]:
    network, agent = run.source.network, run.agent
    if network is None or network.onnx is None:
        return
    name = network.path.name
    if agent.normalised and not network.graph.normalises(network.observation):
        yield Doubt(
            "normaliser-missing",
            f"{agent.file} says that observations are normalised, and {name} does not do it: the "
            "robot will fall at once",
            "export the network with its normaliser, as play.py does",
        )
    if agent.recurrent and not network.recurrent():
        yield Doubt(
            "memory-missing",
            f"{agent.file} says that the network has a memory, {name} has none",
            "is it the network of this run?",
        )


# Run ----------------------------------------------------------------------------------------------


def read_run(source: PolicySource) -> FoundPolicy:
    """The policy and plant of a run with an env.yaml, or with IO descriptors alone.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    env, described = env_in(source.configs), descriptors_in(source.configs)
    if env is not None:
        run = opened_run(source, env)
    elif described is not None:
        run = described_run(source, described)
    else:
        raise SceneError(f"{listed(source.files)}: is no run of Isaac Lab or mjlab")
    plant = plant_of(run)
    if run.file.is_direct:
        return _found(run, plant, [gap_of(run)], {}, gap=DIRECT)
    if env is not None and run.described is not None:
        check_agreement(env, run.described, run.order, run.default, run.actions, run.agent.groups)
    context = _context(run)
    terms = read_terms(run.file.observed(run.agent.groups), context)
    run.notes += context.notes
    run.assumed += context.assumed
    return _found(run, plant, terms, run.file.command(context.command, run.notes))


# The policy -------------------------------------------------------------------------------------


def _context(run: Run) -> TermContext:
    network, file = run.source.network, run.file
    return TermContext(
        inputs=[] if network is None else [n for n in network.inputs if n != network.observation],
        robot=run.source.robot,
        joints=dict(zip(run.order.names, run.order.here, strict=True)),
        moved=run.here(run.moved),
        actions={term.name: run.here(term.joints) for term in run.actions},
        commands=file.commands(),
        sensor=file.sensor,
        xyzw=file.xyzw,
        at_com=file.stack == "isaac_lab",
        robot_name=file.robot_name,
    )


def _found(
    run: Run, plant: ScenePlant, terms: list[Term], command: dict[str, Any], gap: str = ""
) -> FoundPolicy:
    moved, file = run.moved, run.file
    if any(t.measured for t in run.actions) and not all(t.measured for t in run.actions):
        raise file.root.at("actions").error(
            "relative and absolute positions together are not taken over"
        )
    has_gains = all(joint in plant.kp for joint in moved)
    kp = [plant.kp[j] for j in moved] if has_gains else None
    kv = [plant.kd[j] for j in moved] if has_gains else None
    efforts = [plant.limits.get(j, math.inf) for j in moved]
    # Where descriptors are alone, the limits are the model's own.
    stated = file is not run.described and all(map(math.isfinite, efforts))
    limits = efforts if stated else None
    return FoundPolicy(
        stack=file.stack,
        names=tuple(moved),
        timestep=file.timestep,
        tick=file.tick,
        kp=kp,
        kv=kv,
        default=[run.default[j] for j in moved],
        terms=terms,
        history={"order": "oldest_first", "fill": "first", "by": "term"},
        action=action_recipe(run.actions, run.default, run.agent.clip),
        kinds=[term.kind for term in run.actions for _ in term.joints],
        command=command,
        base=file.base(),
        trained=_trained(run, plant, limits),
        limits=limits,
        observed={
            run.order.model_name(j): run.default[j] for j in run.order.names if j not in moved
        },
        actor=plant.actor,
        sim=plant.sim,
        controllers=plant.controllers,
        gap=gap,
        doubts=tuple(remarks(run, plant)),
        notes=(*run.order.notes, *run.notes, *plant.notes),
        assumed=tuple(assumptions(run, plant)),
    )


def _trained(run: Run, plant: ScenePlant, limits: list[float] | None) -> dict[str, list[float]]:
    """Robot parameters in training, where they are known for all joints."""
    here, found = run.here(run.moved), {}
    for name, values in plant.dynamics.items() if run.file is not run.described else ():
        if all(joint in values for joint in here):
            found[name] = [values[joint] for joint in here]
    if run.described is not None and "armature" not in found:
        told = run.described.values("default_joint_armature")
        found |= {"armature": [told[joint] for joint in run.moved]} if told else {}
    if limits is not None:
        found["torque_limit"] = limits
    return found
