"""SceneEnv: any scene as a Gymnasium environment."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import effort_limit
from mjrig.core.control.execution import PlantComponent
from mjrig.core.control.setpoints import takes_rows
from mjrig.core.errors import BindingError, MissingExtraError, MjrigError, PropertyError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import listed, suggestion
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.hooks import required
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World

# Reward -------------------------------------------------------------------------------------------


class Reward(ActorComponent):
    """Base of components that judge a robot in an environment; the rewards of a robot are added.

    It commands nothing, and outside of an environment it does nothing.
    """

    @required()
    def reward(self, world: World) -> float:
        """What the step that was just taken is worth."""
        raise NotImplementedError

    def is_over(self, world: World) -> bool:
        """Whether the episode ends here, as after a fall."""
        return False


def as_number(value: object, source: Reward | str) -> float:
    """A reward as a float.

    Raises:
        PropertyError: it is not a number; the message names the component or function.
    """
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        is_component = isinstance(source, Reward)
        name = f"{source.label}: {type(source).__name__}.reward" if is_component else source
        raise PropertyError(f"{name} returned {value!r}; return a number") from None


# Offscreen ----------------------------------------------------------------------------------------


class Offscreen:
    """Draws a model at the size asked for, or at the size of its own buffer if that is smaller."""

    def __init__(self, model: Any, width: int, height: int, camera: str) -> None:
        own = model.vis.global_
        names = [str(model.camera(i).name) for i in range(model.ncam)]
        if camera and camera not in names:
            known = ", ".join(names) or "none"
            raise MjrigError(f"the scene has no camera {camera!r}; it has: {known}")
        self._camera: str | int = camera or -1
        size = min(height, int(own.offheight)), min(width, int(own.offwidth))
        _without_a_screen()
        try:
            self._renderer = mujoco.Renderer(model, *size)
        except Exception as error:  # the backends raise whatever their libraries do
            raise MjrigError(
                f"no picture can be drawn here ({type(error).__name__}: {error}); "
                "`mjrig doctor` lists what works, MUJOCO_GL chooses it"
            ) from error

    def draw(self, data: Any) -> npt.NDArray[np.uint8]:
        """The present state: height × width × 3."""
        self._renderer.update_scene(data, camera=self._camera)
        return np.array(self._renderer.render(), dtype=np.uint8)

    def close(self) -> None:
        """Free the buffers."""
        self._renderer.close()


def _without_a_screen() -> None:
    """Let MuJoCo draw with EGL where its choice, a window, cannot work: Linux without a display.

    MuJoCo chooses when it is imported, which is long over here.
    """
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY"):
        return
    try:
        egl = import_module("mujoco.egl")
        chosen: Any = import_module("mujoco.rendering.classic.gl_context")
    except Exception:  # no EGL, or an OpenGL library that was set up for a window before
        return
    chosen.GLContext = egl.GLContext


# Spaces -------------------------------------------------------------------------------------------


_NONE = (-np.inf, np.inf)
#: Names of the coordinates and of the velocities of joints with several, by MuJoCo's joint type.
_PARTS = {
    0: (("x", "y", "z", "qw", "qx", "qy", "qz"), ("vx", "vy", "vz", "wx", "wy", "wz")),
    1: (("qw", "qx", "qy", "qz"), ("wx", "wy", "wz")),
}


def action_bounds(robot: Articulation, command: str) -> tuple[FloatArray, FloatArray]:
    """Least and greatest setpoint of each actuator; ±inf where the model gives no limit."""
    bound = {"position": _position, "velocity": _velocity, "feedforward": _effort}[command]
    described = {b.actuator: b for b in robot.actuators}
    pairs = [bound(robot, described[name]) for name in robot.actuator_names]
    low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return low, high


Bound = Callable[[Articulation, ActuatorBinding], tuple[float, float]]


def _position(robot: Articulation, binding: ActuatorBinding) -> tuple[float, float]:
    """The joint's range under a law; else what the actuator takes as its control."""
    if binding.actuator in robot.followers:
        return binding.joint_range or _NONE
    takes_angle = binding.kind == "position" and binding.gear == 1.0
    own = binding.ctrl_range if takes_rows(binding) else None
    return own or (binding.joint_range if takes_angle else None) or _NONE


def _velocity(robot: Articulation, binding: ActuatorBinding) -> tuple[float, float]:
    return _NONE


def _effort(robot: Articulation, binding: ActuatorBinding) -> tuple[float, float]:
    for controller in robot.controllers:
        names = [b.actuator for b in controller.bindings]
        if binding.actuator in names:
            limit = effort_limit(binding, controller, names.index(binding.actuator))
            return -limit, limit
    return _NONE


def whole_state(world: World, robot: Articulation) -> FloatArray:
    """Coordinates and velocities of all actors, then the sensors of one robot."""
    readings = [np.ravel(values) for values in robot.sensors.values()]
    return np.concatenate([world.data.qpos, world.data.qvel, *readings])


