"""Batch: many worlds of one scene on all cores, with setpoints and gains per world."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import mujoco
import mujoco.batch
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.control.lowering import within_own_range
from mjrig.control.passthrough_writers import row_of, takes_rows
from mjrig.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.errors import BindingError, ExecutionError, PropertyError
from mjrig.names import listed, suggestion
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World

Worlds = slice | Sequence[int] | npt.NDArray[Any] | int | None
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class BatchController:
    """A lowered controller in every world of a batch.

    `gains` are arrays (worlds, bindings) in joint units; `set_gains` changes them.
    """

    def __init__(self, batch: Any, count: int, controller: ArticulationController) -> None:
        lowered = controller.lowered
        assert lowered is not None
        self._batch, self._controller, self._lowered = batch, controller, lowered
        self.name = controller._role
        self.bindings = controller.bindings
        form = controller.native_form()
        names = [
            "kp",
            "kv",
            "torque_limit",
            *(["ki", "integral_max"] if form.ki is not None else []),
        ]
        own = controller.gains()
        self._gains = {n: np.tile(own[n], (count, 1)) for n in names}
        self._form = form

    @property
    def gains(self) -> Mapping[str, FloatArray]:
        """Resolved gains by name, (worlds, bindings), read-only."""
        views = {}
        for name, values in self._gains.items():
            views[name] = values.view()
            views[name].setflags(write=False)
        return MappingProxyType(views)

    def set_gains(self, *, worlds: Worlds = None, **values: npt.ArrayLike) -> None:
        """Set gains of some worlds: scalars, or arrays that broadcast to (worlds, bindings).

        Raises:
            PropertyError: a name is unknown, a shape does not fit, or a value is out of range;
                nothing was changed.
        """
        where = slice(None) if worlds is None else worlds
        changed = {name: array.copy() for name, array in self._gains.items()}
        for name, value in values.items():
            if name not in changed:
                hint = suggestion(name, changed, label="has")
                raise PropertyError(f"{self._controller.label} has no gain {name!r}; {hint}")
            array = np.asarray(value, dtype=np.float64)
            try:
                changed[name][where] = array
            except (ValueError, IndexError) as error:
                raise PropertyError(f"{self._controller.label}.{name}: {error}") from None
            infinite = name in ("torque_limit", "integral_max")
            low, high = array.min(initial=0.0), array.max(initial=0.0)
            if np.isnan(array).any() or low < 0.0 or (high == np.inf and not infinite):
                raise PropertyError(
                    f"{self._controller.label}.{name}: must be >= 0 and "
                    f"{'a number' if infinite else 'finite'}, got {value!r}"
                )
        self._gains = changed
        if self._controller.enabled:
            self.load()

    def load(self) -> None:
        """Write the gains into the worlds' models."""
        g = np.array([b.factor for b in self.bindings])
        ids, gains = self._lowered.ids, self._gains
        square = g * g
        if self._form.dc is not None:
            prm = self._batch.expand("actuator_gainprm")
            prm[:, ids, 4], prm[:, ids, 6] = gains["kp"] / square, gains["kv"] / square
        else:
            prm = self._batch.expand("actuator_biasprm")
            prm[:, ids, 1], prm[:, ids, 2] = -(gains["kp"] / square), -(gains["kv"] / square)
        self._load_limits(gains["torque_limit"] / np.abs(g))
        if "ki" in gains:
            self._batch.expand("actuator_gainprm")[:, ids, 0] = gains["ki"] / square
            bound = gains["integral_max"] * np.abs(g)
            limited = np.isfinite(bound)
            self._batch.expand("actuator_actlimited")[:, ids] = limited
            edges = self._batch.expand("actuator_actrange")
            edges[:, ids, 1] = np.where(limited, bound, 0.0)
            edges[:, ids, 0] = -edges[:, ids, 1]

    def _load_limits(self, limit: FloatArray) -> None:
        # The clamps of the template hold in every world; torque_limit is per world.
        others = self._controller.clamp_limits()
        low, high = within_own_range(
            np.maximum(-limit, others[0]), np.minimum(limit, others[1]), self.bindings
        )
        limited = np.isfinite(low) | np.isfinite(high)
        ids = self._lowered.ids
        self._batch.expand("actuator_forcelimited")[:, ids] = limited
        edges = self._batch.expand("actuator_forcerange")
        edges[:, ids, 0] = np.where(limited, low, 0.0)
        edges[:, ids, 1] = np.where(limited, high, 0.0)


