"""ActorInWorld: addresses and names of one actor in a compiled model, its actuators and sensors."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray, read_only
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.finite_guard import Event, EventLog, Guard
from mjrig.core.control.setpoints import SetpointBank, Setpoints, takes_rows
from mjrig.core.errors import BindingError
from mjrig.core.files.paths import Gate
from mjrig.core.model.binding import (
    ActorModel,
    ActorState,
    ActuatorBinding,
    describe_actuators,
    equipped,
)
from mjrig.core.names import listed, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.properties.has_properties import HasProperties

# Sensors ------------------------------------------------------------------------------------------
# The sensors of an actor, read where MuJoCo writes them.


def read_sensors(model: Any, data: Any, where: ActorModel) -> dict[str, FloatArray]:
    """A read-only view of every sensor of an actor by local name."""
    found: dict[str, FloatArray] = {}
    for i in range(model.nsensor):
        name = str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, i) or "")
        if name.startswith(where.prefix):
            first, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
            values: FloatArray = data.sensordata[first : first + size]
            values.setflags(write=False)
            found[name.removeprefix(where.prefix)] = values
    return found


# Live actuator ------------------------------------------------------------------------------------


_TRN = mujoco.mjtTrn
_PARENT_TAG = {
    int(_TRN.mjTRN_JOINT): "joint",
    int(_TRN.mjTRN_JOINTINPARENT): "jointinparent",
    int(_TRN.mjTRN_SLIDERCRANK): "cranksite",
    int(_TRN.mjTRN_TENDON): "tendon",
    int(_TRN.mjTRN_SITE): "site",
    int(_TRN.mjTRN_BODY): "body",
}


class LiveActuator(CheckedAttributes):
    """Current values of an actuator. Several inputs, outputs or activations read as arrays.

    These are read-only copies; assign `activation` to change it.
    """

    _instead_of: ClassVar[Mapping[str, str]] = {
        "ctrl": "command it by set_targets(…) of its robot",
    }

    def __init__(self, model: Any, data: Any, binding: ActuatorBinding) -> None:
        self._model, self._data, self._binding = model, data, binding

    @property
    def name(self) -> str:
        """Its local name."""
        return self._binding.actuator

    @property
    def tag(self) -> str:
        """MuJoCo's name for this kind of actuator."""
        return self._binding.kind

    @property
    def parent_tag(self) -> str:
        """MuJoCo's name for the kind of transmission target."""
        i = self._binding.actuator_id
        kind = int(self._model.actuator_trntype[i])
        if kind == int(_TRN.mjTRN_SO3):
            return "joint" if self._model.actuator_trnid[i][1] < 0 else "site"
        return _PARENT_TAG[kind]

    @property
    def force(self) -> float | FloatArray:
        """The force MuJoCo applied in the last step."""
        return self._output(self._data.actuator_force)

    @property
    def applied_force(self) -> float | FloatArray:
        """The same as `force`."""
        return self.force

    @property
    def length(self) -> float | FloatArray:
        """The length of the transmission."""
        return self._output(self._data.actuator_length)

    @property
    def velocity(self) -> float | FloatArray:
        """The velocity of the transmission."""
        return self._output(self._data.actuator_velocity)

    @property
    def ctrl(self) -> float | FloatArray:
        """The control input."""
        first = self._binding.ctrl_address
        return _one_or_all(self._data.ctrl[first : first + self._binding.ctrl_count])

    @property
    def activation(self) -> float | FloatArray | None:
        """The activation; None where it has none."""
        values = self._activations()
        return _one_or_all(values) if len(values) else None

    @activation.setter
    def activation(self, value: float | FloatArray) -> None:
        values = self._activations()
        if not len(values):
            raise ValueError(f"actuator {self.name!r} has no activation")
        values[:] = value

    def _activations(self) -> FloatArray:
        i = self._binding.actuator_id
        first, count = int(self._model.actuator_actadr[i]), int(self._model.actuator_actnum[i])
        values: FloatArray = self._data.act[first : first + count] if count else self._data.act[:0]
        return values

    def _output(self, values: FloatArray) -> float | FloatArray:
        first = self._binding.output_address
        return _one_or_all(values[first : first + self._binding.output_count])

    def __repr__(self) -> str:
        return f"LiveActuator({self.name!r}, {self.tag})"


def _one_or_all(values: FloatArray) -> float | FloatArray:
    return float(values[0]) if len(values) == 1 else read_only(values.copy())


# Actor in world -----------------------------------------------------------------------------------


