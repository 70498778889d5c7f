"""Sampler: reads the state, commands and efforts of one robot's actuators, now or from histories.

`BindingReader` has the addresses and works on any arrays of MuJoCo's layout; `Sampler` reads a
running robot; `SampleLog` keeps what a sampler read.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.efforts import AppliedEffort
from mjrig.core.control.native_servo import NativeServo
from mjrig.core.model.binding import ActuatorBinding, BindingTable

#: Sampling rate sufficient for statistics and plots [Hz].
SAMPLE_HZ = 200.0
#: Rows of a sample.
FIELDS = ("target", "position", "effort", "raw_effort", "applied_effort")


class SampledRobot(Protocol):
    """What a sampler reads from an articulation."""

    @property
    def data(self) -> Any: ...
    @property
    def actuators(self) -> Sequence[ActuatorBinding]: ...
    @property
    def bindings(self) -> Sequence[ActuatorBinding]: ...
    @property
    def actuator_names(self) -> Sequence[str]: ...
    @property
    def setpoints(self) -> Any: ...
    @property
    def effort(self) -> FloatArray: ...
    @property
    def raw_effort(self) -> FloatArray: ...
    @property
    def servos(self) -> Sequence[NativeServo]: ...


class BindingReader:
    """The numbers of some actuators in arrays of MuJoCo's layout.

    Arrays may have any leading axes, steps or worlds: (…, nq) becomes (…, bindings).

    Args:
        bindings: the actuators to read, in this order.
        among: all actuators of the robot; see `AppliedEffort`.
    """

    def __init__(
        self, bindings: Sequence[ActuatorBinding], among: Sequence[ActuatorBinding] = ()
    ) -> None:
        self.names = tuple(b.actuator for b in bindings)
        self.on_joint = np.array([b.on_joint for b in bindings], dtype=np.bool_)
        self.outputs = _indices(b.output_address for b in bindings)
        self.qpos = _indices(b.qpos_address if b.on_joint else 0 for b in bindings)
        self.dof = _indices(b.dof_address if b.on_joint else 0 for b in bindings)
        self.ctrl = _indices(b.ctrl_address for b in bindings)
        self._factor = np.array([b.factor for b in bindings])
        self._others = np.flatnonzero(~self.on_joint)
        #: Efforts per binding that MuJoCo applied, from MjData.
        self.applied_effort = AppliedEffort(bindings, among)

    def position(
        self, qpos: FloatArray, length: FloatArray | None = None, out: FloatArray | None = None
    ) -> FloatArray:
        """Positions of the joints, or lengths of the actuators; NaN where no length is given."""
        return self._measure(self.qpos, qpos, length, out)

    def velocity(
        self, qvel: FloatArray, speed: FloatArray | None = None, out: FloatArray | None = None
    ) -> FloatArray:
        """Velocities of the joints, or of the actuators; NaN where no speed is given."""
        return self._measure(self.dof, qvel, speed, out)

    def _measure(
        self, where: Any, joint: FloatArray, actuator: FloatArray | None, out: FloatArray | None
    ) -> FloatArray:
        # With another mode `take` would use a buffer; the indices are known to be valid.
        found: FloatArray = np.take(joint, where, axis=-1, out=out, mode="clip")
        if len(self._others):
            if actuator is None:
                found[..., self._others] = np.nan
            else:
                found[..., self._others] = actuator[..., self.outputs[self._others]]
        return found

    def commanded_effort(self, ctrl: FloatArray) -> FloatArray:
        """The effort that ctrl commands where ctrl is an effort, in joint units."""
        found: FloatArray = self._factor * ctrl[..., self.ctrl]
        return found


class Sampler(BindingReader):
    """Reads some actuators of a running robot; prepared once, for as long as its bindings last.

    Args:
        robot: an articulation.
        bindings: some of its bindings and of its native servos; None: all of its bindings.
    """

    def __init__(
        self, robot: SampledRobot, bindings: Sequence[ActuatorBinding] | None = None
    ) -> None:
        whole = list(robot.bindings)
        chosen = whole if bindings is None else list(bindings)
        super().__init__(chosen, robot.actuators)
        self._robot = robot
        column = {name: i for i, name in enumerate(robot.actuator_names)}
        place = {b.actuator_id: i for i, b in enumerate(whole)}
        #: Where they are among the setpoints, and among all bindings of the robot.
        self.columns = _indices(column[b.actuator] for b in chosen)
        self.places = _indices(place.get(b.actuator_id, 0) for b in chosen)
        servos = {s.binding.actuator_id: s for s in robot.servos}
        self._servos = [
            (i, servos[b.actuator_id]) for i, b in enumerate(chosen) if b.actuator_id not in place
        ]

    def read(self, out: FloatArray) -> None:
        """Write the present values into rows (FIELDS, bindings)."""
        robot, data, places = self._robot, self._robot.data, self.places
        np.take(robot.setpoints.values[0], self.columns, out=out[0], mode="clip")
        self.position(data.qpos, data.actuator_length, out=out[1])
        if len(self._servos) < len(places):
            np.take(robot.effort, places, out=out[2], mode="clip")
            np.take(robot.raw_effort, places, out=out[3], mode="clip")
        for i, servo in self._servos:
            out[0, i] *= servo.scale
            out[2, i], out[3, i] = servo.effort(), servo.raw_effort()
        out[4] = self.applied_effort(data)


class SampleLog:
    """Samples of one robot, one after the other: arrays (samples, bindings) by name."""

    def __init__(
        self, robot: SampledRobot, bindings: Sequence[ActuatorBinding] | None = None
    ) -> None:
        self._sampler = Sampler(robot, bindings)
        self.names = self._sampler.names
        data = robot.data
        #: Positions before the first sample.
        self.start = self._sampler.position(data.qpos, data.actuator_length)
        self._rows: list[tuple[float, FloatArray]] = []

    def take(self, time: float) -> None:
        """Take a sample; it is kept under this time."""
        row = np.empty((len(FIELDS), len(self.names)))
        self._sampler.read(row)
        self._rows.append((time, row))

    def __len__(self) -> int:
        return len(self._rows)

    def arrays(self) -> tuple[FloatArray, FloatArray]:
        """Times (samples) and values (samples, FIELDS, bindings) so far; thread-safe."""
        rows = list(self._rows)
        values = np.empty((len(rows), len(FIELDS), len(self.names)))
        for k, (_, row) in enumerate(rows):
            values[k] = row
        return np.array([time for time, _ in rows]), values

    @property
    def time(self) -> FloatArray:
        """Times of the samples."""
        return self.arrays()[0]

    def values(self, field: str) -> FloatArray:
        """One of FIELDS, (samples, bindings)."""
        return self.arrays()[1][:, FIELDS.index(field)]


def by_column(robot: SampledRobot) -> list[ActuatorBinding]:
    """The actuators in the order of the setpoint columns."""
    bindings = {b.actuator: b for b in robot.actuators}
    return [bindings[name] for name in robot.actuator_names]


def reader(robot: SampledRobot, index: int, kind: str) -> Callable[[], float] | None:
    """The function that reads one signal of a binding now; None: there is none of that name.

    `index` counts the bindings, then the native servos.

    Kinds are `position`, `velocity`, `effort`, `raw_effort`, `applied_effort` and `clamp`, which is
    1 while a clamp acts and 0 otherwise.
    """
    data, bound = robot.data, len(robot.bindings)
    servo = robot.servos[index - bound] if index >= bound else None
    binding = servo.binding if servo is not None else robot.bindings[index]
    if kind in ("position", "velocity"):
        is_position = kind == "position"
        if binding.on_joint:
            values = data.qpos if is_position else data.qvel
            address = binding.qpos_address if is_position else binding.dof_address
        else:
            values = data.actuator_length if is_position else data.actuator_velocity
            address = binding.output_address
        return lambda: float(values[address])
    if kind == "applied_effort":
        applied = AppliedEffort([binding], robot.actuators)
        return lambda: float(applied(data)[0])
    if servo is not None:
        return _servo_reader(servo, kind)
    if kind == "clamp":
        return lambda: float(robot.effort[index] != robot.raw_effort[index])
    if kind in ("effort", "raw_effort"):
        return lambda: float(getattr(robot, kind)[index])
    return None


def _servo_reader(servo: NativeServo, kind: str) -> Callable[[], float] | None:
    if kind == "clamp":
        return lambda: float(servo.effort() != servo.raw_effort())
    return {"effort": servo.effort, "raw_effort": servo.raw_effort}.get(kind)


def _indices(addresses: Iterable[int]) -> npt.NDArray[np.intp]:
    return np.array(list(addresses), dtype=np.intp)


# Telemetry ----------------------------------------------------------------------------------------
# Telemetry of an articulation's bindings in the last step: efforts, positions, velocities.


class Telemetry:
    """Reads one value per binding, joint units (N·m or N, rad or m)."""

    def __init__(
        self,
        table: BindingTable,
        actuators: Sequence[ActuatorBinding],
        controllers: Sequence[ArticulationController],
        data: Any,
    ) -> None:
        self._controllers, self._data = controllers, data
        self._factor = np.array([b.factor for b in table])
        self._ctrl = np.array([b.ctrl_address for b in table], dtype=np.intp)
        self._reader = BindingReader(table, actuators)
        self._place = {b.actuator_id: i for i, b in enumerate(table)}

    def effort(self) -> FloatArray:
        """Effort after the controller's clamps."""
        effort: FloatArray = self._factor * self._data.ctrl[self._ctrl]
        self._overlay(effort, lambda controller: controller.native_effort)
        return effort

    def raw_effort(self) -> FloatArray:
        """Effort as the law computed it, before any clamp."""
        raw = self.effort()
        self._overlay(raw, lambda controller: controller.raw_effort)
        return raw

    def _overlay(
        self, efforts: FloatArray, read: Callable[[ArticulationController], FloatArray | None]
    ) -> None:
        """Write what enabled controllers report at the indices of their actuators."""
        for controller in self._controllers:
            values = read(controller) if controller.enabled else None
            if values is not None:
                efforts[[self._place[b.actuator_id] for b in controller.bindings]] = values

    def applied_effort(self) -> FloatArray:
        """Effort that MuJoCo used, after all of its own limits; see `AppliedEffort`."""
        return self._reader.applied_effort(self._data)

    def position(self) -> FloatArray:
        """qpos of the joint, or actuator length."""
        return self._reader.position(self._data.qpos, self._data.actuator_length)

    def velocity(self) -> FloatArray:
        """qvel of the joint, or actuator velocity."""
        return self._reader.velocity(self._data.qvel, self._data.actuator_velocity)
