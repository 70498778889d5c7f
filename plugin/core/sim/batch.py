"""Batch: many worlds of one scene on all cores, with setpoints and gains per world."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

import mujoco
import mujoco.batch
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, copy_into
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.policy import PolicyComponent, chosen_worlds
from mjrig.core.errors import BindingError, ExecutionError, PropertyError
from mjrig.core.names import listed, suggestion
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.batch_robot import BatchRobot, Worlds
from mjrig.core.sim.world import World

_OTHER = "; use mjrig.PolicyBatch"


class Batch(CheckedAttributes):
    """Many worlds of one scene, stepped together, each with its own state, setpoints and gains.

    Every controller must have a native form; each world is bit-identical to a `World` of its own.

    Args:
        scene: a Scene, the path of a scene file, or a World with native execution: a template,
            which the batch resets from then on.
        count: number of worlds.
        threads: number of threads; 0: all cores.
        bare: leave out components that command, such as gaits and policies.

    Raises:
        ExecutionError: a controller has no native form; the message gives the reason.
        SceneError: the scene cannot be built.
    """

    count: Final[int]
    _instead_of: ClassVar[Mapping[str, str]] = {
        "timestep": "call scene.set('sim.timestep', …) and build a new Batch",
        "time": "write data('time')",
    }

    def __init__(
        self,
        scene: Scene | str | Path | World,
        count: int,
        *,
        threads: int = 0,
        bare: bool = False,
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise PropertyError(f"count: must be a whole number of worlds from 1 on, got {count!r}")
        self._world = scene if isinstance(scene, World) else World(scene, "native")
        if bare:
            strip(self._world)
        self._refuse_python()
        self._batch = mujoco.batch.Batch(
            self._world.model, count, threads, persistent=self._is_persistent()
        )
        self.count = count
        self._robots = {
            name: BatchRobot(self, count, robot)
            for name, robot in self._world.articulations.items()
        }
        self._ctrl = self._batch.bind("ctrl")
        self._fill: npt.NDArray[np.bool_] = np.ones(count, np.bool_)
        self.reset()

    def _is_persistent(self) -> bool:
        """Whether each world keeps an MjData of its own; else threads share them."""
        return False

    def _runs(self, component: ActorComponent) -> bool:
        """Whether the batch runs a component itself that otherwise runs between steps."""
        return False

    def _refuse_python(self) -> None:
        for robot in self._world.articulations.values():
            for component in robot.components:
                if self._runs(component):
                    continue
                if not isinstance(component, ArticulationController) or (
                    component.is_bound and component.lowered is None and component.follows_pose
                ):
                    raise ExecutionError(
                        f"{component.label} runs in Python between steps; a batch cannot run it"
                        f"{_OTHER if isinstance(component, PolicyComponent) else ''}"
                    )

    @property
    def template(self) -> World:
        """The World all worlds started from; `reset` takes its initial state."""
        return self._world

    @property
    def model(self) -> Any:
        """The MjModel all worlds started from."""
        return self._world.model

    @property
    def timestep(self) -> float:
        """Physics timestep [s]."""
        return self._world.timestep

    @property
    def robots(self) -> Mapping[str, BatchRobot]:
        """The actors by name, in scene order."""
        return MappingProxyType(self._robots)

    def __getitem__(self, name: str) -> BatchRobot:
        """An actor by name.

        Raises:
            BindingError: there is none of that name.
        """
        if name not in self._robots:
            raise BindingError(f"the batch has no actor {name!r}; {suggestion(name, self._robots)}")
        return self._robots[name]

    def data(self, field: str) -> npt.NDArray[Any]:
        """A field of MjData over all worlds, live: `qpos`, `qvel`, `time`, `sensordata`, …

        State fields may be written; the others hold the values of the last step.

        Raises:
            PropertyError: there is no such field.
        """
        if field not in mujoco.batch.DATA_FIELDS:
            hint = suggestion(field, sorted(mujoco.batch.DATA_FIELDS))
            raise PropertyError(f"MjData has no field {field!r}; {hint}")
        found: npt.NDArray[Any] = self._batch.bind(field)
        return found

    def expand(self, field: str) -> npt.NDArray[Any]:
        """A field of MjModel with separate values in every world, live: `body_mass`, …

        `gains` of controllers do not follow what is written into the fields of their actuators.

        Raises:
            PropertyError: there is no such field, or it cannot differ between worlds.
        """
        if field not in mujoco.batch.MODEL_FIELDS:
            hint = suggestion(field, sorted(mujoco.batch.MODEL_FIELDS))
            raise PropertyError(f"MjModel has no field {field!r} to expand; {hint}")
        try:
            found: npt.NDArray[Any] = self._batch.expand(field)
        except ValueError as error:
            raise PropertyError(str(error)) from error
        return found

    @property
    def qpos(self) -> FloatArray:
        """Positions, (worlds, nq), live; assigning copies the values."""
        return self.data("qpos")

    @qpos.setter
    def qpos(self, values: npt.ArrayLike) -> None:
        copy_into(self.qpos, values, "qpos")

    @property
    def qvel(self) -> FloatArray:
        """Velocities, (worlds, nv), live; assigning copies the values."""
        return self.data("qvel")

    @qvel.setter
    def qvel(self, values: npt.ArrayLike) -> None:
        copy_into(self.qvel, values, "qvel")

    @property
    def time(self) -> FloatArray:
        """Simulated time of each world [s], live."""
        return self.data("time")

    def step(self, n: int = 1) -> None:
        """Advance all worlds by `n` physics steps, setpoints held.

        Raises:
            ValueError: a setpoint is not finite; nothing was stepped.
        """
        for robot in self._robots.values():
            robot.write(self._ctrl)
        if self._fill.any():
            self._fill_histories(self._ctrl)
        self._batch.step(nstep=n)

    def set_const(self) -> None:
        """Derive the constants of every world's model again."""
        self._batch.set_const()

    def rollout(self, setpoints: Mapping[str, FloatArray], count: int) -> dict[str, FloatArray]:
        """Step the first `count` worlds through setpoints that change with every step.

        Args:
            setpoints: actor → (3, count, steps, actuators): position, velocity, feedforward; all
                of as many steps. Other actors keep theirs.
            count: number of worlds.

        Returns:
            `qpos` and `qvel` after every step, (count, steps, …).
        """
        steps = next(iter(setpoints.values())).shape[2]
        ctrl = np.repeat(self._ctrl[:count, None, :], steps, axis=1)
        for name, values in setpoints.items():
            self[name].write_over_time(ctrl, values)
        names = ("qpos", "qvel")
        rolled = self._batch.rollout(steps, control=ctrl, record=names, ids=np.arange(count))
        return {name: rolled[name] for name in names}

    def reset(self, worlds: Worlds = None, *, keyframe: str | None = None) -> None:
        """Put worlds back to the initial state, or their actors to a keyframe; seeds setpoints.

        Raises:
            BindingError: no actor has a keyframe of that name.
        """
        where = np.unique(chosen_worlds(worlds, self.count))
        world = self._world
        world.reset(keyframe)
        data = world.data
        for field in ("time", "qpos", "qvel", "act", "history", "qacc_warmstart", "ctrl",
                      "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat",
                      "userdata", "plugin_state"):  # fmt: skip
            rows = self._batch.bind(field)
            if rows[0].size:
                rows[where] = np.asarray(getattr(data, field))
        self._fill[where] = True
        for name, robot in self._robots.items():
            robot.setpoints[:, where] = world[name].setpoints.values[:, None, :]
            robot.forget()

    def _fill_histories(self, ctrl: FloatArray) -> None:
        """Fill the delay histories: until a delayed command arrives, the first one acts."""
        lowered = [c.lowered for r in self._world.articulations.values() for c in r.controllers]
        delayed = [low for low in lowered if low is not None and low.has_delay]
        if delayed:
            scratch = mujoco.MjData(self.model)
            history, time = self._batch.bind("history"), self._batch.bind("time")
            for world in np.flatnonzero(self._fill):
                scratch.time = float(np.ravel(time[world])[0])
                scratch.ctrl[:] = ctrl[world]
                scratch.history[:] = history[world]
                for low in delayed:
                    low.prefill(scratch)
                history[world] = scratch.history
        self._fill[:] = False

    def __repr__(self) -> str:
        return f"Batch({listed(self._robots)}; {self.count} worlds)"


def strip(world: World) -> None:
    """Remove every component that commands: all but controllers and parts of the plant."""
    for robot in world.articulations.values():
        for component in robot.components:
            if not isinstance(component, ArticulationController | PlantComponent):
                robot.remove_component(component)