class ActorInWorld(HasProperties):
    """The actor's share of the world: addresses, names, actuators, setpoints, keyframes."""

    def __init__(
        self,
        where: ActorModel,
        model: Any,
        data: Any,
        events: EventLog,
        folder: Path = Path(),
        gate: Gate | None = None,
        trusted: tuple[Path, ...] = (),
        described: Sequence[ActuatorBinding] | None = None,
        bank: SetpointBank | None = None,
    ) -> None:
        super().__init__()
        self._folder, self._gate, self._trusted = folder, gate, trusted
        self._where, self._model, self._data, self._events = where, model, data, events
        if described is None:
            ids = where.actuator_ids.tolist()
            described = describe_actuators(model, ids, where.prefix, where.aliases)
        self._described = equipped(described, where.motors)
        self._sensors: Mapping[str, FloatArray] | None = None
        single = [b for b in self._described if b.output_count == 1]
        inputs = {b.actuator: b.ctrl_count for b in self._described if not takes_rows(b)}
        self._setpoints = Setpoints(
            Slots([b.names for b in single], self.label), inputs, self.label, bank
        )
        self._ctrl = data.ctrl[where.ctrl]
        self._guard = Guard(self.label, self._described, self._setpoints, data, where.ctrl, events)

    @property
    def label(self) -> str:
        return self._where.name

    @property
    def name(self) -> str:
        """The actor's name."""
        return self._where.name

    @property
    def model(self) -> Any:
        """The world's MjModel."""
        return self._model

    @property
    def data(self) -> Any:
        """The world's MjData."""
        return self._data

    @property
    def model_map(self) -> ActorModel:
        """Addresses of this actor in the world's model."""
        return self._where

    @property
    def actuators(self) -> tuple[ActuatorBinding, ...]:
        """Every actuator, bound or not, in id order."""
        return tuple(self._described)

    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Local names of all single-output actuators, in id order."""
        return self._setpoints.names

    def actuator(self, name: str) -> LiveActuator:
        """The present values of one actuator, by local name, authored name or joint name.

        Raises:
            BindingError: there is none, or there are several, of that name.
        """
        found = [b for b in self._described if b.actuator == name]
        found = found or [b for b in self._described if name in b.names]
        if len(found) != 1:
            names = [n for b in self._described for n in b.names]
            hint = listed(b.actuator for b in found) if found else suggestion(name, names)
            many = "several actuators" if found else "no actuator"
            raise BindingError(f"{self.name} has {many} {name!r}; {hint}")
        return LiveActuator(self._model, self._data, found[0])

    @property
    def sensors(self) -> Mapping[str, FloatArray]:
        """Every sensor by local name: a read-only view of its readings."""
        if self._sensors is None:
            self._sensors = MappingProxyType(read_sensors(self._model, self._data, self._where))
        return self._sensors

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Local names of all joints, in id order."""
        kind = mujoco.mjtObj.mjOBJ_JOINT
        names = (mujoco.mj_id2name(self._model, kind, i) or "" for i in self._where.joint_ids)
        return tuple(str(n).removeprefix(self._where.prefix) for n in names)

    @property
    def keyframes(self) -> tuple[str, ...]:
        """Local names of the keyframes, of the model and of the scene."""
        return tuple(self._where.keyframes)

    def keyframe(self, name: str) -> ActorState:
        """A keyframe of this actor by local name, at the actor's own place.

        Raises:
            BindingError: there is none of that name.
        """
        if name not in self._where.keyframes:
            hint = suggestion(name, self._where.keyframes)
            raise BindingError(f"{self.name} has no keyframe {name!r}; {hint}")
        return self._where.keyframes[name]

    @property
    def setpoints(self) -> Setpoints:
        """The setpoints."""
        return self._setpoints

    def describe(self, actuator_ids: Iterable[int]) -> list[ActuatorBinding]:
        """The actuators of those ids, in id order."""
        wanted = set(actuator_ids)
        return [b for b in self._described if b.actuator_id in wanted]

    def folder(self) -> Path:
        return self._folder

    def gate(self) -> Gate | None:
        return self._gate

    def trusted_folders(self) -> tuple[Path, ...]:
        return self._trusted

    def report_non_finite(self, binding: ActuatorBinding) -> None:
        """Note that an effort was not finite, and that the last finite ctrl is held."""
        self._guard.report_non_finite(binding)

    def report(self, kind: str, message: str, *, joint: str = "") -> None:
        """Add an event about this actor."""
        self._events.add(Event(float(self._data.time), self.name, kind, "", joint, message))


# Base ---------------------------------------------------------------------------------------------


def base_address(robot: ActorInWorld) -> int | None:
    """qpos address of the free base, or None for a fixed-base robot.

    The base is a free body that the robot's actuators move: a free cube on its table, or in its
    hand, is not one. Of a model without actuators it is the first body, if that is free.
    """
    model, prefix = robot.model, robot.model_map.prefix
    named = [i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)]
    driven = _driven_roots(robot)
    for body in named[:1] if driven is None else [i for i in named if i in driven]:
        address = _free_address(model, body)
        if address is not None:
            return address
    return None


def _free_address(model: mujoco.MjModel, body: int) -> int | None:
    """qpos address of a free body; None: it is none."""
    joint = int(model.body_jntadr[body])
    is_free = joint >= 0 and model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_FREE)
    return int(model.jnt_qposadr[joint]) if is_free else None


def free_addresses(robot: ActorInWorld) -> dict[str, int]:
    """qpos addresses of the free bodies of its model by name; its base is called `base`."""
    model, prefix, base = robot.model, robot.model_map.prefix, base_address(robot)
    found: dict[str, int] = {} if base is None else {"base": base}
    for body in range(1, model.nbody):
        name, address = model.body(body).name, _free_address(model, body)
        if name.startswith(prefix) and address is not None and address != base:
            found[name.removeprefix(prefix)] = address
    return found


def _driven_roots(robot: ActorInWorld) -> set[int] | None:
    """The bodies at the roots of what actuators move; None: there are no actuators."""
    model, data = robot.model, robot.data
    if not robot.actuators:
        return None
    moments = np.zeros((model.nout, model.nv))
    mujoco.mju_sparse2dense(
        moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    rows = moments[[b.output_address for b in robot.actuators]]
    bodies = model.dof_bodyid[np.flatnonzero(rows.any(axis=0))]
    return set(model.body_rootid[bodies].tolist())


def base_position(robot: ActorInWorld) -> FloatArray | None:
    """Position of the free base, or None for a fixed-base robot."""
    address = base_address(robot)
    return None if address is None else np.array(robot.data.qpos[address : address + 3])
