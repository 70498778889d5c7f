"""Isaac Lab and mjlab: `params/env.yaml` of a run, with agent.yaml and IO descriptors beside it.

A run with IO descriptors alone is complete unless the exporter left terms out.
"""

import math
from typing import Any

from mjrig.components.importers.isaac.actions import ActionTerm, action_recipe
from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, GroupKind
from mjrig.components.importers.isaac.joint_order import JointOrder, order_from_file
from mjrig.components.importers.isaac.observations import ObservedTerm, TermContext, read_terms
from mjrig.components.importers.isaac.plant import PlantWriter, ScenePlant
from mjrig.components.importers.isaac.run import read_run
from mjrig.components.importers.isaac.training_files import DESCRIPTOR_KEYS as DESCRIBED
from mjrig.components.importers.isaac.training_files import (
    DescriptorFile,
    agent_in,
    descriptors_in,
    env_in,
)
from mjrig.components.importers.sources.policy_description import Doubt, FoundPolicy
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.core.errors import SceneError
from mjrig.core.names import listed

# Described run ------------------------------------------------------------------------------------

_BESIDE = "give params/env.yaml of the run too"


def read_described(source: PolicySource, described: DescriptorFile) -> FoundPolicy:
    """The policy and plant that descriptors alone give.

    Raises:
        SceneError: terms or gains are missing, or something is wrong.
    """
    observed, actions = described.terms(), described.actions()
    _check_complete(source, described, observed, actions)
    order = order_from_file(described.joints, source.robot, described.name)
    plant = _plant(source, described, order, actions)
    moved = [joint for term in actions for joint in term.joints]
    here = {joint: order.model_name(joint) for joint in order.names}
    context = TermContext(
        robot=source.robot,
        joints=here,
        moved=tuple(here[j] for j in moved),
        actions={term.name: tuple(here[j] for j in term.joints) for term in actions},
        commands={},
        sensor=lambda name: None,
    )
    terms = read_terms(observed, context)
    default = described.values("default_joint_pos")
    agent = agent_in(source.configs)
    return FoundPolicy(
        stack="isaac_lab",
        names=tuple(moved),
        timestep=described.timestep,
        tick=described.tick,
        kp=[plant.kp[j] for j in moved],
        kv=[plant.kd[j] for j in moved],
        default=[default[j] for j in moved],
        terms=terms,
        history={"order": "oldest_first", "fill": "first", "by": "term"},
        action=action_recipe(actions, default, agent.clip),
        kinds=[term.kind for term in actions for _ in term.joints],
        command=_command(observed),
        trained=_trained(described, moved),
        observed={here[j]: default[j] for j in order.names if j not in moved},
        actor=plant.actor,
        sim=plant.sim,
        controllers=plant.controllers,
        doubts=(
            Doubt(
                "no-limit",
                "descriptors have no effort limits: those of the model apply, if it has some",
                _BESIDE,
            ),
            *plant.doubts,
        ),
        notes=(*order.notes, *context.notes, *plant.notes),
        assumed=(
            "gains in descriptors are those of the simulator's drives: implicit actuators",
            *context.assumed,
        ),
    )


def _check_complete(
    source: PolicySource,
    described: DescriptorFile,
    observed: list[ObservedTerm],
    actions: list[ActionTerm],
) -> None:
    """Missing terms and gains, all in one message."""
    problems = []
    size = sum((term.size or 0) * term.history for term in observed)
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


def _plant(
    source: PolicySource, described: DescriptorFile, order: JointOrder, actions: list[ActionTerm]
) -> ScenePlant:
    """Every joint with gains as an implicit actuator; limits are the model's."""
    kp, kd = (described.values(f"default_joint_{k}") for k in ("stiffness", "damping"))
    joints = tuple(j for j in order.names if kp.get(j) or kd.get(j))
    armature = described.values("default_joint_armature")
    nothing: list[float | None] = [None] * len(joints)
    group = ActuatorGroup(
        name="descriptors",
        kind=GroupKind.IMPLICIT,
        entry=described.robot,
        joints=joints,
        kp=[kp.get(j, 0.0) for j in joints],
        kd=[kd.get(j, 0.0) for j in joints],
        effort=nothing,
        saturation=nothing,
        speed=nothing,
        armature=[armature.get(j) for j in joints],
        viscous=nothing,
        dynamic=nothing,
    )
    kinds = {joint: term.kind for term in actions for joint in term.joints}
    plant = PlantWriter(source.robot, order, kinds, described.config.path.parent).write([group])
    plant.sim["timestep"] = described.timestep
    source.robot = Robot(source.robot.path, plant.actor, plant.sim)
    return plant


def _command(observed: list[ObservedTerm]) -> dict[str, Any]:
    sizes = [t.size for t in observed if t.function == "generated_commands" or t.kind == "Command"]
    if not sizes:
        return {}
    names = ["vx", "vy", "wz"]
    extra = [f"value {i + 1}" for i in range(3, sizes[0] or 3)]
    return {"names": [*names, *extra][: sizes[0]]}


def _trained(described: DescriptorFile, moved: list[str]) -> dict[str, list[float]]:
    armature = described.values("default_joint_armature")
    known = bool(armature) and all(math.isfinite(v) for v in armature.values())
    return {"armature": [armature[j] for j in moved]} if known else {}


# Isaac lab ----------------------------------------------------------------------------------------

KEYS = (("sim", "scene", "decimation", "observations", "actions"), DESCRIBED)


def recognises(source: PolicySource) -> bool:
    """By the sections of env.yaml, also of a Direct task, or of IO descriptors."""
    return env_in(source.configs) is not None or source.one(*DESCRIBED) is not None


def read(source: PolicySource) -> FoundPolicy:
    """The policy and plant of the run.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    env = env_in(source.configs)
    if env is not None:
        return read_run(source, env)
    described = descriptors_in(source.configs)
    assert described is not None
    return read_described(source, described)
