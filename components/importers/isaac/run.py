"""A run of Isaac Lab or mjlab: its files put together to a policy and a plant."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mjrig.components.importers.isaac.actions import ActionContext, ActionTerm, read_actions
from mjrig.components.importers.isaac.agent_file import AgentFile, agent_in
from mjrig.components.importers.isaac.descriptors import DescriptorFile, descriptors_in
from mjrig.components.importers.isaac.drives import Drive, read_drives
from mjrig.components.importers.isaac.env_file import EnvFile
from mjrig.components.importers.isaac.joint_order import (
    JointOrder,
    TreeOrder,
    guessed_order,
    order_from_file,
)
from mjrig.components.importers.isaac.merging import check_agreement
from mjrig.components.importers.isaac.observations import TermContext, read_terms
from mjrig.components.importers.isaac.plant import PlantWriter, ScenePlant
from mjrig.components.importers.sources.found import Doubt, FoundPolicy, Term, ValueOrder
from mjrig.components.importers.sources.metadata import Metadata
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.names import listed

_INTEGRATORS = {"euler": "Euler", "rk4": "RK4"}
_HEADING = (
    "in training the yaw rate followed a heading: 0.5 · (heading error), inside of its range"
)


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
    drives: list[Drive]
    actions: list[ActionTerm]
    unmatched: list[str]
    notes: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def moved(self) -> list[str]:
        """The joints of the network's output, as the files call them."""
        return [joint for term in self.actions for joint in term.joints]

    def here(self, joints: Sequence[str]) -> tuple[str, ...]:
        """Joints as the model calls them."""
        return tuple(self.order.model_name(joint) for joint in joints)


