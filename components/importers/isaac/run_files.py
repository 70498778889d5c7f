"""The files of a run, opened: order of joints, default pose, actuators, actions, and the plant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mjrig.components.importers.isaac.actions import ActionContext, ActionTerm, read_actions
from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, read_groups
from mjrig.components.importers.isaac.agent_file import AgentFile, agent_in
from mjrig.components.importers.isaac.descriptors import DescriptorFile, descriptors_in
from mjrig.components.importers.isaac.env_file import EnvFile
from mjrig.components.importers.isaac.joint_order import JointOrder, guessed_order, order_from_file
from mjrig.components.importers.isaac.plant import PlantWriter, ScenePlant
from mjrig.components.importers.sources.found import Term
from mjrig.components.importers.sources.metadata import Metadata
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.names import listed

_INTEGRATORS = {"euler": "Euler", "rk4": "RK4"}


@dataclass
class Run:
    """What the files of a run say, as far as it was read.

    Attributes:
        order: the joints of the training.
        default: their default positions.
        actions: action terms, in the order of the network's output.
        unmatched: patterns that match no joint of the model.
    """

    source: PolicySource
    env: EnvFile
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
    groups = read_groups(env.groups(), order.names, source.said.actuators, unmatched)
    run = Run(
        source, env, agent_in(source.configs), described, order, default, groups, [], unmatched
    )
    run.actions = actions or _actions(run)
    return run


def _order(source: PolicySource, env: EnvFile, described: DescriptorFile | None) -> JointOrder:
    """By what is known best: the user, descriptors, the network, deploy.yaml, the tree."""
    robot, said = source.robot, source.said
    if said.joints:
        source.said = replace(said, joints=())  # it is the order of the training, and used up
        return order_from_file(said.joints, robot, "--joints")
    if said.order:
        return guessed_order(robot, said.order, env.order, env.knows)
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


def _actions(run: Run) -> list[ActionTerm]:
    env = run.env
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
    root = run.env.root
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
    root = run.env.root
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
    source, env = run.source, run.env
    kinds = {joint: term.kind for term in run.actions for joint in term.joints}
    plant = PlantWriter(source.robot, run.order, kinds, env.config.path.parent).write(run.groups)
    driven = {joint for group in run.groups for joint in group.joints}
    lacking = [joint for joint in run.moved if joint not in driven]
    if lacking:
        raise env.robot.at("actuators" if "actuators" in env.robot else "init_state").error(
            f"no group of actuators drives {listed(lacking)}, which the policy moves"
        )
    plant.sim |= _sim(run)
    source.robot = Robot(source.robot.path, plant.actor, plant.sim)
    return plant


def _sim(run: Run) -> dict[str, Any]:
    """Options of the simulation that the file sets and the model has otherwise."""
    options: dict[str, Any] = {"timestep": run.env.timestep}
    for key, value in run.env.options().items():
        word = str(value).lower()
        options[key] = _INTEGRATORS.get(word, word) if isinstance(value, str) else value
    gravity = run.env.gravity
    here = np.asarray(run.source.robot.model.opt.gravity)
    if gravity is not None and not np.allclose(gravity, here, atol=1e-6):
        options["gravity"] = gravity
    return options
