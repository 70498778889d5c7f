"""Network laws: MLP, LSTM and GRU actuator models from ONNX files."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.law import Implicit, Law, commit
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.laws.pipeline_arrays import Array, PipelineSpace, State
from mjrig.core.errors import PropertyError
from mjrig.core.files.decoding import reason
from mjrig.core.properties.collection_kinds import Table, anything
from mjrig.core.properties.scalar_kinds import FilePath

Float32 = npt.NDArray[np.float32]
COLUMNS = (
    "position",
    "target_position",
    "position_error",
    "velocity",
    "target_velocity",
    "velocity_error",
)


class NetworkLaw(Law, ABC):
    """Base class of network laws: a file, float32 inside, one row per actuator."""

    path = FilePath(suffixes=(".onnx",), structural=True, doc="ONNX file.")
    metadata = Table(
        anything, structural=True, doc="Replaces what the metadata of the file says, or lacks."
    )

    def __init__(
        self, path: str | Path | None = None, metadata: Mapping[str, object] | None = None
    ) -> None:
        given = {"path": None if path is None else str(path), "metadata": metadata}
        super().__init__(**{name: value for name, value in given.items() if value is not None})

    def enter(self, space: PipelineSpace) -> None:
        super().enter(space)
        if self.path is None:
            raise PropertyError(f"{self.label}: needs a path", ("path",))
        try:
            self._net = OnnxFile(self.find_file(self.path))
            self._net.metadata |= self.metadata
            self.read_metadata()
        except PropertyError as error:
            raise PropertyError(f"{self.label}.path: {error}", ("path",)) from None
        self._rows = int(np.prod(space.shape))
        self._next: dict[str, npt.NDArray[Any]] = {}

    def read_metadata(self) -> None:
        """Hook: read and check the metadata of the file."""

    def advance(self, state: State, good: npt.NDArray[np.bool_] | None = None) -> None:
        for name, value in self._next.items():
            target = getattr(state, name)
            mask = None
            if good is not None:  # actuators are the rows of a hidden state, else the last axis
                hidden = target.ndim == 3 and target.shape[1] == self._rows
                mask = good.reshape(1, -1, 1) if hidden else good
                mask = np.broadcast_to(mask, target.shape)
            commit(target, value, mask)

    def compute(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        state: State,
        dt: float,
        out: Array,
    ) -> None:
        effort = self.infer(q, qd, target_q, target_qd, state)
        if effort.size != self._rows:
            raise self._net.error(
                f"output {self._net.outputs[0]!r} has {effort.size} values for {self._rows} "
                "actuators; one each is expected"
            )
        out[...] = effort.reshape(out.shape)

    @abstractmethod
    def infer(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, state: State
    ) -> Float32:
        """The efforts of all actuators; `_next` gets what they remember."""

    def run(self, inputs: dict[str, Float32]) -> list[Float32]:
        """The network's outputs, in its own order.

        Raises:
            PropertyError: the inputs do not fit the network.
        """
        try:
            outputs: list[Float32] = self._net.session.run(None, inputs)
        except Exception as error:  # onnxruntime has no common base class
            raise self._net.error(f"cannot be run: {reason(error)}") from error
        return outputs

    def why_not_native(self) -> str:
        return "MuJoCo has no network actuator"

    def why_not_compiled(self) -> str:
        return "networks run in onnxruntime"


class MLP(NetworkLaw):
    """τ = scale · net([(q* − q), v] now and i steps ago); const, ff and v* are not used.

    The history starts with zeros. Metadata: `input_order` pos_vel or vel_pos, `input_idx`,
    `pos_scale`, `vel_scale`, `effort_scale` (or `torque_scale`).
    """

    def read_metadata(self) -> None:
        net = self._net
        self._order = net.metadata.get("input_order", "pos_vel")
        if self._order not in ("pos_vel", "vel_pos"):
            raise net.error(
                f"metadata 'input_order' must be pos_vel or vel_pos, got {self._order!r}"
            )
        index = net.metadata.get("input_idx", [0])
        index = [index] if isinstance(index, int) else index
        if not isinstance(index, list) or not all(isinstance(i, int) and i >= 0 for i in index):
            raise net.error(f"metadata 'input_idx' must be whole numbers >= 0, got {index!r}")
        self._index = index
        self._pos_scale = np.float32(net.number("pos_scale", default=1.0))
        self._vel_scale = np.float32(net.number("vel_scale", default=1.0))
        self._scale = np.float32(net.number("effort_scale", "torque_scale", default=1.0))
        if len(net.inputs) != 1:
            raise net.error(f"has inputs {', '.join(net.inputs)}; an MLP has one")
        net.expect(net.inputs[0], [None, 2 * len(index)])
        net.expect(net.outputs[0], [None, 1])

    def needs(self) -> dict[str, str]:
        return {"target_q": "the network's position error"}

    def remember(self, state: State, space: PipelineSpace) -> None:
        depth = max(self._index) + 1
        state.add("pos_error_history", np.zeros((depth, *space.shape), np.float32))
        state.add("vel_history", np.zeros((depth, *space.shape), np.float32))

    def infer(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, state: State
    ) -> Float32:
        error = np.subtract(target_q, q).astype(np.float32)
        errors = np.concatenate([error[None], state.pos_error_history])
        speeds = np.concatenate([qd.astype(np.float32)[None], state.vel_history])
        pos = [(errors[i] * self._pos_scale).reshape(-1) for i in self._index]
        vel = [(speeds[i] * self._vel_scale).reshape(-1) for i in self._index]
        columns = pos + vel if self._order == "pos_vel" else vel + pos
        (effort, *_) = self.run({self._net.inputs[0]: np.stack(columns, axis=1)})
        self._next = {"pos_error_history": errors[:-1], "vel_history": speeds[:-1]}
        return effort * self._scale

    def implicit(self) -> Implicit:
        return Implicit.LINEARISED if self._index == [0] else Implicit.NONE


class LSTM(NetworkLaw):
    """τ = scale · net([(q* − q), v], h, c); const, ff and v* are not used.

    Metadata: `num_layers`, `hidden_size`, scales as MLP, and `input_name`, `hidden_in_name`,
    `cell_in_name`, `output_name`, `hidden_out_name`, `cell_out_name`. The input is (1, actuators,
    2), or (actuators, 1, 2) where its shape or `batch_first` says so.
    """

    def read_metadata(self) -> None:
        net = self._net
        self._pos_scale = np.float32(net.number("pos_scale", default=1.0))
        self._vel_scale = np.float32(net.number("vel_scale", default=1.0))
        self._scale = np.float32(net.number("effort_scale", "torque_scale", default=1.0))
        if len(net.inputs) < 3 or len(net.outputs) < 3:
            raise net.error(
                f"has inputs {', '.join(net.inputs)} and outputs {', '.join(net.outputs)}; "
                "an LSTM takes and gives a hidden and a cell state"
            )
        order = ("input_name", "hidden_in_name", "cell_in_name")
        self._in = [net.metadata.get(k, net.inputs[i]) for i, k in enumerate(order)]
        order = ("output_name", "hidden_out_name", "cell_out_name")
        self._out = [net.metadata.get(k, net.outputs[i]) for i, k in enumerate(order)]
        for name in (*self._in, *self._out):
            net.shape(name)  # raises for a name that is not there
        shape = net.shape(self._in[1])
        layers = net.metadata.get("num_layers", shape[0])
        hidden = net.metadata.get("hidden_size", shape[-1])
        if not isinstance(layers, int) or not isinstance(hidden, int):
            raise net.error("metadata must give 'num_layers' and 'hidden_size'")
        first, second, *_ = (*net.shape(self._in[0]), None, None)
        self._batch_first = bool(net.metadata.get("batch_first", second == 1 and first != 1))
        net.expect(self._in[0], [None, 1, 2] if self._batch_first else [1, None, 2])
        for name in (*self._in[1:], *self._out[1:]):
            net.expect(name, [layers, None, hidden])
        self._shape = (layers, hidden)

    def needs(self) -> dict[str, str]:
        return {"target_q": "the network's position error"}

    def remember(self, state: State, space: PipelineSpace) -> None:
        layers, hidden = self._shape
        for name in ("hidden", "cell"):
            state.add(name, np.zeros((layers, self._rows, hidden), np.float32), rows=1)

    def infer(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, state: State
    ) -> Float32:
        error = np.subtract(target_q, q).astype(np.float32).reshape(-1) * self._pos_scale
        speed = qd.astype(np.float32).reshape(-1) * self._vel_scale
        rows = np.stack([error, speed], axis=1)
        rows = rows[:, None] if self._batch_first else rows[None]
        inputs = (rows, state.hidden, state.cell)
        outputs = dict(
            zip(self._net.outputs, self.run(dict(zip(self._in, inputs, strict=True))), strict=True)
        )
        self._next = {"hidden": outputs[self._out[1]], "cell": outputs[self._out[2]]}
        return outputs[self._out[0]] * self._scale

    def implicit(self) -> Implicit:
        return Implicit.LINEARISED


class GRU(NetworkLaw):
    """τ = std · net((x − mean) / std, h) + mean, with named input columns.

    Columns: position, target_position, position_error, velocity, target_velocity, velocity_error
    and at most one custom input. Metadata: `input_columns`, `custom_inputs`, `normalization`,
    `sample_dt_s` (the only dt it runs with), `effort_scale`.
    """

    def read_metadata(self) -> None:
        net = self._net
        columns = net.metadata.get("input_columns")
        if not isinstance(columns, list) or not columns:
            raise net.error("metadata must give 'input_columns'")
        custom = [c for c in columns if c not in COLUMNS]
        declared = net.metadata.get("custom_inputs", custom)
        unknown = [c for c in custom if c not in declared]
        if unknown or len(custom) > 1:
            raise net.error(
                f"metadata 'input_columns' has {', '.join(unknown or custom)}; known are "
                f"{', '.join(COLUMNS)} and one custom input"
            )
        self._columns, self.custom_names = columns, tuple(custom)
        self._mean, self._std = self._statistics("inputs", columns)
        (self._out_mean,), (self._out_std,) = self._statistics("targets", ["torque"])
        self._scale = np.float32(net.number("effort_scale", "torque_scale", default=1.0))
        self._dt = float(net.metadata.get("sample_dt_s", math.nan))
        self._input, *self._hidden_in = net.inputs
        self._output, *self._hidden_out = net.outputs
        if len(self._hidden_in) != len(self._hidden_out) or not self._hidden_in:
            raise net.error(
                f"has inputs {', '.join(net.inputs)} and outputs {', '.join(net.outputs)}; "
                "a GRU takes and gives one hidden state per layer"
            )
        net.expect(self._input, [1, None, len(columns)])
        self._width = net.shape(self._hidden_in[0])[-1]
        for name in (*self._hidden_in, *self._hidden_out):
            net.expect(name, [1, None, self._width])

    def _statistics(self, group: str, names: list[str]) -> tuple[Float32, Float32]:
        table = self._net.metadata.get("normalization", {}).get(group, {})
        found = []
        for kind, default in (("mean", 0.0), ("std", 1.0)):
            values = table.get(kind, {})
            missing = [n for n in names if values and n not in values]
            if missing:
                raise self._net.error(
                    f"metadata 'normalization.{group}.{kind}' lacks {', '.join(missing)}"
                )
            found.append(np.array([values.get(n, default) for n in names], np.float32))
        if not (np.isfinite(found[0]).all() and np.isfinite(found[1]).all() and found[1].all()):
            raise self._net.error(f"metadata 'normalization.{group}' must be finite, std not zero")
        return found[0], found[1]

    def needs(self) -> dict[str, str]:
        wanted = {}
        for column in self._columns:
            if column in ("target_position", "position_error"):
                wanted["target_q"] = f"the network's {column}"
            if column in ("target_velocity", "velocity_error"):
                wanted["target_qd"] = f"the network's {column}"
        return wanted

    def check_dt(self, dt: float | None) -> None:
        if math.isnan(self._dt):
            return
        if dt is None or abs(dt - self._dt) > 1e-5 * self._dt:
            raise ValueError(
                f"{self._net.path.name}: was trained with dt {self._dt:g} s (sample_dt_s), got {dt}"
            )

    def remember(self, state: State, space: PipelineSpace) -> None:
        shape = (len(self._hidden_in), self._rows, self._width)
        state.add("hidden", np.zeros(shape, np.float32), rows=1)

    def infer(
        self, q: Array, qd: Array, target_q: Array, target_qd: Array, state: State
    ) -> Float32:
        known = {
            "position": q,
            "target_position": target_q,
            "position_error": np.subtract(target_q, q),
            "velocity": qd,
            "target_velocity": target_qd,
            "velocity_error": np.subtract(target_qd, qd),
            **self._custom,
        }
        rows = np.stack([known[c].astype(np.float32).reshape(-1) for c in self._columns], axis=1)
        inputs = {self._input: ((rows - self._mean) / self._std)[None]}
        inputs |= {name: state.hidden[i : i + 1] for i, name in enumerate(self._hidden_in)}
        outputs = dict(zip(self._net.outputs, self.run(inputs), strict=True))
        self._next = {"hidden": np.concatenate([outputs[n] for n in self._hidden_out])}
        return outputs[self._output] * (self._scale * self._out_std) + self._out_mean

    def implicit(self) -> Implicit:
        return Implicit.NONE
