"""LEAPP bundles: named inputs and outputs, states that feed back, several networks."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.policies.network import PolicyNetwork
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.terms.view import Float32, Indices
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError, PolicyError, PropertyError
from mjrig.core.files.decoding import decoding, reason
from mjrig.core.files.paths import read_limited
from mjrig.core.names import listed, suggestion
from mjrig.core.yaml_text.yaml_document import MAX_CHARACTERS, Document

# Safetensors --------------------------------------------------------------------------------------

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
#: Longest header [bytes]; initial values of a policy need far less.
MOST = 10_000_000


def read_safetensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a file by name.

    Raises:
        PolicyError: it cannot be read, or is not such a file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"{path.name}: cannot be read: {error.strerror or error}") from error
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 2 <= size <= min(MOST, len(content) - 8):
        raise PolicyError(f"{path.name}: is not a safetensors file")
    with decoding(path.name, problem="is a damaged safetensors file", error=PolicyError):
        header = json.loads(content[8 : 8 + size])
        if not isinstance(header, dict):
            raise ValueError("no header")
        entries = {name: e for name, e in header.items() if name != "__metadata__"}
        return {name: _array(entry, content[8 + size :]) for name, entry in entries.items()}


def _array(entry: Any, data: bytes) -> npt.NDArray[Any]:
    start, end = (int(v) for v in entry["data_offsets"])
    shape = [int(n) for n in entry["shape"]]
    kind = np.dtype(_DTYPES[entry["dtype"]])
    if min(shape, default=1) < 0 or not 0 <= start <= end <= len(data):
        raise ValueError("an array lies outside of the file")
    if end - start != math.prod(shape) * kind.itemsize:
        raise ValueError("the size of an array is not that of its shape")
    return np.frombuffer(data[start:end], kind).reshape(shape).copy()


# Leapp bundle -------------------------------------------------------------------------------------

TOP = ("models", "pipeline")
#: Outputs that command joints: kind → what they command.
TARGETS = {
    "target/joint/position": "position",
    "target/joint/velocity": "velocity",
    "target/joint/torques": "effort",
    "target/joint/effort": "effort",
}
Port = tuple[str, str]


@dataclass(frozen=True)
class BundleTensor:
    """An input or output of a node.

    Attributes:
        size: number of values.
        names: of its values, as far as they are given.
        connection: what Isaac Lab connected it to: `state:robot:joint_pos`.
    """

    node: str
    name: str
    shape: tuple[int, ...]
    kind: str
    names: tuple[str, ...]
    connection: str
    temporal: bool

    @property
    def size(self) -> int:
        """Number of values."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def port(self) -> Port:
        """Node and name."""
        return self.node, self.name


@dataclass(frozen=True)
class BundleNode:
    """One network of a bundle."""

    name: str
    path: Path
    digest: str
    backend: str
    inputs: tuple[BundleTensor, ...]
    outputs: tuple[BundleTensor, ...]


