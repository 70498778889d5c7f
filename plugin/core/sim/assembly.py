"""Assembly: a scene compiled, its controllers bound, each with its execution mode."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import (
    Execution,
    PlantComponent,
    is_implicit,
    why_not_lowered_here,
)
from mjrig.core.control.execution import choose as choose_one
from mjrig.core.control.finite_guard import EventLog
from mjrig.core.control.setpoints import Scratch, SetpointBank
from mjrig.core.errors import BindingError, LeaseError, PropertyError
from mjrig.core.model.binary_model import WHY_NOT_NATIVE
from mjrig.core.model.build import Built, Layout, compile_layout, lay_out
from mjrig.core.model.model_source import one_line
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.actuator_conversion import with_motors
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.mujoco_options import Actuation
from mjrig.core.scene.placement import Placements
from mjrig.core.sim.native_compile import Draft, Key, Recipe, compile_lowered, draft, lower

# Crowding -----------------------------------------------------------------------------------------
# Worlds that begin with more contacts than can be solved: found before they are.


#: Contacts at the start. MuJoCo takes a third of a second for a step with so many.
MAX_CONTACTS = 20_000
#: Pairs of geoms that are near each other; each can have several contacts.
MAX_NEAR = 250_000
#: Contacts of two boxes, for which geoms need not be looked at where they are few.
_PER_PAIR = 4


def crowded_body(model: mujoco.MjModel, data: mujoco.MjData) -> str | None:
    """The body with the most contacts, if there are more than can be solved; None: there are not.

    Args:
        model: the world's.
        data: with the positions; what follows from them is computed.
    """
    few = _PER_PAIR * model.ngeom * (model.ngeom - 1) // 2 <= MAX_CONTACTS
    if few or model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return None
    mujoco.mj_kinematics(model, data)
    counts = _near(model, data)
    if counts.sum() <= MAX_NEAR:
        mujoco.mj_comPos(model, data)
        mujoco.mj_flex(model, data)
        mujoco.mj_collision(model, data)
        if data.ncon <= MAX_CONTACTS:
            return None
        geoms = data.contact.geom.ravel()
        counts = np.bincount(geoms[geoms >= 0], minlength=model.ngeom).astype(float)
    return str(model.body(model.geom_bodyid[int(np.argmax(counts))]).name)


def _near(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    """By geom, with how many later ones on other bodies it could collide; counting ends early."""
    bits = model.geom_contype | model.geom_conaffinity
    geoms = np.flatnonzero((bits != 0) & (model.geom_rbound > 0))  # planes have no radius
    centre, radius = data.geom_xpos[geoms], model.geom_rbound[geoms] + model.geom_margin[geoms]
    low, high = centre - radius[:, None], centre + radius[:, None]
    found, total = np.zeros(model.ngeom), 0
    orders = [np.argsort(low[:, axis], kind="stable") for axis in range(3)]
    ends = [
        np.searchsorted(low[order, axis], high[order, axis], side="right")
        for axis, order in enumerate(orders)
    ]
    axis = int(np.argmin([end.sum() for end in ends]))
    order, end = orders[axis], ends[axis]
    if (end - np.arange(len(order)) - 1).sum() <= MAX_NEAR:
        return found
    body = model.body_weldid[model.geom_bodyid[geoms]][order]
    kind, affinity = model.geom_contype[geoms][order], model.geom_conaffinity[geoms][order]
    centre, radius = centre[order], radius[order]
    for i, last in enumerate(end):
        rest = slice(i + 1, last)
        apart = ((centre[rest] - centre[i]) ** 2).sum(axis=1)
        touching = apart <= (radius[rest] + radius[i]) ** 2
        touching &= body[rest] != body[i]
        touching &= ((kind[rest] & affinity[i]) | (affinity[rest] & kind[i])) != 0
        found[geoms[order[i]]] = count = int(np.count_nonzero(touching))
        total += count
        if total > MAX_NEAR:
            break
    return found


# Assembly -----------------------------------------------------------------------------------------


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
        component = self.component(key)
        assert isinstance(component, ArticulationController)
        return component

    def component(self, key: Key) -> ActorComponent:
        """One component."""
        return self.robots[key[0]].components[key[1]]


#: (assembly bound in python, request, why nothing may be lowered or "") → execution modes.
Choose = Callable[[Assembly, str, str], dict[Key, Execution]]


def choose_executions(alive: Assembly, requested: str, not_here: str) -> dict[Key, Execution]:
    """The execution mode of what supports several; of controllers, those that own something."""
    implicit = is_implicit(alive.model.opt)
    return {
        (i, j): choose_one(requested, c.label, c.supports(), not_here, implicit)
        for i, robot in enumerate(alive.robots)
        for j, c in enumerate(robot.components)
        if isinstance(c, PlantComponent)
        or (isinstance(c, ArticulationController) and c.follows_pose and c.is_bound)
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
    layout = lay_out(scene, seed, with_motors)
    if isinstance(layout, Built):
        return _bring_up(layout, requested, WHY_NOT_NATIVE, log, choose)
    not_here = why_not_lowered_here(layout.spec.option, _actuation(scene, layout))
    if choose is choose_executions and requested in ("auto", "native"):
        expected = None
        with suppress(Exception):  # whatever is wrong is found again when the world is bound
            expected = draft(layout, requested, not_here)
        if expected is not None:
            alive = _as_expected(layout, expected, requested, not_here, log)
            if alive is not None:
                return alive
            layout = lay_out(scene, seed, with_motors)
            assert isinstance(layout, Layout)
    return _bring_up(compile_layout(layout), requested, not_here, log, choose)


def _actuation(scene: Scene, layout: Layout) -> Actuation:
    """How actuators are integrated: motors that were position actuators as those were."""
    sim = scene.effective_sim()
    if not sim.is_authored("actuation"):
        if any(placed.original.use_motors for placed in layout.placements.actors):
            return Actuation.IMPLICIT
    return sim.actuation


def _as_expected(
    layout: Layout, expected: Draft, requested: str, not_here: str, log: EventLog
) -> Assembly | None:
    """A scene compiled once, its native controllers lowered already; None: it came otherwise."""
    with suppress(Exception):  # it is raised once more by what is done instead, with its place
        built = compile_lowered(layout, expected)
        alive = _come_alive(built, expected.executions, log, expected.controllers)
        if _is_as_expected(alive, expected, requested, not_here):
            return alive
    log.clear()
    return None


def _is_as_expected(alive: Assembly, expected: Draft, requested: str, not_here: str) -> bool:
    if choose_executions(alive, requested, not_here) != expected.executions:
        return False
    actors = alive.built.actors
    for key, recipe in expected.recipes.items():
        controller = alive.controller(key)
        if Recipe.of(controller, actors[key[0]].prefix, controller.native_form()) != recipe:
            return False
    return True


def _bring_up(
    built: Built, requested: str, not_here: str, log: EventLog, choose: Choose
) -> Assembly:
    """Bind everything in python, see what can run otherwise, and compile again for that."""
    alive = _come_alive(built, {}, log)
    chosen = choose(alive, requested, not_here)
    native = sorted(key for key, execution in chosen.items() if execution.name == "native")
    if native:
        described = {r.name: r.actuators for r in alive.robots}
        forms = {key: alive.controller(key) for key in native}
        return _come_alive(lower(built, described, forms), chosen, log)
    for key, execution in chosen.items():
        alive.robots[key[0]].run_as(alive.component(key), execution)
    return alive


def _come_alive(
    built: Built,
    executions: Mapping[Key, Execution],
    log: EventLog,
    copies: Mapping[Key, ArticulationController] = MappingProxyType({}),
) -> Assembly:
    """Put copies of the components on the actors of a model; those of `copies` are used up."""
    model, data = built.model, mujoco.MjData(built.model)
    placed = built.placements.actors
    scratch = Scratch(model)
    # Three setpoints for each actuator, or a vector as long as its share of ctrl.
    bank = SetpointBank(3 * len(model.actuator_ctrladr) + len(data.ctrl))
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
            scratch=scratch,
            bank=bank,
        )
        for where, actor in zip(built.actors, placed, strict=True)
    )
    for robot in robots:
        robot.put(robot.model_map.initial)
    _try_forward(built, data)
    for i, (actor, robot) in enumerate(zip(placed, robots, strict=True)):
        for j, component in enumerate(actor.item.components):
            with actor.locating("components", j):
                try:
                    own = copies.get((i, j)) or component.copy()
                    robot.add_component(own, executions.get((i, j)))
                except LeaseError as error:  # two components that command the same actuators
                    raise BindingError(str(error)) from error
        for draw in actor.draws:
            with draw.locating():
                draw.apply(robot)
    return Assembly(built, data, robots)


def _try_forward(built: Built, data: Any) -> None:
    """Compute forces for the first time; MuJoCo finds here what it does not look at in compiling.

    Raises:
        SceneError, PropertyError: it cannot simulate this combination of options, or there are
            more contacts than can be solved.
    """
    placed = built.placements.actors
    try:
        body = crowded_body(built.model, data)
        if body is None:
            mujoco.mj_forward(built.model, data)
            return
    except mujoco.FatalError as error:
        problem = PropertyError(f"MuJoCo cannot simulate the model: {one_line(error)}", ("model",))
        with placed[0].locating() if placed else nullcontext():
            raise problem from error
    with next((p for p in placed if p.name == body.partition("/")[0]), placed[0]).locating():
        raise PropertyError(
            f"the world would begin with more than {MAX_CONTACTS} contacts, most of them at the "
            f"body {body!r}: move bodies that lie in each other apart, or let them not collide"
        )


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
