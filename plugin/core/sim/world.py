"""World: a compiled scene with its articulations, stepped through time.

A snapshot includes the sleep state of kinematic trees, which `mj_getState` does not cover:
`mj_setState` wakes every tree, and `mj_forward` computes derived quantities. For a sleeping tree
MuJoCo does not compute them again: they stay as the last step awake left them, under RK4 at the
last stage of that step. A step in which the tree wakes begins with these values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.execution import check_request
from mjrig.core.control.finite_guard import Event, EventLog
from mjrig.core.control.lowering import at_rest
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import listed, suggestion
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.placement import Placements
from mjrig.core.sim.assembly import Assembly, assemble, link_actuators
from mjrig.core.sim.stepper import StepNotes, Stepper
from mjrig.core.yaml_text.comparison import same

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
