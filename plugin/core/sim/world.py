"""World: a compiled scene with its articulations, stepped through time.

A snapshot includes the sleep state of kinematic trees, which `mj_getState` does not cover:
`mj_setState` wakes every tree, and `mj_forward` computes derived quantities. For a sleeping tree
MuJoCo does not compute them again: they stay as the last step awake left them, under RK4 at the
last stage of that step. A step in which the tree wakes begins with these values.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import (
    Execution,
    PlantComponent,
    check_request,
    is_implicit,
    why_not_lowered_here,
)
from mjrig.core.control.execution import choose as choose_one
from mjrig.core.control.finite_guard import Event, EventLog
from mjrig.core.control.lowering import at_rest
from mjrig.core.control.setpoints import Scratch, SetpointBank
from mjrig.core.errors import BindingError, LeaseError, PropertyError
from mjrig.core.model.binary_model import WHY_NOT_NATIVE
from mjrig.core.model.build import Built, Layout, compile_layout, lay_out
from mjrig.core.model.model_source import one_line
from mjrig.core.names import listed, suggestion
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.editing.actuator_conversion import with_motors
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.mujoco_options import Actuation
from mjrig.core.scene.placement import Placements
from mjrig.core.sim.native_compile import Draft, Key, Recipe, compile_lowered, draft, lower
from mjrig.core.sim.stepper import StepNotes, Stepper
from mjrig.core.yaml_text.comparison import same

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


# Sleep state --------------------------------------------------------------------------------------
# Sleep state of MuJoCo's kinematic trees, which `mj_getState` does not cover.
#
# `mj_setState` wakes every tree, and `mj_forward` computes what follows from the state. Of a
# sleeping tree MuJoCo does not compute that again: it stays as the last step awake left it,
# under RK4 that is at the last stage of that step. A step in which the tree wakes begins with
# these values.


_TABLES = (
    "tree_asleep", "tree_awake", "body_awake", "body_awake_ind", "parent_awake_ind",
    "dof_awake_ind",
)  # fmt: skip
#: In a step without constraints MuJoCo copies all of the second into the first.
_ACCELERATIONS = ("qacc", "qacc_smooth")
_COUNTS = ("ntree_awake", "nbody_awake", "nparent_awake", "nv_awake")
#: Constraints and islands, found again in every step: their arrays have other sizes each time.
_OF_CONSTRAINTS = (
    "efc_", "iefc_", "efm_", "island_", "map_", "iacc", "ifrc_", "dof_island", "tree_island",
    "tendon_efcadr", "solver_",
)  # fmt: skip
#: In a snapshot besides this.
_OF_STATE = (
    "qpos", "qvel", "act", "ctrl", "history", "qacc_warmstart", "qfrc_applied", "xfrc_applied",
    "eq_active", "mocap_pos", "mocap_quat", "userdata", "plugin_state", "sensordata",
    "actuator_force",
)  # fmt: skip

SleepState = Mapping[str, Any]


def sleep_state_of(model: Any, data: Any) -> SleepState | None:
    """A copy of which trees are asleep and, if some are, of everything derived from the state.

    None: the model does not enable sleeping.
    """
    if not int(model.opt.enableflags) & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        return None
    is_one_asleep = bool((data.tree_asleep >= 0).any())
    names = _derived_names(data) if is_one_asleep else (*_TABLES, *_ACCELERATIONS)
    arrays: dict[str, Any] = {name: np.array(getattr(data, name)) for name in names}
    return {**arrays, **{name: int(getattr(data, name)) for name in _COUNTS}}


def set_sleep_state(data: Any, state: SleepState) -> None:
    """Restore it; the last `mj_forward` was at the state that goes with it."""
    for name, value in state.items():
        if name in _COUNTS:
            setattr(data, name, value)
        else:
            getattr(data, name)[...] = value


def _derived_names(data: Any) -> list[str]:
    """Names of the arrays that follow from the state, of sizes that depend on the model alone."""
    names = [n for n in dir(data) if not n.startswith(("_", *_OF_CONSTRAINTS))]
    arrays = ((name, getattr(data, name)) for name in names if name not in _OF_STATE)
    return [name for name, value in arrays if isinstance(value, np.ndarray) and value.size]


# World --------------------------------------------------------------------------------------------


_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class Snapshot:
    """Everything needed to continue bit-exactly; gains, `enabled` and leases are not in it."""

    integration: FloatArray
    actors: Mapping[str, Any]
    steps: int
    #: Forces of the actuators in the last step, for telemetry.
    forces: FloatArray
    #: Readings in the last step, which policies and bridges use before the next one.
    sensordata: FloatArray
    #: Which trees are asleep; None: none can be.
    sleep: SleepState | None = None


class World(HasProperties):
    """A running scene.

    Args:
        scene: a Scene, or the path of a scene file.
        execution: `auto`, `python`, `native` or `compiled`.
        pause_on_event: stop stepping when a setpoint or an effort is not finite.
        seed: random seed of the scene's draws; None: the scene's own.

    Raises:
        SceneError: the scene cannot be built or bound; nothing is left half-built.
        ExecutionError: the execution mode is unknown or not available.
    """

    _instead_of: ClassVar[Mapping[str, str]] = {
        "timestep": "call scene.set('sim.timestep', …) and build a new World",
        "time": "write data.time, or adopt_time(other)",
        "execution": "build a new World with execution=…",
        "seed": "build a new World with seed=…",
        "paused": "call resume()",
        "notes": "call take_notes(…)",
    }

    def __init__(
        self,
        scene: Scene | str | Path,
        execution: str = "auto",
        *,
        pause_on_event: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(scene, Scene):
            scene = Scene.load(scene)
        check_request(execution)
        self._requested = execution
        self._scene, self._built_from = scene, scene.to_data()
        self._log = EventLog()
        self._seed = scene.seed if seed is None else seed
        self._reset_to: str | None = None
        assembly = self._assemble(scene, seed, execution)
        self._model, self._data = assembly.model, assembly.data
        self._state_size = int(mujoco.mj_stateSize(self._model, _STATE))
        self._placements, self._robots = assembly.placements, assembly.robots
        self._differing = assembly.built.differing
        self._articulations = {robot.name: robot for robot in self._robots}
        self._stepper = Stepper(
            self._model,
            self._data,
            self._robots,
            self._log,
            lambda: self.reset(self._reset_to),
            pause_on_event=pause_on_event,
        )
        if type(self).step is World.step:
            # The stepper's own function shadows the method: a call less in the hot path.
            self._stepper.on_advance = partial(self.__dict__.__setitem__, "step")
            self._stepper.replan()
        self.reset()
        link_actuators(assembly)

    def _assemble(self, scene: Scene, seed: int | None, execution: str) -> Assembly:
        return assemble(scene, seed, execution, self._log)

    # Content ------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return "world"

    @property
    def scene(self) -> Scene:
        """The description it was built from."""
        return self._scene

    @property
    def is_outdated(self) -> bool:
        """Whether the scene changed since the build; only a new World shows that."""
        return not same(self._scene.to_data(), self._built_from)

    @property
    def placements(self) -> Placements:
        """The placed actors of the scene, in the order of `articulations`."""
        return self._placements

    @property
    def differing(self) -> Mapping[str, Mapping[str, Any]]:
        """What models give differently of which a world has one: `visual.map.znear` by actor."""
        return self._differing

    @property
    def model(self) -> Any:
        """The MjModel."""
        return self._model

    @property
    def data(self) -> Any:
        """The MjData."""
        return self._data

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self._data.time)

    @property
    def timestep(self) -> float:
        """Physics timestep [s]."""
        return float(self._model.opt.timestep)

    @property
    def execution(self) -> str:
        """Execution mode of the controllers: one name, or several joined by `+`."""
        laws = [c for r in self._robots for c in r.controllers if c.follows_pose and c.is_bound]
        found = {c.execution.name for c in laws}
        return "+".join(sorted(found)) or "python"

    @property
    def seed(self) -> int:
        """The random seed of the scene's draws."""
        return self._seed

    @property
    def requested_execution(self) -> str:
        """The requested execution mode: `auto`, `python`, `native` or `compiled`."""
        return self._requested

    @property
    def articulations(self) -> Mapping[str, Articulation]:
        """The actors by name, in scene order."""
        return MappingProxyType(self._articulations)

    def __getitem__(self, name: str) -> Articulation:
        """An actor by name.

        Raises:
            BindingError: there is none of that name.
        """
        if name not in self._articulations:
            hint = suggestion(name, self._articulations)
            raise BindingError(f"the world has no actor {name!r}; {hint}")
        return self._articulations[name]

    def part(self, name: str) -> HasProperties:
        return self[name]

    @property
    def events(self) -> tuple[Event, ...]:
        """The latest events, oldest first."""
        return tuple(self._log.latest)

    @property
    def event_count(self) -> int:
        """Total number of events; the oldest are discarded."""
        return self._log.count

    @property
    def paused(self) -> bool:
        """Whether an event stopped the world; `resume` lets it go on."""
        return self._stepper.is_paused

    def resume(self) -> None:
        """Go on after an event."""
        self._stepper.is_paused = False

    # Time ---------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> int:
        """Advance `n` physics steps; controllers run before each. Returns the steps taken.

        Fewer than `n` are taken only with `pause_on_event`.
        """
        return self._stepper.advance(n)

    def take_notes(self, notes: StepNotes | None) -> None:
        """Set an observer of every step, taken one by one then; None removes it.

        Call it between steps.
        """
        self._stepper.notes = notes

    @property
    def notes(self) -> StepNotes | None:
        """The observer of every step, or None."""
        return self._stepper.notes

    def reset(self, keyframe: str | None = None) -> None:
        """Reset to the initial state, or every actor that has it to a keyframe.

        Raises:
            BindingError: no actor has a keyframe of that name.
        """
        if keyframe is not None:
            known = dict.fromkeys(k for r in self._robots for k in r.keyframes)
            if keyframe not in known:
                hint = suggestion(keyframe, known)
                raise BindingError(f"no actor has a keyframe {keyframe!r}; {hint}")
        mujoco.mj_resetData(self._model, self._data)
        for robot in self._robots:
            use = keyframe is not None and keyframe in robot.keyframes
            robot.put(robot.keyframe(keyframe) if use and keyframe else robot.model_map.initial)
        self._reset_to = keyframe
        for robot in self._robots:
            robot.reset()
            robot.prime()
        mujoco.mj_forward(self._model, self._data)
        laws = [c.lowered for robot in self._robots for c in robot.controllers]
        acting = [law for law in laws if law is not None and law.is_acting]
        if acting:  # before the first step no law has acted, whoever runs it
            with at_rest(acting):
                mujoco.mj_forward(self._model, self._data)
        self._stepper.is_paused = False
        self._stepper.state_replaced("reset", 0)

    @property
    def steps(self) -> int:
        """Physics steps since the last reset."""
        return self._stepper.steps

    def adopt_time(self, other: "World") -> None:
        """Go on from the time and the step count of another world."""
        self._stepper.adopt(other.time, other.steps)

    # Snapshots ----------------------------------------------------------------------------------

    def snapshot(self, unknown: dict[str, str] | None = None) -> Snapshot:
        """The complete state, as a copy.

        Args:
            unknown: filled with the components whose memory cannot be read, label → reason;
                `restore` leaves these as they are.

        Raises:
            PropertyError: the `memory` of a component failed, and there is no `unknown`.
        """
        state = np.empty(self._state_size)
        mujoco.mj_getState(self._model, self._data, state, _STATE)
        memory = {r.name: r.memory(unknown) for r in self._robots}
        forces, readings = self._data.actuator_force.copy(), self._data.sensordata.copy()
        sleep = sleep_state_of(self._model, self._data)
        return Snapshot(state, memory, self._stepper.steps, forces, readings, sleep)

    def restore(self, snapshot: Snapshot) -> None:
        """Rewind to a snapshot of this world; the future is bit-exactly the same.

        Raises:
            PropertyError: it is a snapshot of another world, or of other components.
        """
        size = self._state_size
        if snapshot.integration.size != size or list(snapshot.actors) != list(self._articulations):
            raise PropertyError(
                f"the snapshot is of another world: actors {listed(snapshot.actors)}, "
                f"{snapshot.integration.size} numbers; this one has {listed(self._articulations)}, "
                f"{size}"
            )
        for robot in self._robots:
            robot.check_memory(snapshot.actors[robot.name])
        # Components may look at the state, and write into it what the last call below restores.
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _STATE)
        for robot in self._robots:
            robot.restore(snapshot.actors[robot.name])
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _STATE)
        mujoco.mj_forward(self._model, self._data)
        # NOTE: mj_forward changes the warm start; restore the saved one.
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _STATE)
        if snapshot.sleep is not None:
            set_sleep_state(self._data, snapshot.sleep)
        self._data.actuator_force[:] = snapshot.forces
        self._data.sensordata[:] = snapshot.sensordata
        self._stepper.state_replaced("restore", snapshot.steps)

    def __repr__(self) -> str:
        return f"World({listed(self._articulations)}; t={self.time:g} s)"
