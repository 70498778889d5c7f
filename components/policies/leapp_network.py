"""LeappNetwork: a LEAPP bundle in the loop: named inputs, states that feed back, several nodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.policies.leapp_bundle import BundleTensor, LeappBundle, Port
from mjrig.components.policies.network import PolicyNetwork
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.safetensors import read_safetensors
from mjrig.components.policies.terms.view import Float32, Indices
from mjrig.errors import PolicyError, PropertyError
from mjrig.files.decoding import reason
from mjrig.names import listed, suggestion

Arrays = dict[Port, npt.NDArray[Any]]


class LeappNetwork(PolicyNetwork):
    """Runs the nodes of a bundle in order; what feeds back starts with the bundle's values.

    The action is what the bundle commands of joints, one output after the other: targets, in the
    units of the joints.

    Raises:
        PolicyError: the bundle is damaged or not complete, or a term names no input of it.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_state",)

    def __init__(self, path: Path, said: PolicyFile) -> None:
        super().__init__(path)
        self.bundle = bundle = LeappBundle(path)
        bundle.verify()
        self._inputs = {bundle.label(tensor): tensor for tensor in bundle.inputs}
        self._check_terms(said)
        if not bundle.targets:
            raise self.error("has no output that commands joints")
        try:
            self._files = {node.name: OnnxFile(node.path) for node in bundle.nodes}
        except PropertyError as error:
            raise PolicyError(str(error)) from error
        self._fresh = self._first_values()
        self._state = dict(self._fresh)
        self._places: Mapping[str, Indices] = {}
        self._values: Arrays = {}

    def _check_terms(self, said: PolicyFile) -> None:
        named = [term.input for term in said.terms]
        for name in named:
            if name not in self._inputs:
                hint = suggestion(name, self._inputs)
                raise self.error(f"has no input {name!r}, which a term of the policy names; {hint}")
        unfed = [name for name in self._inputs if name not in named]
        if unfed:
            raise self.error(f"takes {listed(unfed)}, which no term feeds (input: {unfed[0]})")

    def _first_values(self) -> Arrays:
        """Feedback of the tick before the first: of the file, else zeros."""
        file = self.bundle.initial
        stored = read_safetensors(file) if file is not None else {}
        tensors = {t.port: t for node in self.bundle.nodes for t in node.inputs}
        found: Arrays = {}
        for port in self.bundle.feedback:
            node, name = port
            shape = tensors[port].shape
            value = stored.get(f"{node}/{name}", stored.get(name))
            if value is None:
                value = np.zeros(shape, np.float32)
            if value.shape != shape:
                raise self.error(
                    f"the first value of {name!r} has shape {value.shape}, not {shape}"
                )
            found[port] = value.astype(np.float32)
        return found

    def feed(self, places: Mapping[str, Indices]) -> None:
        for name, where in places.items():
            tensor = self._inputs.get(name)
            if tensor is not None and where.size != tensor.size:
                raise self.error(
                    f"takes {tensor.size} values as {name!r}, its terms have {where.size}"
                )
        self._places = places

    def run(self, observation: Float32, tick: int) -> Float32:
        values: Arrays = dict(self._state)
        for name, where in self._places.items():
            tensor = self._inputs[name]
            values[tensor.port] = observation[where].reshape(tensor.shape)
        for node in self.bundle.nodes:
            feeds = {tensor.name: self._input(tensor, values) for tensor in node.inputs}
            names = [tensor.name for tensor in node.outputs]
            for name, value in zip(names, self._call(node.name, names, feeds), strict=True):
                values[node.name, name] = value
        action = [np.asarray(values[t.port], np.float32).reshape(-1) for t in self.bundle.targets]
        found: Float32 = np.concatenate(action)
        if np.isfinite(found).all():
            self._state = {sink: values[out] for sink, out in self.bundle.feedback.items()}
        self._values = values
        return found

    def _input(self, tensor: BundleTensor, values: Arrays) -> npt.NDArray[Any]:
        source = self.bundle.flow.get(tensor.port, tensor.port)
        return values[source]

    def _call(self, node: str, names: list[str], feeds: dict[str, Any]) -> list[Any]:
        try:
            found: list[Any] = self._files[node].session.run(names, feeds)
        except Exception as error:  # onnxruntime has no common base class
            raise self.error(f"{node!r} cannot be run: {reason(error)}") from error
        return found

    def output(self, tensor: BundleTensor) -> FloatArray:
        """An output of the last tick."""
        return np.asarray(self._values[tensor.port], np.float64).reshape(-1)

    def reset(self) -> None:
        self._state = dict(self._fresh)
