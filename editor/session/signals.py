"""Signals: numbers of a running world by path, sampled after every step into ring buffers.

Properties are `dog.PDController.default_kp` and `dog.PDController.kp[FL_hip]`, sensors
`dog.sensor:gyro[0]`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import nan
from typing import Any

import mujoco
import numpy as np

from mjrig.core.control import sampler
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import BindingError, MjrigError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import Bool, Float, Int, OptionalFloat
from mjrig.core.scene.scene_description import find
from mjrig.core.sim.world import World
from mjrig.editor.session.ring_buffer import Ring
from mjrig.editor.text import deferred, tr

# Signal info --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SignalInfo:
    """What can be plotted: `dog.FL_hip.position`."""

    path: str
    unit: str
    doc: str


# Property signals ---------------------------------------------------------------------------------
# Numeric properties as signals: `dog.PDController.default_kp`, `dog.PDController.kp[FL_hip]`.


SCALARS = (Bool, Float, Int, OptionalFloat)
_ELEMENT = re.compile(r"(.+)\[([^\[\]]*)\]")


def property_numbers(world: World) -> Iterator[SignalInfo]:
    """Every number of the properties of the components that run."""
    for robot in world.articulations.values():
        for component in robot.components:
            for holder in _with_children(component):
                for prop in holder.properties():
                    if prop.shown:
                        yield from _elements(holder, prop, f"{holder.label}.{prop.name}")


def _with_children(holder: HasProperties) -> Iterator[HasProperties]:
    yield holder
    for child in holder.children():
        yield from _with_children(child)


def _elements(holder: HasProperties, prop: Property[Any], path: str) -> Iterator[SignalInfo]:
    if isinstance(prop, SCALARS):
        yield SignalInfo(path, prop.unit, prop.doc)
    for name in _element_names(holder, prop):
        yield SignalInfo(f"{path}[{name}]", prop.unit, prop.doc)


def _element_names(holder: HasProperties, prop: Property[Any]) -> tuple[str, ...]:
    """The names in brackets: actuators, or places in a vector."""
    if isinstance(prop, PerActuator):
        slots: Slots | None = holder.slots
        return slots.names if slots is not None else ()
    if isinstance(prop, Vector):
        return tuple(str(i) for i in range(len(getattr(holder, prop.name))))
    return ()


def numbers_of(world: World, path: str) -> list[SignalInfo]:
    """The numbers a property of the running world, or else of its scene, is made of."""
    found = _locate(world, path)
    return list(_elements(*found, path)) if found is not None else []


def _locate(world: World, path: str) -> tuple[HasProperties, Property[Any]] | None:
    root: HasProperties
    for root in (world, world.scene):
        try:
            holder, name = find(root, path)
            return holder, holder.property_named(name)
        except MjrigError:
            continue
    return None


def property_reader(world: World, path: str) -> Callable[[], float] | None:
    """The function that reads a number of a property now; None if there is none of that path."""
    match = _ELEMENT.fullmatch(path)
    found = _locate(world, match[1] if match else path)
    if found is None:
        return None
    holder, prop = found
    name = prop.name
    if match is None:
        return (lambda: _number(getattr(holder, name))) if isinstance(prop, SCALARS) else None
    names = _element_names(holder, prop)
    if match[2] not in names:
        return None
    index = names.index(match[2])
    return lambda: _number(_at(getattr(holder, name), index))


def _at(values: Any, index: int) -> Any:
    return values[index] if index < len(values) else nan


def _number(value: Any) -> float:
    """A missing value (no limit, for example) leaves a gap in the curve."""
    return nan if value is None else float(np.float64(value))


# Sensor signals -----------------------------------------------------------------------------------
# Sensors of a running world as signals: `dog.sensor:gyro[0]`.


PART = "sensor:"
#: Actor part of the path of a sensor that belongs to no actor.
WORLD = "world"

_UNITS = {
    "ACCELEROMETER": "m/s²",
    "ACTUATORFRC": "N·m or N",
    "ACTUATORPOS": "rad or m",
    "ACTUATORVEL": "rad/s or m/s",
    "BALLANGVEL": "rad/s",
    "CLOCK": "s",
    "E_KINETIC": "J",
    "E_POTENTIAL": "J",
    "FORCE": "N",
    "FRAMEANGACC": "rad/s²",
    "FRAMEANGVEL": "rad/s",
    "FRAMELINACC": "m/s²",
    "FRAMELINVEL": "m/s",
    "FRAMEPOS": "m",
    "GEOMDIST": "m",
    "GEOMFROMTO": "m",
    "GYRO": "rad/s",
    "JOINTACTFRC": "N·m or N",
    "JOINTLIMITFRC": "N·m or N",
    "JOINTPOS": "rad or m",
    "JOINTVEL": "rad/s or m/s",
    "MAGNETOMETER": "T",
    "RANGEFINDER": "m",
    "SUBTREEANGMOM": "kg·m²/s",
    "SUBTREECOM": "m",
    "SUBTREELINVEL": "m/s",
    "TENDONACTFRC": "N",
    "TENDONPOS": "m",
    "TENDONVEL": "m/s",
    "TORQUE": "N·m",
    "TOUCH": "N",
    "VELOCIMETER": "m/s",
}


def sensors(world: World) -> Iterator[SignalInfo]:
    """Every number that the sensors of a world give."""
    for info, _ in _numbers(world):
        yield info


def _numbers(world: World) -> Iterator[tuple[SignalInfo, int]]:
    """Each number of each sensor, and its address in sensordata."""
    model = world.model
    prefixes = {robot.model_map.prefix: name for name, robot in world.articulations.items()}
    for i in range(model.nsensor):
        name = model.sensor(i).name or f"#{i}"
        actor, local = _owner(name, prefixes)
        kind = mujoco.mjtSensor(int(model.sensor_type[i])).name.removeprefix("mjSENS_")
        start, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
        for k in range(size):
            index = f"[{k}]" if size > 1 else ""
            path, doc = f"{actor}.{PART}{local}{index}", tr("Sensor: {kind}.", kind=kind.lower())
            yield SignalInfo(path, _UNITS.get(kind, ""), doc), start + k


def _owner(name: str, prefixes: dict[str, str]) -> tuple[str, str]:
    for prefix, actor in prefixes.items():
        if prefix and name.startswith(prefix):
            return actor, name.removeprefix(prefix)
    return WORLD, name


def sensor_reader(world: World, path: str) -> Callable[[], float] | None:
    """The function that reads a sensor now; None if there is none of that path."""
    address = next((i for info, i in _numbers(world) if info.path == path), None)
    if address is None:
        return None
    data: Any = world.data
    return lambda: float(data.sensordata[address])


# Signals ------------------------------------------------------------------------------------------


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
