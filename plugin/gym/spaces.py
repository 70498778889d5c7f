"""What an environment's numbers are: names and bounds of actions, names of observations."""

from collections.abc import Callable, Iterator

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation
from mjrig.control.effort_limits import effort_limit
from mjrig.control.passthrough_writers import takes_rows
from mjrig.model.binding import ActuatorBinding
from mjrig.sim.world import World

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