class BatchRobot:
    """One actor in every world of a batch.

    `position`, `velocity` and `feedforward` are setpoints of shape (worlds, actuators), over
    `actuator_names`; write into them.
    """

    def __init__(self, batch: Any, count: int, robot: Articulation) -> None:
        self._robot = robot
        self.name = robot.name
        self.actuator_names = robot.actuator_names
        self.bindings = robot.bindings
        self.setpoints = np.tile(robot.setpoints.values[:, None, :], (1, count, 1))
        self.position, self.velocity, self.feedforward = self.setpoints
        self.controllers = tuple(
            BatchController(batch, count, c) for c in robot.controllers if c.lowered is not None
        )
        self._seen = b""
        self._writes = self._plan()

    def _plan(
        self,
    ) -> list[tuple[npt.NDArray[np.intp], int, npt.NDArray[np.intp], FloatArray, bool]]:
        """(ctrl addresses, row, columns, factor, divide) of every block to write."""
        column = {name: i for i, name in enumerate(self.actuator_names)}
        plan = []
        lowered: set[int] = set()
        for controller in self._robot.controllers:
            if controller.lowered is None or not controller.enabled:
                continue  # driven directly: a lowered motor's ctrl is its feedforward input
            lowered |= {b.actuator_id for b in controller.bindings}
            factor = np.array([b.factor for b in controller.bindings])
            columns = np.array([column[b.actuator] for b in controller.bindings], dtype=np.intp)
            for row in (POSITION, VELOCITY, FEEDFORWARD):
                addresses = controller.lowered.inputs[:, row]
                plan.append((addresses, row, columns, factor, row == FEEDFORWARD))
        for binding in self._robot.actuators:
            if binding.actuator_id in lowered or not takes_rows(binding):
                continue
            for k in range(binding.ctrl_count):
                row = row_of(binding, k)
                at = np.array([binding.ctrl_address + k], dtype=np.intp)
                where = np.array([column[binding.actuator]], dtype=np.intp)
                plan.append((at, row, where, np.ones(1), False))
        return plan

    def set_targets(
        self,
        position: Mapping[str, npt.ArrayLike] | None = None,
        *,
        velocity: Mapping[str, npt.ArrayLike] | None = None,
        feedforward: Mapping[str, npt.ArrayLike] | None = None,
        worlds: Worlds = None,
    ) -> None:
        """Command actuators by name pattern: a value for all worlds, or one per world.

        Raises:
            BindingError: a pattern matches nothing.
        """
        where = slice(None) if worlds is None else worlds
        staged: list[tuple[int, int, npt.ArrayLike]] = []
        for row, targets in enumerate((position, velocity, feedforward)):
            for pattern, value in (targets or {}).items():
                staged += [(row, c, value) for c in self._robot.setpoints.match(pattern)]
        for row, column, value in staged:
            self.setpoints[row, where, column] = value

    def follow(self, trajectory: object) -> NoReturn:
        """Not supported.

        Raises:
            ExecutionError: always: its worlds run on threads that cannot call Python.
        """
        raise ExecutionError(
            f"{self.name}: a batch cannot follow a function of time: its worlds run on threads "
            "that cannot call Python; write the setpoints between steps"
        )

    def write(self, ctrl: FloatArray) -> None:
        """Copy the setpoints to ctrl where they changed.

        Raises:
            ValueError: a setpoint is not finite.
        """
        now = self.setpoints.tobytes()
        if now == self._seen:
            return
        if not np.isfinite(self.setpoints).all():
            row, world, column = np.argwhere(~np.isfinite(self.setpoints))[0]
            what = ("position", "velocity", "feedforward")[row]
            raise ValueError(
                f"{self.name}: the {what} setpoint of {self.actuator_names[column]!r} in world "
                f"{world} is {self.setpoints[row, world, column]}"
            )
        self._seen = now
        for addresses, row, columns, factor, divide in self._writes:
            values = self.setpoints[row][:, columns]
            ctrl[:, addresses] = values / factor if divide else values * factor

    def write_over_time(self, ctrl: FloatArray, setpoints: FloatArray) -> None:
        """Copy setpoints (3, worlds, steps, actuators) to ctrl (worlds, steps, inputs)."""
        for addresses, row, columns, factor, divide in self._writes:
            values = setpoints[row][..., columns]
            ctrl[..., addresses] = values / factor if divide else values * factor

    def forget(self) -> None:
        """Write everything again at the next step."""
        self._seen = b""


class Batch:
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

    def __init__(
        self,
        scene: Scene | str | Path | World,
        count: int,
        *,
        threads: int = 0,
        bare: bool = False,
    ) -> None:
        if count < 1:
            raise ValueError(f"a batch has at least one world, got {count}")
        self._world = scene if isinstance(scene, World) else World(scene, "native")
        if bare:
            strip(self._world)
        self._refuse_python()
        self._batch = mujoco.batch.Batch(self._world.model, count, threads)
        self.count = count
        self._robots = {
            name: BatchRobot(self._batch, count, robot)
            for name, robot in self._world.articulations.items()
        }
        self._ctrl = self._batch.bind("ctrl")
        self._fill: npt.NDArray[np.bool_] = np.ones(count, np.bool_)
        self.reset()

    def _refuse_python(self) -> None:
        for robot in self._world.articulations.values():
            for component in robot.components:
                if not isinstance(component, ArticulationController) or (
                    component.is_bound and component.lowered is None and component.follows_pose
                ):
                    raise ExecutionError(
                        f"{component.label} runs in Python between steps; a batch cannot run it"
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
        """Positions, (worlds, nq), live."""
        return self.data("qpos")

    @property
    def qvel(self) -> FloatArray:
        """Velocities, (worlds, nv), live."""
        return self.data("qvel")

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
            self._fill_histories()
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
        where: Any = slice(None) if worlds is None else worlds
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

    def _fill_histories(self) -> None:
        """Fill the delay histories: until a delayed command arrives, the first one acts."""
        lowered = [c.lowered for r in self._world.articulations.values() for c in r.controllers]
        delayed = [low for low in lowered if low is not None and low.has_delay]
        if delayed:
            scratch = mujoco.MjData(self.model)
            history, time = self._batch.bind("history"), self._batch.bind("time")
            for world in np.flatnonzero(self._fill):
                scratch.time = float(np.ravel(time[world])[0])
                scratch.ctrl[:] = self._ctrl[world]
                scratch.history[:] = history[world]
                for low in delayed:
                    low.prefill(scratch)
                history[world] = scratch.history
        self._fill[:] = False

    def __repr__(self) -> str:
        return f"Batch({listed(self._robots)}; {self.count} worlds)"


def strip(world: World) -> None:
    """Remove every component that is not a controller, so that nothing else commands."""
    for robot in world.articulations.values():
        for component in robot.components:
            if not isinstance(component, ArticulationController):
                robot.remove_component(component)
