"""Signals: numbers of a running world by path, sampled after every step into ring buffers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mujoco
import numpy as np

from mjrig.control.articulation import Articulation
from mjrig.editor.signals.property_signals import numbers_of, property_numbers, property_reader
from mjrig.editor.signals.ring import Ring
from mjrig.editor.signals.sensor_signals import sensor_reader, sensors
from mjrig.editor.signals.signal_info import SignalInfo
from mjrig.editor.texts.texts import deferred, tr
from mjrig.errors import BindingError
from mjrig.model.binding import ActuatorBinding
from mjrig.names import suggestion
from mjrig.readings import sampler
from mjrig.sim.world import World

Reader = Callable[[], float]


_PER_BINDING = {
    "position": ("rad or m", deferred("Measured position.")),
    "velocity": ("rad/s or m/s", deferred("Measured velocity.")),
    "effort": ("N·m or N", deferred("Effort after our clamps.")),
    "raw_effort": ("N·m or N", deferred("Effort of the law, before any clamp.")),
    "applied_effort": ("N·m or N", deferred("Effort that MuJoCo used.")),
}
_PER_ACTUATOR = {
    "setpoint": ("rad or m", deferred("Commanded position.")),
    "setpoint_velocity": ("rad/s or m/s", deferred("Commanded velocity.")),
    "feedforward": ("N·m or N", deferred("Commanded feedforward.")),
}


class Signals:
    """The signals that are watched; all others cost nothing."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._rings: dict[str, Ring] = {}
        self._readers: tuple[tuple[Ring, Reader], ...] = ()
        self._silent: tuple[str, ...] = ()

    def bind(self, world: World) -> None:
        """Read from this world from now on; what it does not have stays silent."""
        self._world = world
        self._replan()

    def watch(self, path: str) -> Ring:
        """Start sampling a signal and return its ring.

        Raises:
            BindingError: there is none of that name; the message names the nearest.
        """
        self.watch_all([path])
        return self._rings[path]

    def watch_all(self, paths: Iterable[str]) -> None:
        """Start sampling signals, all or none.

        Raises:
            BindingError: one does not exist; the message names the nearest.
        """
        new = [path for path in dict.fromkeys(paths) if path not in self._rings]
        assert self._world is not None
        for path in new:
            reader(self._world, path)
        if new:
            self._rings = {**self._rings, **{path: Ring() for path in new}}
            self._replan()

    def unwatch(self, *paths: str) -> None:
        """Stop sampling signals."""
        self._rings = {p: r for p, r in self._rings.items() if p not in paths}
        self._replan()

    @property
    def watched(self) -> dict[str, Ring]:
        """The rings by path."""
        return self._rings

    @property
    def silent(self) -> tuple[str, ...]:
        """Watched signals that the world does not have: their robot is gone or renamed."""
        return self._silent

    def sample(self, world: World) -> None:
        """Take one sample of everything that is watched."""
        if not self._readers:
            return
        time = world.time
        for ring, read in self._readers:
            ring.add(time, read())

    def clear(self) -> None:
        """Forget all samples."""
        for ring in self._rings.values():
            ring.clear()

    def _replan(self) -> None:
        readers, silent = [], []
        for path, ring in self._rings.items():
            try:
                assert self._world is not None
                readers.append((ring, reader(self._world, path)))
            except BindingError:
                silent.append(path)  # the ring keeps what it has
        self._readers, self._silent = tuple(readers), tuple(silent)


