"""World: a compiled scene with its articulations, stepped through time."""

import logging
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.events import Event, EventLog
from mjrig.control.execution import (
    Execution,
    check_request,
    choose,
    is_implicit,
    is_rk4,
    why_not_lowered_here,
)
from mjrig.errors import BindingError, LeaseError, PropertyError
from mjrig.model.binary_model import WHY_NOT_NATIVE
from mjrig.model.build import Built, build
from mjrig.names import listed, suggestion
from mjrig.properties.properties import HasProperties
from mjrig.scene.actuator import Actuator
from mjrig.scene.placement import Placements
from mjrig.scene.scene import Scene
from mjrig.sim.native_compile import lower
from mjrig.yaml_text.yaml_edit import same

_logger = logging.getLogger("mjrig")
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
Key = tuple[int, int]


class StepNotes(Protocol):
    """Somebody who takes notes of every physics step, such as a recorder."""

    def before_step(self) -> None:
        """Controls are written, the step comes next."""

    #: Whether `after_step` is wanted; asked after `plan_changed`.
    looks_after: bool

    def after_step(self) -> None:
        """The step was taken."""

    def plan_changed(self) -> None:
        """What runs between the steps changed."""

    def state_replaced(self, why: str) -> None:
        """The state was put to something else: a `reset` or a `restore`."""


@dataclass(frozen=True)
class Snapshot:
    """Everything needed to continue bit-exactly; gains, `enabled` and leases are not in it."""

    integration: FloatArray
    actors: Mapping[str, Any]
    steps: int
    #: What the actuators did in the last step, for telemetry.
    forces: FloatArray