class LeappBundle:
    """The description of a bundle; files are relative to it.

    Attributes:
        nodes: in file order.
        flow: input → output of the same tick that feeds it.
        feedback: input → output of the previous tick.
        frequency: ticks per second [Hz].
        initial: file with the first values of feedback; None: there is none.

    Raises:
        PolicyError: a value is missing or wrong, or it needs what is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        data = self._read()
        self.nodes = tuple(self._node(name, node) for name, node in data["models"].items())
        pipeline = data["pipeline"]
        self.flow = self._flow(pipeline, "data_flow")
        self.feedback = self._flow(pipeline, "feedback_flow")
        settings = pipeline.get("configs")
        frequency = settings.get("frequency") if isinstance(settings, dict) else None
        if not isinstance(frequency, int | float) or not 0.0 < frequency < 1e6:
            raise self.error(f"pipeline.configs.frequency must be > 0 Hz, got {frequency!r}")
        self.frequency = float(frequency)
        initial = pipeline.get("initial_values")
        self.initial = self._file(initial) if initial else None
        self._check_order()
        self.inputs = [t for n in self.nodes for t in n.inputs
                       if t.port not in self.flow and t.port not in self.feedback]  # fmt: skip
        listed_outputs = pipeline.get("outputs")
        self.outputs = list(
            self._outputs(listed_outputs if isinstance(listed_outputs, dict) else {})
        )

    def error(self, problem: str) -> PolicyError:
        """A PolicyError that names the file."""
        return PolicyError(f"{self.path.name}: {problem}")

    @property
    def files(self) -> list[Path]:
        """The description and everything it names."""
        more = [self.initial] if self.initial is not None else []
        return [self.path, *dict.fromkeys(node.path for node in self.nodes), *more]

    @property
    def targets(self) -> list[BundleTensor]:
        """Outputs that command joints, in order."""
        return [tensor for tensor in self.outputs if tensor.kind in TARGETS]

    def gains(self, kind: str) -> list[BundleTensor]:
        """Outputs that are gains: `kp` or `kd`."""
        return [tensor for tensor in self.outputs if tensor.kind == kind]

    def label(self, tensor: BundleTensor) -> str:
        """How policy.yaml names an input: with its node where there are several."""
        return tensor.name if len(self.nodes) == 1 else f"{tensor.node}/{tensor.name}"

    def verify(self) -> None:
        """Compare the networks with the sums in the description.

        Raises:
            PolicyError: one is missing, or is not the one that was described.
        """
        for node in self.nodes:
            try:
                content = node.path.read_bytes()
            except OSError as error:
                why = error.strerror or error
                raise self.error(
                    f"{node.path.name} of {node.name!r} cannot be read: {why}"
                ) from error
            if node.digest and sha256(content).hexdigest() != node.digest:
                raise self.error(
                    f"{node.path.name} is not the network that is described: its sha256 is not "
                    "sha256sum; export the bundle again, or take the file that belongs to it"
                )

    # Reading ------------------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        try:
            text = read_limited(self.path, MAX_CHARACTERS).decode("utf-8")
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise self.error(f"cannot be read: {why}") from error
        try:
            data = Document(text, self.path.name).data
        except MjrigError as error:
            raise PolicyError(str(error)) from error
        if not isinstance(data, dict) or not all(isinstance(data.get(k), dict) for k in TOP):
            raise self.error("is not a LEAPP bundle: it has no models and pipeline")
        if not data["models"]:
            raise self.error("has no models")
        return data

    def _file(self, name: object) -> Path:
        """A file beside the description; nowhere else."""
        if not isinstance(name, str) or not name or Path(name).name != name:
            raise self.error(f"names the file {name!r}; it must lie beside it")
        return self.path.with_name(name)

    def _node(self, name: str, node: object) -> BundleNode:
        parameters = node.get("parameters") if isinstance(node, dict) else None
        if not isinstance(node, dict) or not isinstance(parameters, dict):
            raise self.error(f"models.{name} has no parameters")
        segments = parameters.get("warp_segments")
        if segments:
            raise self.error(
                f"{name!r} has {segments} warp_segments: they need an operator of "
                "their own, which onnxruntime has not; export it without Warp kernels in its terms"
            )
        backend = str(parameters.get("backend", "onnx"))
        if backend not in ("onnx", "jit"):
            raise self.error(f"{name!r} has the backend {backend!r}; known are onnx and jit")
        if backend == "jit":
            raise self.error(
                f"{name!r} is TorchScript (backend jit), which needs torch; export it with the "
                "backend onnx"
            )
        path, digest = self._file(parameters.get("model_path")), parameters.get("sha256sum")
        tensors = (tuple(self._tensors(name, node, key)) for key in ("inputs", "outputs"))
        inputs, outputs = tensors
        return BundleNode(name, path, str(digest or ""), backend, inputs, outputs)

    def _tensors(self, node: str, data: Mapping[str, Any], key: str) -> Iterator[BundleTensor]:
        items = data.get(key)
        for item in items if isinstance(items, list) else ():
            if not isinstance(item, dict) or not isinstance(item.get("name"), str):
                raise self.error(f"models.{node}.{key} has an entry without a name")
            shape = item.get("shape")
            fits = isinstance(shape, list) and all(type(n) is int and 0 < n < 1e6 for n in shape)
            if not fits:
                raise self.error(f"models.{node}.{key}: {item['name']!r} has the shape {shape!r}")
            names = item.get("element_names")
            outer = names if isinstance(names, list) else []
            first = next((part for part in outer if isinstance(part, list)), [])
            temporal = "temporal_period_ms" in item or "__temporal_axis__" in outer
            yield BundleTensor(
                node,
                item["name"],
                tuple(shape or ()),
                str(item.get("kind") or ""),
                tuple(str(n) for n in first),
                str(item.get("isaaclab_connection") or ""),
                temporal,
            )

    def _flow(self, pipeline: Mapping[str, Any], key: str) -> dict[Port, Port]:
        """`node/out: [node/in, …]` as input → output."""
        entries, found = pipeline.get(key) or {}, {}
        if not isinstance(entries, dict):
            raise self.error(f"pipeline.{key} must be a mapping")
        for source, sinks in entries.items():
            output = self._port(str(source), outputs=True)
            for sink in sinks if isinstance(sinks, list) else [sinks]:
                found[self._port(str(sink), outputs=False)] = output
        return found

    def _port(self, text: str, *, outputs: bool) -> Port:
        node, _, name = text.partition("/")
        found = next((n for n in self.nodes if n.name == node), None)
        tensors = () if found is None else found.outputs if outputs else found.inputs
        if all(tensor.name != name for tensor in tensors):
            what = "output" if outputs else "input"
            raise self.error(f"pipeline names {text!r}: there is no such {what}")
        return node, name

    def _check_order(self) -> None:
        """Values of the same tick come from nodes before."""
        places = {node.name: i for i, node in enumerate(self.nodes)}
        for (sink, name), (source, _) in self.flow.items():
            if places[source] >= places[sink]:
                raise self.error(f"{sink}/{name} takes a value of {source!r}, which runs after it")

    def _outputs(self, names_by_node: Mapping[str, Any]) -> Iterator[BundleTensor]:
        """Those that pipeline.outputs names, in its order; else all."""
        for node in self.nodes:
            given = names_by_node.get(node.name)
            names = [str(n) for n in given] if isinstance(given, list) else None
            known = {tensor.name: tensor for tensor in node.outputs}
            wanted = list(known) if names is None else names
            unknown = [name for name in wanted if name not in known]
            if unknown:
                raise self.error(f"pipeline.outputs of {node.name!r} has no {listed(unknown)}")
            yield from (known[name] for name in wanted)


# Leapp network ------------------------------------------------------------------------------------

Arrays = dict[Port, npt.NDArray[Any]]


class LeappNetwork(PolicyNetwork):
    """Runs the nodes of a bundle in order; what feeds back starts with the bundle's values.

    The action is what the bundle commands of joints, one output after the other: targets, in the
    units of the joints.

    Raises:
        PolicyError: the bundle is damaged or not complete, or a term names no input of it.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_state",)

    def __init__(self, path: Path, policy: PolicyFile) -> None:
        super().__init__(path)
        self.bundle = bundle = LeappBundle(path)
        bundle.verify()
        self._inputs = {bundle.label(tensor): tensor for tensor in bundle.inputs}
        self._check_terms(policy)
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

    def _check_terms(self, policy: PolicyFile) -> None:
        named = [term.input for term in policy.terms]
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
