"""ActorInWorld: addresses and names of one actor in a compiled model."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mujoco

from mjrig.arrays import FloatArray
from mjrig.control.finite_guard import Guard
from mjrig.control.passthrough_writers import takes_rows
from mjrig.control.setpoints import SetpointBank, Setpoints
from mjrig.errors import BindingError
from mjrig.files.paths import Gate
from mjrig.model.actor_model import ActorModel, ActorState
from mjrig.model.binding import ActuatorBinding, describe_actuators, equipped
from mjrig.names import Slots, listed, suggestion
from mjrig.properties.has_properties import HasProperties
from mjrig.readings.events import Event, EventLog
from mjrig.readings.live_actuator import LiveActuator
from mjrig.readings.sensors import read_sensors


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
