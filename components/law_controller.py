"""What the controllers with a law share: state and setpoints in, clamped effort out."""

from functools import partial
from typing import Any

import numpy as np

from mjrig.components.gather import Buffer, Operation, as_slice, gather, merge, scaled
from mjrig.controller import ArticulationController
from mjrig.property_kinds import FloatArray
from mjrig.setpoints import FEEDFORWARD, POSITION, VELOCITY, Source


class LawController(ArticulationController):
    """Runs a law on the owned actuators.

    With g = gear·gain the law is evaluated in actuator space: q, v, q* and v* times g, feedforward
    and limits divided by g, gains by g². Its value is the ctrl, and the joint effort is g times it.
    Only this form has the engine's bits for any gear.
    """

    _factor: FloatArray
    _read_state: tuple[Operation, ...]
    _state_inputs: tuple[Buffer, ...]
    _read_targets: tuple[Operation, ...]
    _target_inputs: tuple[Buffer, ...]
    _version: int
    _raw: Buffer
    _low: Buffer
    _high: Buffer
    _clamped: Buffer
    _write: tuple[Operation, ...]

    def prepare(self) -> None:
        super().prepare()
        self._factor, self._raw = np.zeros(0), np.zeros(0)

    def make_law(self, size: int, dtype: Any) -> Any:
        """Hook: the law, made for `size` actuators."""
        raise NotImplementedError

    def load_law(self) -> None:
        """Hook: hand the resolved gains to the law, in actuator space."""
        raise NotImplementedError

    def limits(self) -> FloatArray:
        """Hook: the symmetric effort limit per binding, joint units."""
        raise NotImplementedError

    def dtype(self) -> Any:
        """Hook: the precision the law runs in."""
        return np.float64

    def targets_are_clamped(self) -> bool:
        """Hook: whether position targets are held inside the joint range."""
        return False

    # Bind: everything that can be decided is decided here ----------------------------------------

    def on_bind(self, model: Any, data: Any) -> None:
        size = self.num_bindings
        self._factor = np.array([b.factor for b in self.bindings])
        self._raw = np.zeros(size, self.dtype())
        self._clamped = np.zeros(size, self.dtype())
        self._law = self.make_law(size, self.dtype())
        self._plan(data)
        self._load()

    def _plan(self, data: Any) -> None:
        """Prepare the operations that read the state, read the setpoints and write ctrl."""
        q = self._state(data.qpos, data.actuator_length, "qpos_address")
        qd = self._state(data.qvel, data.actuator_velocity, "dof_address")
        rows = [self._row(POSITION), self._row(VELOCITY), self._row(FEEDFORWARD)]
        if self.targets_are_clamped():
            rows[0] = self._inside_joint_range(*rows[0])
        factor = self._factor
        prepared = [
            scaled(*q, factor),
            scaled(*qd, factor),
            scaled(*rows[POSITION], factor),
            scaled(*rows[VELOCITY], factor),
            scaled(*rows[FEEDFORWARD], factor, divide=True),
        ]
        self._state_inputs = tuple(buffer for buffer, _ in prepared[:2])
        self._read_state = tuple(op for _, operations in prepared[:2] for op in operations)
        self._target_inputs = tuple(buffer for buffer, _ in prepared[2:])
        self._read_targets = tuple(op for _, operations in prepared[2:] for op in operations)
        self._version = -1
        self._write = tuple(self._writers(data.ctrl))

    def _state(
        self, joint: FloatArray, actuator: FloatArray, address: str
    ) -> tuple[Buffer, list[Operation]]:
        on_joint = [i for i, b in enumerate(self.bindings) if b.on_joint]
        joints = gather(joint, [getattr(self.bindings[i], address) for i in on_joint], self.dtype())
        if len(on_joint) == self.num_bindings:
            return joints
        others = [i for i, b in enumerate(self.bindings) if not b.on_joint]
        lengths = gather(actuator, [self.bindings[i].output_address for i in others], self.dtype())
        parts = [(np.array(on_joint), *joints), (np.array(others), *lengths)]
        return merge([p for p in parts if len(p[0])], self.num_bindings)

    def _row(self, row: int) -> tuple[Buffer, list[Operation]]:
        return gather(self.setpoints.values[row], self.columns.tolist(), self.dtype())

    def _inside_joint_range(
        self, target: Buffer, operations: list[Operation]
    ) -> tuple[Buffer, list[Operation]]:
        unlimited = (-np.inf, np.inf)
        ranges = np.array([b.joint_range or unlimited for b in self.bindings], target.dtype)
        inside = np.zeros_like(target)
        low, high = ranges[:, 0].copy(), ranges[:, 1].copy()
        return inside, [
            *operations,
            partial(np.maximum, target, low, out=inside),
            partial(np.minimum, inside, high, out=inside),
        ]

    def _writers(self, ctrl: FloatArray) -> list[Operation]:
        addresses = [b.ctrl_address for b in self.bindings]
        where: Any = as_slice(addresses)
        if where is not None:
            return [partial(np.copyto, ctrl[where], self._clamped)]
        return [partial(ctrl.__setitem__, np.array(addresses, dtype=np.intp), self._clamped)]

    def _load(self) -> None:
        self.load_law()
        limit = (self.limits() / np.abs(self._factor)).astype(self.dtype())
        self._low, self._high = -limit, limit
        self._version = -1  # the commanded part holds gains too

    # Run ----------------------------------------------------------------------------------------

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        version = self._bound_to.setpoints.version
        if version != self._version:
            self._version = version
            for read in self._read_targets:
                read()
            self._law.command(*self._target_inputs)
        for read in self._read_state:
            read()
        raw, clamped = self._raw, self._clamped
        self._law.compute(*self._state_inputs, raw)
        np.minimum(raw, self._high, out=clamped)
        np.maximum(clamped, self._low, out=clamped)
        for write in self._write:
            write()

    def on_change(self, names: tuple[str, ...]) -> None:
        super().on_change(names)
        if self.is_bound:
            self._load()

    @property
    def raw_effort(self) -> FloatArray:
        raw: FloatArray = self._factor * self._raw
        return raw

    def reset(self) -> None:
        self._raw[:] = 0.0

    def memory(self) -> Any:
        return self._raw.copy()

    def restore(self, memory: Any) -> None:
        self._raw[:] = memory