def catalogue(world: World) -> Iterator[SignalInfo]:
    """Everything of a world that can be plotted."""
    for name, robot in world.articulations.items():
        for binding in _drives(robot):
            for kind, (units, doc) in _PER_BINDING.items():
                unit = units_of(world, binding, units)
                yield SignalInfo(f"{name}.{binding.actuator}.{kind}", unit, doc)
            yield SignalInfo(
                f"{name}.{binding.actuator}.clamp", "", tr("Whether a clamp acts: 1 or 0.")
            )
        scaled = {servo.binding.actuator for servo in robot.servos if servo.scale != 1.0}
        bound = {b.actuator: b for b in _drives(robot) if b.actuator not in scaled}
        for actuator in robot.actuator_names:
            for kind, (units, doc) in _PER_ACTUATOR.items():
                unit = units_of(world, bound.get(actuator), units)
                yield SignalInfo(f"{name}.{actuator}.{kind}", unit, doc)
        yield SignalInfo(
            f"{name}.contact_force", "N", tr("Sum of the contact forces on the actor.")
        )
        yield SignalInfo(f"{name}.height", "m", tr("Height of the root body."))
    yield from sensors(world)
    yield from property_numbers(world)


def _drives(robot: Articulation) -> list[ActuatorBinding]:
    """The actuators with efforts and a position: the bindings, then the native servos."""
    return [*robot.bindings, *(servo.binding for servo in robot.servos)]


def units_of(world: World, binding: ActuatorBinding | None, units: str) -> str:
    """The unit that fits an actuator, of `rad or m`; both where it drives no single joint."""
    turns, _, slides = units.partition(" or ")
    if binding is None or binding.joint_id < 0 or not slides:
        return units
    is_slide = int(world.model.jnt_type[binding.joint_id]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    return slides if is_slide else turns


def expand(world: World, path: str) -> list[SignalInfo]:
    """The signals a path means: itself, or every number of a property that has several.

    Raises:
        BindingError: it means none; the message names the nearest.
    """
    numbers = numbers_of(world, path)
    if numbers:
        return numbers
    reader(world, path)  # raises if it is not a signal
    return [info for info in catalogue(world) if info.path == path] or [SignalInfo(path, "", "")]


def reader(world: World, path: str) -> Reader:
    """The function that reads a signal now.

    Raises:
        BindingError: there is none of that name; the message names the nearest.
    """
    found = _robot_reader(world, path) or sensor_reader(world, path) or property_reader(world, path)
    if found is not None:
        return found
    hint = suggestion(path, [info.path for info in catalogue(world)])
    raise BindingError(tr("unknown signal {path!r}; {hint}", path=path, hint=hint))


def _robot_reader(world: World, path: str) -> Reader | None:
    actor, _, rest = path.partition(".")
    if actor in world.articulations:
        robot = world.articulations[actor]
        actuator, _, kind = rest.rpartition(".")
        if actuator:
            return _actuator_reader(robot, actuator, kind)
        return _actor_reader(world, robot, rest)
    return None


def _actuator_reader(robot: Articulation, actuator: str, kind: str) -> Reader | None:
    names = robot.actuator_names
    if kind in _PER_ACTUATOR and actuator in names:
        row, column = list(_PER_ACTUATOR).index(kind), names.index(actuator)
        values = robot.setpoints.values
        return lambda: float(values[row, column])
    index = next((i for i, b in enumerate(_drives(robot)) if b.actuator == actuator), None)
    if index is None:
        return None
    return sampler.reader(robot, index, kind)


def _actor_reader(world: World, robot: Articulation, kind: str) -> Reader | None:
    if kind == "contact_force":
        return _ContactForce(world, robot)
    if kind == "height":
        bodies = _bodies(world, robot)
        data = world.data
        return (lambda: float(data.xpos[bodies[0], 2])) if len(bodies) else None
    return None


def _bodies(world: World, robot: Articulation) -> Any:
    prefix = robot.model_map.prefix
    model = world.model
    return np.array([i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)])


class _ContactForce:
    """Sum of the normal forces of the contacts an actor takes part in."""

    def __init__(self, world: World, robot: Articulation) -> None:
        self._world = world
        bodies = _bodies(world, robot)
        self._is_own = np.isin(world.model.geom_bodyid, bodies)
        self._force = np.zeros(6)

    def __call__(self) -> float:
        model, data = self._world.model, self._world.data
        total = 0.0
        for i in range(data.ncon):
            first, second = data.contact.geom[i]
            if self._is_own[first] or self._is_own[second]:
                mujoco.mj_contactForce(model, data, i, self._force)
                total += float(self._force[0])
        return total
