"""Signals: numbers of a running world by path, sampled after every step into ring buffers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.articulation import Articulation
from mjrig.errors import BindingError
from mjrig.names import suggestion
from mjrig.property_kinds import FloatArray
from mjrig.world import World

#: Samples kept per signal: half a minute at 1 kHz.
CAPACITY = 30_000
Reader = Callable[[], float]


@dataclass(frozen=True)
class SignalInfo:
    """What can be plotted: `dog.FL_hip.position`."""

    path: str
    unit: str
    doc: str


class Ring:
    """The latest samples of one signal; row 0 is time, row 1 the value."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.values: FloatArray = np.zeros((2, capacity))
        self.head = 0
        self.count = 0

    def add(self, time: float, value: float) -> None:
        """Put a sample in; the oldest goes."""
        values, head = self.values, self.head
        values[0, head] = time
        values[1, head] = value
        self.head = (head + 1) % values.shape[1]
        self.count = min(self.count + 1, values.shape[1])

    def clear(self) -> None:
        """Forget all samples."""
        self.head = self.count = 0

    def ordered(self) -> FloatArray:
        """(2, n) copy, oldest first."""
        if self.count < self.values.shape[1]:
            return self.values[:, : self.count].copy()
        return np.roll(self.values, -self.head, axis=1)


_PER_BINDING = {
    "position": ("rad or m", "Measured position."),
    "velocity": ("rad/s or m/s", "Measured velocity."),
    "effort": ("N·m or N", "Effort after our clamps."),
    "raw_effort": ("N·m or N", "Effort of the law, before any clamp."),
    "applied_effort": ("N·m or N", "Effort that MuJoCo used."),
}
_JOINT_STATE = {"position": ("qpos", "qpos_address"), "velocity": ("qvel", "dof_address")}
_PER_ACTUATOR = {
    "setpoint": ("rad or m", "Commanded position."),
    "setpoint_velocity": ("rad/s or m/s", "Commanded velocity."),
    "feedforward": ("N·m or N", "Commanded feedforward."),
}


class Signals:
    """The signals somebody watches; the rest costs nothing."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._rings: dict[str, Ring] = {}
        self._readers: tuple[tuple[Ring, Reader], ...] = ()

    def bind(self, world: World) -> None:
        """Read from this world from now on; what it does not have stays silent."""
        self._world = world
        self._replan()

    def watch(self, path: str) -> Ring:
        """Start sampling a signal and return its ring.

        Raises:
            BindingError: there is none of that name; the message names the nearest.
        """
        if path not in self._rings:
            assert self._world is not None
            reader(self._world, path)
            self._rings = {**self._rings, path: Ring()}
            self._replan()
        return self._rings[path]

    def unwatch(self, path: str) -> None:
        """Stop sampling a signal."""
        self._rings = {p: r for p, r in self._rings.items() if p != path}
        self._replan()

    @property
    def watched(self) -> dict[str, Ring]:
        """The rings by path."""
        return self._rings

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
        readers = []
        for path, ring in self._rings.items():
            try:
                assert self._world is not None
                readers.append((ring, reader(self._world, path)))
            except BindingError:
                continue  # its robot is gone; the ring keeps what it has
        self._readers = tuple(readers)


def catalogue(world: World) -> Iterator[SignalInfo]:
    """Everything of a world that can be plotted."""
    for name, robot in world.articulations.items():
        for binding in robot.bindings:
            for kind, (unit, doc) in _PER_BINDING.items():
                yield SignalInfo(f"{name}.{binding.actuator}.{kind}", unit, doc)
            yield SignalInfo(
                f"{name}.{binding.actuator}.clamp", "", "Whether a clamp acts: 1 or 0."
            )
        for actuator in robot.actuator_names:
            for kind, (unit, doc) in _PER_ACTUATOR.items():
                yield SignalInfo(f"{name}.{actuator}.{kind}", unit, doc)
        yield SignalInfo(f"{name}.contact_force", "N", "Sum of the contact forces on the actor.")
        yield SignalInfo(f"{name}.height", "m", "Height of the root body.")


def reader(world: World, path: str) -> Reader:
    """The function that reads a signal now.

    Raises:
        BindingError: there is none of that name; the message names the nearest.
    """
    actor, _, rest = path.partition(".")
    if actor in world.articulations:
        robot = world.articulations[actor]
        actuator, _, kind = rest.rpartition(".")
        found = (
            _actuator_reader(robot, actuator, kind)
            if actuator
            else _actor_reader(world, robot, rest)
        )
        if found is not None:
            return found
    hint = suggestion(path, [info.path for info in catalogue(world)])
    raise BindingError(f"there is no signal {path!r}; {hint}")


def _actuator_reader(robot: Articulation, actuator: str, kind: str) -> Reader | None:
    names = robot.actuator_names
    if kind in _PER_ACTUATOR and actuator in names:
        row, column = list(_PER_ACTUATOR).index(kind), names.index(actuator)
        values = robot.setpoints.values
        return lambda: float(values[row, column])
    index = next((i for i, b in enumerate(robot.bindings) if b.actuator == actuator), None)
    if index is None:
        return None
    binding = robot.bindings[index]
    if kind in _JOINT_STATE and binding.on_joint:  # what most people plot, at no cost
        state, address = _JOINT_STATE[kind]
        numbers, i = getattr(robot._data, state), getattr(binding, address)
        return lambda: float(numbers[i])
    if kind == "clamp":
        return lambda: float(robot.effort[index] != robot.raw_effort[index])
    if kind in _PER_BINDING:
        return lambda: float(getattr(robot, kind)[index])
    return None


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
        import mujoco

        model, data = self._world.model, self._world.data
        total = 0.0
        for i in range(data.ncon):
            first, second = data.contact.geom[i]
            if self._is_own[first] or self._is_own[second]:
                mujoco.mj_contactForce(model, data, i, self._force)
                total += float(self._force[0])
        return total