def state_names(world: World, robot: Articulation) -> tuple[str, ...]:
    """The names of `whole_state`, one for each number."""
    sensors = (
        f"{robot.name}/{name}" + (f"[{i}]" if np.size(values) > 1 else "")
        for name, values in robot.sensors.items()
        for i in range(np.size(values))
    )
    return (*_joint_names(world, 0), *_joint_names(world, 1), *sensors)


def _joint_names(world: World, which: int) -> Iterator[str]:
    word = ("position", "velocity")[which]
    for i in range(world.model.njnt):
        joint = world.model.joint(i).name
        parts = _PARTS.get(int(world.model.jnt_type[i]))
        yield from (f"{joint}.{p}" for p in (parts[which] if parts else (word,)))


# Scene env ----------------------------------------------------------------------------------------


try:
    import gymnasium
except ImportError as error:
    raise MissingExtraError("an environment", "gym", error) from error

COMMANDS = ("position", "velocity", "feedforward")
Array = npt.NDArray[np.float64]


class SceneEnv(gymnasium.Env[Array, Array]):
    """One robot of a scene, commanded by actions at a fixed rate.

    An action has a setpoint for each of the robot's actuators, in the order of `actuator_names` and
    in the units of `Articulation.set_targets`; the controllers of the scene follow it at the rate
    of the physics. Policies, gaits and bridges of the scene are left out. `observation_names` says
    what each number of an observation is.

    Args:
        scene: a Scene, or the path of a scene file.
        actor: the robot that is commanded; None: the only actor that has actuators.
        rate: actions per simulated second [Hz]; a whole number of physics steps each.
        command: `position`, `velocity` or `feedforward`: what an action sets.
        reward: what a step is worth; None: what the robot's components of type `Reward` give.
        is_over: whether the episode has ended, besides a divergence of the simulation and what
            those components say.
        observe: what is observed; None: coordinates and velocities of all actors, and the sensors
            of the robot.
        duration: simulated time after which an episode is truncated [s]; None: never.
        keyframe: where episodes begin; None: the initial state.
        noise: at a reset, hinges and slides are moved by up to this, uniformly [rad or m].
        redraw: draw what the scene randomises anew at every reset, which builds a new world.
        execution: `auto`, `python`, `native` or `compiled`.
        render_mode: `rgb_array`, or None.
        width, height: of a picture; the model's `offwidth` and `offheight` limit it.
        camera: its name, with that of its actor; empty: a view of everything.

    Raises:
        SceneError: the scene cannot be built.
        BindingError: there is no such actor, or none that has actuators.
        PropertyError: an argument is not valid.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        scene: Scene | str | Path,
        actor: str | None = None,
        *,
        rate: float = 50.0,
        command: str = "position",
        reward: Callable[[World], float] | None = None,
        is_over: Callable[[World], bool] | None = None,
        observe: Callable[[World], npt.ArrayLike] | None = None,
        duration: float | None = None,
        keyframe: str | None = None,
        noise: float = 0.0,
        redraw: bool = False,
        execution: str = "auto",
        render_mode: str | None = None,
        width: int = 480,
        height: int = 360,
        camera: str = "",
    ) -> None:
        _check(command, rate, noise, render_mode)
        self._scene = scene if isinstance(scene, Scene) else Scene.load(scene)
        self._actor, self._command, self._execution = actor, command, execution
        self._reward, self._is_over, self._observe = reward, is_over, observe
        self._keyframe, self._noise, self._redraw = keyframe, noise, redraw
        self.render_mode = render_mode
        self._picture = width, height, camera
        self._offscreen: Offscreen | None = None
        self._take(World(self._scene, execution))
        self.world.reset(keyframe)
        self._steps = _steps(rate, self.world.timestep)
        self._duration = np.inf if duration is None else duration
        self.metadata = {**self.metadata, "render_fps": round(1.0 / self.dt)}
        low, high = action_bounds(self.robot, command)
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
        size = self._observed().shape
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, size, dtype=np.float64)

    def _take(self, world: World) -> None:
        self.world = world
        self.robot = _commanded(world, self._actor)
        for robot in world.articulations.values():
            for component in robot.components:
                if not isinstance(component, ArticulationController | PlantComponent | Reward):
                    robot.remove_component(component)
        self._judges = [c for c in self.robot.components if isinstance(c, Reward)]

    @property
    def dt(self) -> float:
        """Simulated time of one action [s]."""
        return self._steps * self.world.timestep

    @property
    def observation_names(self) -> tuple[str, ...]:
        """What the numbers of an observation are; with `observe` only that function knows."""
        return () if self._observe else state_names(self.world, self.robot)

    # Episodes -----------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; `options={"keyframe": name}` begins this one elsewhere.

        The same seed gives the same noise and the same draws.

        Raises:
            BindingError: no actor has that keyframe.
        """
        super().reset(seed=seed)
        if self._redraw:
            self.close()
            drawn = int(self.np_random.integers(2**31))
            self._take(World(self._scene, self._execution, seed=drawn))
        self.world.reset((options or {}).get("keyframe", self._keyframe))
        if self._noise:
            self._disturb()
        return self._observed(), self._info()

    def _disturb(self) -> None:
        """Move the robot's joints a little, and its setpoints with them."""
        model, world = self.world.model, self.world
        joints = [i for i in self.robot.model_map.joint_ids if int(model.jnt_type[i]) >= 2]
        for i in map(int, joints):
            address = int(model.jnt_qposadr[i])
            value = world.data.qpos[address] + self.np_random.uniform(-self._noise, self._noise)
            if model.jnt_limited[i]:
                value = np.clip(value, *model.jnt_range[i])
            world.data.qpos[address] = value
        self.robot.seed(self.robot.actuator_names)
        snapshot = world.snapshot()
        world.restore(snapshot)  # what MuJoCo derives from the state, at the new one

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Command the robot and advance by `dt`; beyond the bounds an action is clipped.

        A simulation that diverged ends the episode; the observation is from after its reset.

        Raises:
            ValueError: another number of values, or one that is not finite.
        """
        values = np.asarray(action, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(f"an action must be finite, got {values}")
        size = len(self.robot.actuator_names)
        if values.shape != (size,):
            raise ValueError(
                f"an action has {size} values, got shape {values.shape}; "
                f"order: {listed(self.robot.actuator_names)}"
            )
        space: Any = self.action_space
        self.robot.set_targets(**{self._command: np.clip(values, space.low, space.high)})
        events = self.world.event_count
        self.world.step(self._steps)
        over = self._diverged(events) or self._ended()
        truncated = self.world.time >= self._duration - 1e-9
        return self._observed(), self._worth(), over, truncated, self._info()

    def _diverged(self, before: int) -> bool:
        new = self.world.event_count - before
        return any(e.kind == "diverged" for e in self.world.events[-new:]) if new else False

    def _ended(self) -> bool:
        if self._is_over is not None and self._is_over(self.world):
            return True
        return any(judge.is_over(self.world) for judge in self._judges)

    def _worth(self) -> float:
        if self._reward is not None:
            return as_number(self._reward(self.world), "reward(world)")
        return float(sum(as_number(j.reward(self.world), j) for j in self._judges))

    def _observed(self) -> FloatArray:
        if self._observe is None:
            return whole_state(self.world, self.robot)
        return np.array(self._observe(self.world), dtype=np.float64).ravel()

    def _info(self) -> dict[str, Any]:
        return {"time": self.world.time}

    # Pictures -----------------------------------------------------------------------------------

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture of the present state, height × width × 3; None without a `render_mode`.

        Raises:
            MjrigError: nothing can be drawn here, or there is no such camera.
        """
        if self.render_mode is None:
            return None
        if self._offscreen is None:
            self._offscreen = Offscreen(self.world.model, *self._picture)
        return self._offscreen.draw(self.world.data)

    def close(self) -> None:
        """Free what pictures need."""
        if self._offscreen is not None:
            self._offscreen.close()
            self._offscreen = None


