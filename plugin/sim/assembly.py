"""Assembly: a scene compiled, its controllers bound, each with its execution mode."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mujoco

from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.events import EventLog
from mjrig.control.execution import Execution, is_implicit, why_not_lowered_here
from mjrig.control.execution import choose as choose_one
from mjrig.errors import BindingError, LeaseError
from mjrig.model.binary_model import WHY_NOT_NATIVE
from mjrig.model.build import Built, build
from mjrig.scene.actuator import Actuator
from mjrig.scene.placement import Placements
from mjrig.scene_edit.scene import Scene
from mjrig.sim.native_compile import lower

#: A controller: the index of its actor, and its own among the actor's components.
Key = tuple[int, int]


@dataclass(frozen=True)
class Assembly:
    """A model with its data and its actors, in scene order."""

    built: Built
    data: Any
    robots: tuple[Articulation, ...]

    @property
    def model(self) -> Any:
        """The MjModel."""
        return self.built.model

    @property
    def placements(self) -> Placements:
        """The placed actors of the scene, in the order of `robots`."""
        return self.built.placements

    def controller(self, key: Key) -> ArticulationController:
        """One controller."""
        component = self.robots[key[0]].components[key[1]]
        assert isinstance(component, ArticulationController)
        return component


#: (assembly bound in python, request, why nothing may be lowered or "") → execution modes.
Choose = Callable[[Assembly, str, str], dict[Key, Execution]]


def choose_executions(alive: Assembly, requested: str, not_here: str) -> dict[Key, Execution]:
    """The execution mode of every controller that supports several."""
    implicit = is_implicit(alive.model)
    return {
        (i, j): choose_one(requested, c.label, c.supports(), not_here, implicit)
        for i, robot in enumerate(alive.robots)
        for j, c in enumerate(robot.components)
        if isinstance(c, ArticulationController) and c.follows_pose
    }


def assemble(
    scene: Scene,
    seed: int | None,
    requested: str,
    log: EventLog,
    choose: Choose = choose_executions,
) -> Assembly:
    """Compile a scene and bind its components.

    Args:
        scene: the description.
        seed: random seed of its draws; None: the scene's own.
        requested: `auto`, `python`, `native` or `compiled`.
        log: receives the events of the actors.
        choose: selects the execution modes of the controllers.

    Raises:
        SceneError, PropertyError, BindingError: the scene cannot be built or bound.
        ExecutionError: a controller cannot run as requested.
    """
    built = build(scene, seed)
    alive = _come_alive(built, {}, log)
    not_here = WHY_NOT_NATIVE
    if built.spec is not None:
        not_here = why_not_lowered_here(built.model, scene.effective_sim().actuation)
    chosen = choose(alive, requested, not_here)
    native = sorted(key for key, execution in chosen.items() if execution.name == "native")
    if native:
        described = {r.name: r.actuators for r in alive.robots}
        forms = {key: alive.controller(key) for key in native}
        return _come_alive(lower(built, described, forms), chosen, log)
    for key, execution in chosen.items():
        alive.robots[key[0]].run_as(alive.controller(key), execution)
    return alive


def _come_alive(built: Built, executions: Mapping[Key, Execution], log: EventLog) -> Assembly:
    model, data = built.model, mujoco.MjData(built.model)
    placed = built.placements.actors
    robots = tuple(
        Articulation(
            where,
            model,
            data,
            log,
            folder=actor.item.folder(),
            gate=actor.item.gate(),
            trusted=actor.item.trusted_folders(),
            described=where.described,
        )
        for where, actor in zip(built.actors, placed, strict=True)
    )
    for robot in robots:
        robot.put(robot.model_map.initial)
    mujoco.mj_forward(model, data)
    for i, (actor, robot) in enumerate(zip(placed, robots, strict=True)):
        for j, component in enumerate(actor.item.components):
            with actor.locating("components", j):
                try:
                    robot.add_component(component.copy(), executions.get((i, j)))
                except LeaseError as error:  # two components that command the same actuators
                    raise BindingError(str(error)) from error
        for draw in actor.draws:
            with draw.locating():
                draw.apply(robot)
    return Assembly(built, data, robots)


def link_actuators(assembly: Assembly) -> None:
    """Let the authored actuators of the scene read their values in this world."""
    links: dict[int, tuple[Actuator, list[tuple[Articulation, str]]]] = {}
    for placed, robot in zip(assembly.placements.actors, assembly.robots, strict=True):
        actors = {id(a): a for a in (placed.original, placed.item)}.values()
        for actor in actors:
            for actuator, names in zip(actor.actuators, robot.model_map.authored, strict=False):
                _, found = links.setdefault(id(actuator), (actuator, []))
                found += [(robot, name) for name in names]
    for actuator, found in links.values():
        actuator.link(found)