def read_run(source: PolicySource, env: EnvFile) -> FoundPolicy:
    """The policy and plant of a run with an env.yaml.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    run = _opened(source, env)
    plant = _plant(run)
    if env.is_direct:
        return _found(run, plant, [_gap(run)], {}, gap=_DIRECT)
    if run.described is not None:
        check_agreement(env, run.described, run.order, run.default, run.actions, run.agent.groups)
    context = _context(run)
    terms = read_terms(env.observed(run.agent.groups), context)
    run.notes += context.notes
    run.assumed += context.assumed
    return _found(run, plant, terms, _command(run, context.command))


def _opened(source: PolicySource, env: EnvFile) -> Run:
    described = descriptors_in(source.configs)
    order = _order(source, env, described)
    unmatched: list[str] = []
    default = env.default(order.names, unmatched)
    drives = read_drives(env.groups(), order.names, source.said.actuators, unmatched)
    run = Run(
        source, env, agent_in(source.configs), described, order, default, drives, [], unmatched
    )
    run.actions = _actions(run)
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


# Direct tasks -----------------------------------------------------------------------------------

_DIRECT = (
    "it is a task of the Direct workflow: its observation is in the code of the environment, and "
    "in no file"
)


def _direct_action(run: Run) -> ActionTerm:
    root = run.env.root
    driven = {joint for drive in run.drives for joint in drive.joints}
    joints = tuple(joint for joint in run.order.names if joint in driven)
    count = root.whole("action_space") if "action_space" in root else len(joints)
    if count != len(joints):
        raise root.at("action_space").error(f"is {count}, and the actuators drive {len(joints)} joints")
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


def _gap(run: Run) -> Term:
    root = run.env.root
    size = root.whole("observation_space") if "observation_space" in root else 0
    words = ("observation", "history", "clock", "filter", "imu", "command")
    hints = {
        key: value
        for key, value in root.mapping().items()
        if any(word in key for word in words) and isinstance(value, bool | int | float | str)
    }
    about = ", ".join(f"{key}: {value}" for key, value in hints.items())
    data = {"type": "Gap", "size": size, "about": f"Direct workflow; {about}" if about else _DIRECT}
    return Term(data, size)


# Plant ------------------------------------------------------------------------------------------


def _plant(run: Run) -> ScenePlant:
    """The plant on the robot; the robot of the source has it from now on."""
    source, env = run.source, run.env
    kinds = {joint: term.kind for term in run.actions for joint in term.joints}
    plant = PlantWriter(source.robot, run.order, kinds, env.config.path.parent).write(run.drives)
    driven = {joint for drive in run.drives for joint in drive.joints}
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


# The policy -------------------------------------------------------------------------------------


def _context(run: Run) -> TermContext:
    return TermContext(
        robot=run.source.robot,
        joints=dict(zip(run.order.names, run.order.here, strict=True)),
        moved=run.here(run.moved),
        actions={term.name: run.here(term.joints) for term in run.actions},
        commands=run.env.commands(),
        sensor=run.env.sensor,
        xyzw=run.env.xyzw,
        at_com=run.env.stack == "isaac_lab",
        robot_name=run.env.robot_name,
    )


def _command(run: Run, name: str) -> dict[str, Any]:
    if not name:
        return {}
    command: dict[str, Any] = {"names": run.env.commands()[name]}
    ranges = run.env.ranges(name)
    if ranges:
        command["ranges"] = ranges
    if run.env.heading(name):
        run.notes.append(_HEADING)
    return command


def action_recipe(
    actions: Sequence[ActionTerm], default: Mapping[str, float], clip: float | None
) -> dict[str, Any]:
    """`action` of policy.yaml."""
    scale = [s for term in actions for s in term.scale]
    offset = [o for term in actions for o in term.offset]
    moved = [j for term in actions for j in term.joints]
    kinds = [term.kind for term in actions for _ in term.joints]
    data: dict[str, Any] = {"scale": scale, "dtype": "float32"}
    usual = [default[j] if k == "position" else 0.0 for j, k in zip(moved, kinds, strict=True)]
    if actions[0].measured:
        data["mode"] = "measured"
    elif offset != usual:
        data["offset"] = offset
    if any(term.clipped for term in actions):
        low, high = ([v for t in actions for v in getattr(t, side)] for side in ("low", "high"))
        data["clip_target"] = [low, high]
    if clip is not None:
        data |= {"clip": [-clip, clip], "last": "clipped"}
    return data


def _found(
    run: Run, plant: ScenePlant, terms: list[Term], command: dict[str, Any], gap: str = ""
) -> FoundPolicy:
    moved, env = run.moved, run.env
    if any(t.measured for t in run.actions) and not all(t.measured for t in run.actions):
        raise env.root.at("actions").error("relative and absolute positions together are not taken over")
    _tell(run, plant)
    has_gains = all(joint in plant.kp for joint in moved)
    kp = [plant.kp[j] for j in moved] if has_gains else None
    kv = [plant.kd[j] for j in moved] if has_gains else None
    limits = [plant.limits.get(j, math.inf) for j in moved]
    return FoundPolicy(
        stack=env.stack,
        count=len(moved),
        order=ValueOrder.NAMES,
        names=tuple(moved),
        timestep=env.timestep,
        tick=env.timestep * env.decimation,
        kp=kp,
        kv=kv,
        default=[run.default[j] for j in moved],
        terms=terms,
        history={"order": "oldest_first", "fill": "first", "by": "term"},
        action=action_recipe(run.actions, run.default, run.agent.clip),
        kinds=[term.kind for term in run.actions for _ in term.joints],
        command=command,
        base=env.base(),
        trained=_trained(run, plant, limits),
        limits=limits if all(map(math.isfinite, limits)) else None,
        observed={
            run.order.model_name(j): run.default[j] for j in run.order.names if j not in moved
        },
        actor=plant.actor,
        sim=plant.sim,
        controllers=plant.controllers,
        gap=gap,
        doubts=(*run.doubts, *plant.doubts),
        notes=(*run.order.notes, *run.notes, *plant.notes),
        assumed=(*run.order.assumed, *run.assumed),
    )


def _trained(run: Run, plant: ScenePlant, limits: list[float]) -> dict[str, list[float]]:
    """Robot parameters in training, where they are known for all joints."""
    here, found = run.here(run.moved), {}
    for name, values in plant.dynamics.items():
        if all(joint in values for joint in here):
            found[name] = [values[joint] for joint in here]
    if run.described is not None and "armature" not in found:
        told = run.described.values("default_joint_armature")
        found |= {"armature": [told[joint] for joint in run.moved]} if told else {}
    if all(map(math.isfinite, limits)):
        found["torque_limit"] = limits
    return found


def _tell(run: Run, plant: ScenePlant) -> None:
    """What the user should know."""
    env = run.env
    if run.order.other:
        run.doubts.append(
            Doubt(
                "order-guessed",
                f"two joint orders are possible: taken is {listed(run.here(run.order.names))}; with "
                f"siblings by name, as in a USD made from a URDF, it is {listed(run.order.other)}",
                f"--order {TreeOrder.SORTED} takes the other; IO descriptors would tell",
            )
        )
    if run.unmatched:
        text = f"patterns that match no joint of the model: {listed(dict.fromkeys(run.unmatched))}"
        run.doubts.append(Doubt("unmatched", text, "does the model lack joints of the training?"))
    left = [*env.left_out(), *(f"initial velocities ({text})" for text in env.moving())]
    if left:
        run.doubts.append(Doubt("not-imported", f"not imported: {'; '.join(left)}", mild=True))
    still = [j for j in run.order.names if j not in run.moved]
    held = [j for j in still if any(j in drive.joints for drive in run.drives)]
    if held:
        run.assumed.append(f"joints that no action moves hold the default pose: {listed(held)}")
    if env.stack == "mjlab" and not plant.controllers:
        run.assumed.append(
            "the classes of the actuators are not in the file: position actuators of MuJoCo, as "
            "mjlab's robots have them"
        )