def _check(command: str, rate: float, noise: float, render_mode: str | None) -> None:
    if command not in COMMANDS:
        raise PropertyError(f"unknown command {command!r}; {suggestion(command, COMMANDS)}")
    if not 0.0 < rate < np.inf:
        raise PropertyError(f"rate must be a positive number of actions per second, got {rate}")
    if not 0.0 <= noise < np.inf:
        raise PropertyError(f"noise must be 0 or more, got {noise}")
    if render_mode not in (None, "rgb_array"):
        raise PropertyError(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")


def _steps(rate: float, timestep: float) -> int:
    """Physics steps of an action.

    Raises:
        PropertyError: they are no whole number.
    """
    exact = 1.0 / (rate * timestep)
    steps = max(1, round(exact))
    if abs(steps - exact) <= 1e-4 * exact:  # 33.3333 is a third of 100
        return steps
    near = sorted({max(1, math.floor(exact)), math.ceil(exact)}, reverse=True)
    rates = " or ".join(f"{1.0 / (n * timestep):.6g}" for n in near)
    raise PropertyError(
        f"rate: an action at {rate:g} Hz takes {exact:.4g} physics steps of {timestep:g} s, which "
        f"is no whole number; use {rates}"
    )


def _commanded(world: World, name: str | None) -> Articulation:
    if name is not None:
        robot = world[name]
        if not robot.actuator_names:
            raise BindingError(f"{name} has no actuators, so that nothing can be commanded")
        return robot
    driven = [r for r in world.articulations.values() if r.actuator_names]
    if len(driven) != 1:
        which = listed(r.name for r in driven) if driven else "none has any"
        raise BindingError(f"say which actor is commanded; those with actuators: {which}")
    return driven[0]