class World(HasProperties):
    """A scene brought to life.

    Args:
        scene: a Scene, or the path of a scene file.
        execution: `auto`, `python`, `native` or `compiled`.
        pause_on_event: stop stepping when a setpoint or an effort is not finite.
        seed: of the scene's random draws; None: the scene's own.

    Raises:
        SceneError: the scene cannot be built or bound; nothing is left half-built.
        ExecutionError: the execution is not known or not available.
    """

    # Nobody assigns properties here, and the hot path pays for each look at a name.
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    _robots: tuple[Articulation, ...] = ()
    _notes: StepNotes | None = None

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
        self._scene, self._built_from = scene, deepcopy(scene.to_data())
        self._log = EventLog()
        self._pause_on_event = pause_on_event
        self._paused = False
        self._steps = 0
        self._seed = scene.seed if seed is None else seed
        self._assemble(build(scene, seed))
        self.reset()
        self._link_actuators()

    def _assemble(self, built: Built) -> None:
        """Bring a built scene to life; a second time where controllers become MuJoCo actuators."""
        self._has_spec = built.spec is not None
        self._come_alive(built, {})
        chosen = self._choose_executions()
        native = {key for key, execution in chosen.items() if execution.name == "native"}
        if native:
            described = {r.name: r.actuators for r in self._robots}
            forms = {key: self._controller(key) for key in sorted(native)}
            self._come_alive(lower(built, described, forms), chosen)
        else:
            for key, execution in chosen.items():
                self._robots[key[0]].run_as(self._controller(key), execution)

    def _come_alive(self, built: Built, executions: Mapping[Key, Execution]) -> None:
        self._model = built.model
        self._data = mujoco.MjData(built.model)
        self._timestep = float(built.model.opt.timestep)
        placed = built.placements.actors
        self._placements = built.placements
        self._articulations = {
            where.name: Articulation(
                where,
                self._model,
                self._data,
                self._log,
                folder=actor.item.folder(),
                gate=actor.item.gate(),
                described=where.described,
                on_plan=self._replan,
            )
            for where, actor in zip(built.actors, placed, strict=True)
        }
        self._robots = tuple(self._articulations.values())
        self._replan()
        for robot in self._robots:
            robot.put(robot.model_map.initial)
        mujoco.mj_forward(self._model, self._data)
        for i, actor in enumerate(placed):
            robot = self._articulations[actor.name]
            for j, component in enumerate(actor.item.components):
                with actor.locating("components", j):
                    try:
                        robot.add_component(component.copy(), executions.get((i, j)))
                    except LeaseError as error:  # two components that command the same actuators
                        raise BindingError(str(error)) from error
            for draw in actor.draws:
                with draw.locating():
                    draw.apply(robot)

    def _link_actuators(self) -> None:
        """Let the authored actuators of the scene read what they became in this world."""
        links: dict[int, tuple[Actuator, list[tuple[Articulation, str]]]] = {}
        for placed, robot in zip(self._placements.actors, self._robots, strict=True):
            actors = {id(a): a for a in (placed.original, placed.item)}.values()
            for actor in actors:
                for actuator, names in zip(actor.actuators, robot.model_map.authored, strict=False):
                    _, found = links.setdefault(id(actuator), (actuator, []))
                    found += [(robot, name) for name in names]
        for actuator, found in links.values():
            actuator.link(found)

    def _controller(self, key: Key) -> ArticulationController:
        component = self._robots[key[0]].components[key[1]]
        assert isinstance(component, ArticulationController)
        return component

    def _choose_executions(self) -> dict[Key, Execution]:
        """The execution of every controller that can run in more ways than one."""
        actuation = self._scene.effective_sim().actuation
        not_here = (
            why_not_lowered_here(self._model, actuation) if self._has_spec else WHY_NOT_NATIVE
        )
        implicit = is_implicit(self._model)
        chosen: dict[Key, Execution] = {}
        for i, robot in enumerate(self._robots):
            for j, component in enumerate(robot.components):
                if isinstance(component, ArticulationController) and component.follows_pose:
                    supports = component.supports()
                    label = component.label
                    chosen[i, j] = choose(self._requested, label, supports, not_here, implicit)
        return chosen

    # What it is ---------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return "world"

    @property
    def scene(self) -> Scene:
        """The description it was built from."""
        return self._scene

    @property
    def is_outdated(self) -> bool:
        """Whether the scene says something else by now; only a new World shows that."""
        return not same(self._scene.to_data(), self._built_from)

    @property
    def placements(self) -> Placements:
        """What the scene put into it, in the order of `articulations`."""
        return self._placements

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
        """How the controllers run: one name, or several joined by `+`."""
        found = {c.execution.name for r in self._robots for c in r.controllers if c.follows_pose}
        return "+".join(sorted(found)) or "python"

    @property
    def seed(self) -> int:
        """The seed of the scene's random draws."""
        return self._seed

    @property
    def requested_execution(self) -> str:
        """What was asked for: `auto`, `python`, `native` or `compiled`."""
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
        """How many events there were in all; the oldest are forgotten."""
        return self._log.count

    @property
    def paused(self) -> bool:
        """Whether an event stopped the world; `resume` lets it go on."""
        return self._paused

    def resume(self) -> None:
        """Go on after an event."""
        self._paused = False

    # Time ---------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> int:
        """Advance `n` physics steps; controllers run before each. Returns the steps taken.

        Fewer than `n` are taken only with `pause_on_event`.
        """
        if n < 0:
            raise ValueError(f"cannot step {n} times")
        return self._advance(n)

    def _replan(self) -> None:
        """Choose how to step, after what runs between the steps changed."""
        robots = self._robots
        self._applies = tuple(robot.apply_controls for robot in robots)
        if self._pause_on_event:
            self._inner = self._step_watching
        elif any(robot.needs_position_stage for robot in robots):
            self._inner = self._step_in_stages
        elif self._notes is None and all(robot.is_idle for robot in robots):
            self._inner = self._step_idle
        else:
            self._inner = self._step_controlled
        follows = is_rk4(self._model) and any(robot.follows_stages for robot in robots)
        self._advance = self._step_following if follows else self._inner
        if self._notes is not None:
            self._notes.plan_changed()
            self._applies = (*self._applies, self._notes.before_step)
            if self._notes.looks_after:
                self._unnoted, self._advance = self._advance, self._step_noted

    def take_notes(self, notes: StepNotes | None) -> None:
        """Let somebody take notes of every step, which are taken one by one then; None: no longer.

        Call it between steps.
        """
        self._notes = notes
        self._replan()

    @property
    def notes(self) -> StepNotes | None:
        """Who takes notes of every step."""
        return self._notes

    def _step_noted(self, n: int) -> int:
        """One by one, since somebody looks after each."""
        for done in range(n):
            notes = self._notes
            if not self._unnoted(1):
                return done
            if notes is not None:
                notes.after_step()
        return n

    def _step_idle(self, n: int) -> int:
        """Everything is in MuJoCo's hands: nobody looks between the steps."""
        model, data = self._model, self._data
        began = data.time
        for apply_controls in self._applies:
            apply_controls()
        if n == 1:
            mujoco.mj_step(model, data)
        else:
            mujoco.mj_step(model, data, n)
        self._steps += n
        if data.time < began + (n - 0.5) * self._timestep or not began:
            self._note_divergence(began)
        return n

    def _step_controlled(self, n: int) -> int:
        model, data, mj_step, applies = self._model, self._data, mujoco.mj_step, self._applies
        began = data.time
        for _ in range(n):
            for apply_controls in applies:
                apply_controls()
            mj_step(model, data)
        self._steps += n
        if data.time < began + (n - 0.5) * self._timestep or not began:
            self._note_divergence(began)
        return n

    def _step_following(self, n: int) -> int:
        """Steps whose trajectories are asked at every stage, through MuJoCo's control callback."""
        ours = self._data._address
        robots = [robot for robot in self._robots if robot.follows_stages]
        previous = mujoco.get_mjcb_control()

        def at_every_stage(model: Any, data: Any) -> None:
            if previous is not None:
                previous(model, data)
            if data._address == ours:
                for robot in robots:
                    robot.follow_stage(data.time)

        mujoco.set_mjcb_control(at_every_stage)
        try:
            return self._inner(n)
        finally:
            mujoco.set_mjcb_control(previous)

    def _note_divergence(self, began: float) -> None:
        """Look whether MuJoCo put everything back since a time; if so, reset the world.

        Time runs backwards then, except in the very first step: there only the warnings tell.
        """
        warning = mujoco.mjtWarning
        for kind, what in (
            (warning.mjWARN_BADQACC, "acceleration"),
            (warning.mjWARN_BADQVEL, "velocity"),
            (warning.mjWARN_BADQPOS, "position"),
        ):
            record = self._data.warning[int(kind)]
            if record.number:
                event = self._divergence(began, what, int(record.lastinfo))
                self._log.add(event)
                _logger.warning("%s", event)
                # MuJoCo forgot everything but our memory: start over, alike in every execution.
                self.reset(self._reset_to)
                return

    def _divergence(self, began: float, what: str, index: int) -> Event:
        model = self._model
        address = model.jnt_qposadr if what == "position" else model.jnt_dofadr
        joint = int(np.searchsorted(address, index, side="right")) - 1
        robot = next(r for r in self._robots if joint in r.model_map.joint_ids)
        actor, name = robot.name, model.joint(joint).name.removeprefix(robot.model_map.prefix)
        return Event(
            began,
            actor,
            "diverged",
            "",
            name,
            f"{actor}.{name}: diverged: its {what} became too large; the world was reset",
        )

    def _step_watching(self, n: int) -> int:
        for done in range(n):
            if self._paused:
                return done
            before = self._log.count
            self._step_in_stages(1)
            self._paused = self._log.count > before
        return n

    def _step_in_stages(self, n: int) -> int:
        """Steps whose laws see lengths and masses of the very state they act on."""
        began = self._data.time
        for _ in range(n):
            self._step_once_in_stages()
        self._steps += n
        if self._data.time < began + (n - 0.5) * self._timestep or not began:
            self._note_divergence(began)
        return n

    def _step_once_in_stages(self) -> None:
        model, data = self._model, self._data
        if is_rk4(model):
            mujoco.mj_fwdPosition(model, data)
            mujoco.mj_fwdVelocity(model, data)
            for apply_controls in self._applies:
                apply_controls()
            mujoco.mj_step(model, data)
            return
        mujoco.mj_step1(model, data)
        for apply_controls in self._applies:
            apply_controls()
        mujoco.mj_step2(model, data)

    def reset(self, keyframe: str | None = None) -> None:
        """Back to the initial state, or every actor that has it to a keyframe.

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
        self._steps = 0
        self._paused = False
        if self._notes is not None:
            self._notes.state_replaced("reset")

    @property
    def steps(self) -> int:
        """Physics steps since the last reset."""
        return self._steps

    def adopt_time(self, other: "World") -> None:
        """Go on from the time and the step count of another world."""
        self._data.time, self._steps = other.time, other.steps

    # Snapshots ----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The state of everything that moves, as an own copy."""
        state = np.empty(mujoco.mj_stateSize(self._model, _STATE))
        mujoco.mj_getState(self._model, self._data, state, _STATE)
        memory = {r.name: r.memory() for r in self._robots}
        return Snapshot(state, memory, self._steps, self._data.actuator_force.copy())

    def restore(self, snapshot: Snapshot) -> None:
        """Rewind to a snapshot of this world; the future is bit-exactly the same.

        Raises:
            PropertyError: it is a snapshot of another world, or of other components.
        """
        size = mujoco.mj_stateSize(self._model, _STATE)
        if snapshot.integration.size != size or list(snapshot.actors) != list(self._articulations):
            raise PropertyError(
                f"the snapshot is of another world: actors {listed(snapshot.actors)}, "
                f"{snapshot.integration.size} numbers; this one has {listed(self._articulations)}, "
                f"{size}"
            )
        for robot in self._robots:
            robot.check_memory(snapshot.actors[robot.name])
        for robot in self._robots:
            robot.restore(snapshot.actors[robot.name])
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _STATE)
        mujoco.mj_forward(self._model, self._data)
        # NOTE: mj_forward moves the warm start on; put the saved one back.
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _STATE)
        self._data.actuator_force[:] = snapshot.forces
        self._steps = snapshot.steps
        if self._notes is not None:
            self._notes.state_replaced("restore")

    def __repr__(self) -> str:
        return f"World({listed(self._articulations)}; t={self.time:g} s)"
