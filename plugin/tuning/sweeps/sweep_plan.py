"""Plan of a sweep: every path and value is tried first, so that mistakes show at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mjrig.control.policy import running_policies
from mjrig.errors import BindingError, ExecutionError, PropertyError, SceneError
from mjrig.gains.choice import way_to_motors
from mjrig.names import listed
from mjrig.properties.has_properties import HasProperties
from mjrig.properties.per_actuator import PerActuator
from mjrig.scene.scene_path import find
from mjrig.scene_edit.scene import Scene
from mjrig.sim.batch import Batch
from mjrig.sim.world import World
from mjrig.tuning.objectives.objective_hosts import WorldHost, driven
from mjrig.tuning.objectives.objective_replay import ReplayTest
from mjrig.tuning.objectives.objective_signal import SignalTest
from mjrig.tuning.objectives.variation import Randomisation
from mjrig.tuning.sweeps.bundle import LocalScene
from mjrig.tuning.sweeps.engine import Engine
from mjrig.tuning.sweeps.space import Choices, Parameter, ParameterTarget
from mjrig.tuning.sweeps.sweep_tasks import Rig, Scenario, SweepSetup, assign, draws
from mjrig.warp.device import packages
from mjrig.warp.warp_batch import WarpBatch


@dataclass(frozen=True)
class SweepPlan:
    """The plan of a sweep.

    Attributes:
        job: what all tasks share.
        why_not_batched: why tasks run one by one; empty: many at once in a batch.
        own_worlds: whether every seed needs its own world.
    """

    job: SweepSetup
    why_not_batched: str
    own_worlds: bool


def examine(
    scene: Scene,
    parameters: Sequence[Parameter],
    scenario: Scenario,
    *,
    actor: str = "",
    randomisation: Randomisation | None = None,
    execution: str = "auto",
    engine: Engine = Engine.MUJOCO,
) -> SweepPlan:
    """Try every parameter with the ends of its values, and find out how tasks can run.

    The scene is left as it is.

    Raises:
        MjrigError: a path leads nowhere, a value is refused, or the test does not suit the scene.
    """
    randomisation = randomisation or Randomisation()
    if isinstance(scenario, ReplayTest) and randomisation.needs_run:
        raise PropertyError(
            f"{listed(randomisation.needs_run)}: do not apply to a replay: the recording has them"
        )
    own = LocalScene.of(scene).load()
    if engine is Engine.WARP:
        execution = _native_for_warp(execution)
    try:
        world = _world(own, execution, engine)
    except SceneError:
        World(scene, execution)  # the same error, at its place in the scene's own file
        raise
    actor = actor or _actor(world, [p.name for p in parameters])
    job = SweepSetup(actor, scenario, randomisation, execution, engine=engine)
    rig = Rig(world, job)
    live = frozenset(p.name for p in parameters if _is_live(world, p.name))
    for parameter in _plain_first(parameters):
        if parameter.name in live:
            for value in _ends(parameter):
                assign(world, parameter.name, value)
        else:
            _try_in_scene(own, parameter)
    if len(live) < len(parameters):  # the first point, in a world of its own
        rig = Rig(_world(own, execution, engine), job)
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
    return SweepPlan(replace(job, live=live), why_not_batched, draws(own))


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
        return World(scene, execution)
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


def _plain_first(parameters: Sequence[Parameter]) -> list[Parameter]:
    """A whole property before single actuators of it, which it would overwrite."""
    return sorted(parameters, key=lambda p: bool(ParameterTarget.of(p.name).pattern))


def _ends(parameter: Parameter) -> list[object]:
    if isinstance(parameter, Choices):
        return list(reversed(parameter.values))
    whole = parameter.whole
    return [int(v) if whole else v for v in (parameter.high, parameter.low)]


def _try_in_scene(scene: Scene, parameter: Parameter) -> None:
    """Set every value, the first one last."""
    target = ParameterTarget.of(parameter.name)
    if target.pattern:
        raise PropertyError(
            f"{parameter.name}: {target.path!r} is not one value per actuator that a running "
            "world can change; leave out the brackets"
        )
    for value in _ends(parameter):
        scene.set(parameter.name, value)


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
