"""LoweredWorld: a world with everything lowered that has a MuJoCo form, ready for export."""

from collections.abc import Collection

from mjrig.control.controller import ArticulationController
from mjrig.control.execution import Execution
from mjrig.control.plant_component import PlantComponent
from mjrig.errors import ExecutionError
from mjrig.model.build import Built
from mjrig.properties.component import ActorComponent
from mjrig.scene.placement import flattened
from mjrig.scene_edit.scene import Scene
from mjrig.sim.assembly import Assembly, assemble, choose_executions
from mjrig.sim.draft import Key
from mjrig.sim.world import World

_DISABLED = "it is disabled; its actuators are driven directly"


class LoweredWorld(World):
    """A world with everything lowered that has a MuJoCo form, and the rest in Python."""

    built: Built
    #: Label and reason of each component without a MuJoCo form.
    left_out: dict[Key, tuple[str, str]]

    def __init__(self, scene: Scene) -> None:
        self.left_out = {}
        self._disabled: dict[Key, tuple[str, str]] = {}
        super().__init__(scene)

    def remarks(self) -> list[tuple[str, str]]:
        """Label and reason of everything the file does not have, in scene order."""
        return [about for _, about in sorted((self.left_out | self._disabled).items())]

    def _assemble(self, scene: Scene, seed: int | None, execution: str) -> Assembly:
        made = assemble(scene, seed, execution, self._log, self._choose)
        if made.built.spec is None:
            raise ExecutionError("the model of the scene is an .mjb: it is already exported")
        self.built = made.built
        return made

    def _choose(self, alive: Assembly, requested: str, not_here: str) -> dict[Key, Execution]:
        chosen = choose_executions(alive, requested, not_here)
        for i, robot in enumerate(alive.robots):
            for j, component in enumerate(robot.components):
                planned = chosen.get((i, j))
                reason = _why_not(component, not_here, planned)
                if isinstance(component, ArticulationController) and not component.enabled:
                    reason = _DISABLED if planned is not None and component.is_bound else ""
                    if reason:
                        self._disabled[i, j] = (component.label, reason)
                elif reason:
                    self.left_out[i, j] = (component.label, reason)
                if isinstance(component, ArticulationController) and planned is not None:
                    native = component.is_bound and not reason
                    chosen[i, j] = Execution("native" if native else "python", reason)
        return chosen


def _why_not(component: ActorComponent, not_here: str, chosen: Execution | None) -> str:
    """Why a component has no MuJoCo form; empty if it has one, or none is needed."""
    if isinstance(component, PlantComponent):
        return component.supports()["native"].reason
    if type(component).before_controls is not ActorComponent.before_controls:
        return "it moves setpoints in Python, before every step"
    if not isinstance(component, ArticulationController) or not component.is_bound:
        return ""
    if chosen is not None and chosen.name == "native":
        return ""
    native = component.supports()["native"]
    if not native.available:
        return native.reason
    return not_here if chosen is not None else ""


def present_scene(world: World, without: Collection[Key] = ()) -> Scene:
    """The scene of a world with its present components and values, without some."""
    scene = flattened(Scene, world.placements, world.scene.effective_sim())
    for i, (actor, robot) in enumerate(
        zip(scene.actors, world.articulations.values(), strict=True)
    ):
        kept = [c.copy() for j, c in enumerate(robot.components) if (i, j) not in without]
        actor.components = tuple(kept)
    return scene


def clamp_target_inputs(world: World) -> None:
    """Make the joint ranges that hold position targets into ranges of the position inputs."""
    for controller in lowered_controllers(world):
        assert controller.lowered is not None
        if not getattr(controller, "clamp_targets", False):
            continue
        for binding, inputs in zip(controller.bindings, controller.lowered.inputs, strict=True):
            if binding.joint_range is not None:
                ends = [binding.factor * end for end in binding.joint_range]
                world.model.actuator_ctrllimited[inputs[0]] = True
                world.model.actuator_ctrlrange[inputs[0]] = sorted(ends)


def lowered_controllers(world: World) -> list[ArticulationController]:
    robots = world.articulations.values()
    return [c for robot in robots for c in robot.controllers if c.lowered is not None]
