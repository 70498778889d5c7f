"""A run of Isaac Lab or mjlab: its files put together to a policy and a plant."""

import math
from typing import Any

from mjrig.components.importers.isaac.actions import action_recipe
from mjrig.components.importers.isaac.env_file import EnvFile
from mjrig.components.importers.isaac.merging import check_agreement
from mjrig.components.importers.isaac.observations import TermContext, read_terms
from mjrig.components.importers.isaac.plant import ScenePlant
from mjrig.components.importers.isaac.remarks import assumptions, remarks
from mjrig.components.importers.isaac.run_files import DIRECT, Run, gap_of, opened_run, plant_of
from mjrig.components.importers.sources.found import FoundPolicy, Term, ValueOrder
from mjrig.components.importers.sources.source import PolicySource

_HEADING = "in training the yaw rate followed a heading: 0.5 · (heading error), inside of its range"


def read_run(source: PolicySource, env: EnvFile) -> FoundPolicy:
    """The policy and plant of a run with an env.yaml.

    Raises:
        SceneError: something is missing, wrong, contradicts itself or cannot be expressed.
    """
    run = opened_run(source, env)
    plant = plant_of(run)
    if env.is_direct:
        return _found(run, plant, [gap_of(run)], {}, gap=DIRECT)
    if run.described is not None:
        check_agreement(env, run.described, run.order, run.default, run.actions, run.agent.groups)
    context = _context(run)
    terms = read_terms(env.observed(run.agent.groups), context)
    run.notes += context.notes
    run.assumed += context.assumed
    return _found(run, plant, terms, _command(run, context.command))


# The policy -------------------------------------------------------------------------------------


def _context(run: Run) -> TermContext:
    network = run.source.network
    return TermContext(
        inputs=[] if network is None else [n for n in network.inputs if n != network.observation],
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


def _found(
    run: Run, plant: ScenePlant, terms: list[Term], command: dict[str, Any], gap: str = ""
) -> FoundPolicy:
    moved, env = run.moved, run.env
    if any(t.measured for t in run.actions) and not all(t.measured for t in run.actions):
        raise env.root.at("actions").error(
            "relative and absolute positions together are not taken over"
        )
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
        doubts=tuple(remarks(run, plant)),
        notes=(*run.order.notes, *run.notes, *plant.notes),
        assumed=tuple(assumptions(run, plant)),
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
