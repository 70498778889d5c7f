"""Plan of an experiment: every path and value is tried first, so that mistakes show at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mjrig.core.control.policy import running_policies
from mjrig.core.errors import BindingError, ExecutionError, PropertyError
from mjrig.core.names import listed
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import find
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.warp_batch import WarpBatch
from mjrig.core.sim.warp_device import packages
from mjrig.core.sim.world import World
from mjrig.lab.rollouts.actuator_selection import way_to_motors
from mjrig.lab.rollouts.experiment import Engine, Experiment, ParameterTarget, Scenario
from mjrig.lab.rollouts.hosts import WorldHost, driven
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scenarios import SignalTest
from mjrig.lab.rollouts.worker import Rig, assign, build_world, draws


@dataclass(frozen=True)
class ExperimentPlan:
    """How the runs of an experiment can be done.

    Attributes:
        experiment: with its actor, and with the parameters that can be set in a running world.
        why_not_batched: why runs are done one by one; empty: many at once in a batch.
        own_worlds: whether every seed needs its own world.
        is_one_batch: whether all runs go into one batch, rather than several for each worker.
    """

    experiment: Experiment
    why_not_batched: str = ""
    own_worlds: bool = False
    is_one_batch: bool = False


def examine(
    experiment: Experiment, values: Mapping[str, Sequence[object]] | None = None
) -> ExperimentPlan:
    """Try property values, and find out how the variations can be run.

    Args:
        experiment: what is run.
        values: values to try by property path, the first one last; None: all of the variations.

    Raises:
        MjrigError: a path leads nowhere, a value is refused, or the scenario does not suit the
            scene.
    """
    scenario, randomisation = experiment.scenario, experiment.randomisation
    if scenario.files and randomisation.needs_run:
        raise PropertyError(
            f"{listed(randomisation.needs_run)}: do not apply to a replay: the recording has them"
        )
    engine = experiment.engine
    if engine is Engine.WARP:
        experiment = replace(experiment, execution=_native_for_warp(experiment.execution))
    values = _values(experiment) if values is None else values
    scene = experiment.scene.load()
    world = _world(scene, experiment.execution, engine)
    actor = experiment.actor or _actor(world, list(values))
    experiment = replace(experiment, actor=actor)
    rig = Rig(world, experiment)
    live = frozenset(name for name in values if _is_live(world, name))
    # A whole property before single actuators of it, which it would overwrite.
    for name in sorted(values, key=lambda name: bool(ParameterTarget.of(name).pattern)):
        _try(world, scene, name, values[name], is_live=name in live)
    if len(live) < len(values):  # the first point, in a world of its own
        rig = Rig(_world(scene, experiment.execution, engine), experiment)
    host = WorldHost(rig.world, actor)
    has_policy = bool(running_policies(host.robot.components))
    _check_randomisation(host, scenario, randomisation, has_policy)
    is_free = has_policy or rig.world[actor].setpoints.position.flags.writeable
    if randomisation.noise and not is_free:
        raise PropertyError(
            f"noise: the setpoints of {actor} belong to {rig.world[actor].source.name}, which "
            "writes them in every step; leave out noise, or that component"
        )
    why_not_batched = _why_not_batched(rig, scenario, randomisation)
    if engine is Engine.WARP:
        if why_not_batched:
            raise ExecutionError(_refusal(why_not_batched))
        _try_on_warp(rig)
    return ExperimentPlan(replace(experiment, live=live), why_not_batched, draws(scene))


def _values(experiment: Experiment) -> dict[str, list[object]]:
    """The values of all variations by property path, the first one last."""
    values: dict[str, list[object]] = {}
    for variation in reversed(experiment.variations):
        for name, value in variation.values:
            values.setdefault(name, []).append(value)
    return values


def _try(world: World, scene: Scene, name: str, values: Sequence[object], *, is_live: bool) -> None:
    """Set values, in the running world or in the scene.

    Raises:
        MjrigError: a value is refused.
    """
    target = ParameterTarget.of(name)
    if target.pattern and not is_live:
        raise PropertyError(
            f"{name}: {target.path!r} is not one value per actuator that a running world can "
            "change; leave out the brackets"
        )
    for value in values:
        if is_live:
            assign(world, name, value)
        else:
            scene.set(name, value)


def _native_for_warp(execution: str) -> str:
    """The execution of controllers on MuJoCo Warp.

    Raises:
        MissingExtraError: it is not installed.
        ExecutionError: another one was asked for.
    """
    packages()
    if execution not in ("auto", "native"):
        raise ExecutionError(_refusal(f"controllers run as MuJoCo actuators, not {execution}"))
    return "native"


def _world(scene: Scene, execution: str, engine: Engine) -> World:
    try:
        return build_world(scene, execution)
    except ExecutionError as error:
        if engine is Engine.MUJOCO:
            raise
        raise ExecutionError(_refusal(str(error))) from error


def _try_on_warp(rig: Rig) -> None:
    """Take one step on MuJoCo Warp, which compiles its kernels if they are not in its cache.

    Raises:
        ExecutionError: it cannot run the scene.
    """
    try:
        WarpBatch(rig.world, 1).step()
    except ExecutionError as error:
        raise ExecutionError(_refusal(str(error))) from error


def _refusal(why: str) -> str:
    return f"the engine warp cannot run this: {why} (without it, MuJoCo runs the scene)"


def _check_randomisation(
    host: WorldHost, scenario: Scenario, randomisation: Randomisation, has_policy: bool
) -> None:
    """Refuse what nothing in the test could feel.

    Raises:
        PropertyError: a kick without a free base or in a test without one, latency without policy.
    """
    if randomisation.disturbs and (host.base is None or isinstance(scenario, SignalTest)):
        raise PropertyError(
            "kick and push move a free base: "
            + ("the robot has none" if host.base is None else "a signal test suspends it")
        )
    if randomisation.disturbs_policy and not has_policy:
        raise PropertyError(
            f"bias and latency are of a policy; {host.robot.name} has none: set the delay of its "
            "controllers instead, as in PDController.delay.seconds"
        )


def _is_live(world: World, name: str) -> bool:
    """Whether a parameter can be set in a running world."""
    target = ParameterTarget.of(name)
    head = target.path.partition(".")[0]
    if head not in world.articulations:
        return False
    robot = world.articulations[head]
    if len(target.path.split(".")) < 3:
        return False  # of the actor itself, such as its pose
    component = target.path.split(".")[1]
    try:
        if robot.part(component) not in robot.components:
            return False
        obj, prop_name = find(world, target.path)
        prop = obj.property_named(prop_name)
    except PropertyError:
        return False
    if target.pattern and not isinstance(prop, PerActuator):
        return False
    return not (prop.structural or prop_name == "enabled" or _is_inside_structure(obj, robot))


def _is_inside_structure(obj: HasProperties, robot: HasProperties) -> bool:
    """Whether an object stands in a structural property: a delay, a clamp."""
    while obj._parent is not None and obj._parent is not robot:
        if obj._parent.property_named(obj._inside).structural:
            return True
        obj = obj._parent
    return False


def _actor(world: World, names: Sequence[str]) -> str:
    """The actor under test: the one the parameters belong to, else the only one with a law."""
    heads = dict.fromkeys(n.partition(".")[0] for n in names)
    named = [n for n in heads if n in world.articulations and driven(world[n])]
    able = [n for n, robot in world.articulations.items() if driven(robot)]
    for found in (named, able):
        if len(found) == 1:
            return found[0]
    if not able:
        why = "no actor of the scene has a bound controller; nothing to test"
        raise BindingError(f"{why}{way_to_motors(world.articulations.values())}")
    raise BindingError(f"choose the actor under test with actor: {listed(able)}")


def _why_not_batched(rig: Rig, scenario: Scenario, randomisation: Randomisation) -> str:
    if not scenario.batchable:
        return "a replay runs in a world of its own"
    if randomisation.push is not None:
        return "a push is proportional to the mass of its own world"
    try:
        Batch(rig.world, 1, threads=1)
    except ExecutionError as error:
        return str(error)
    return ""
