"""BundleFile: a LEAPP bundle as the network of an import."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.importers.sources.onnx_graph import OnnxGraph, read_graph
from mjrig.components.importers.sources.source import NetworkFile
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.components.policies.leapp_bundle import BundleTensor, LeappBundle
from mjrig.errors import SceneError
from mjrig.files.decoding import reason

#: Largest relative difference of gains that are constant.
SAME = 1e-5


class BundleFile(NetworkFile):
    """A bundle: its inputs are named by terms, so that it has none to be guessed.

    Raises:
        PolicyError: it is damaged, or its networks are not those that are described.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bundle = LeappBundle(path)
        self.bundle.verify()
        self.digest = sha256(path.read_bytes()).hexdigest()
        self._sessions = {node.name: OnnxFile(node.path) for node in self.bundle.nodes}
        self.onnx = next(iter(self._sessions.values()))

    @property
    def inputs(self) -> list[str]:
        return []

    @property
    def outputs(self) -> list[str]:
        return []

    def width(self, name: str) -> int | None:
        return None

    @property
    def paths(self) -> list[Path]:
        more = [self.path.with_name(n) for p in self.bundle.files if p.suffix == ".onnx"
                for n in read_graph(p).beside]  # fmt: skip
        return [*self.bundle.files, *more]

    def subtracted(self, tensor: BundleTensor) -> FloatArray | None:
        """What its network subtracts from an input; None: nothing constant."""
        node = next(node for node in self.bundle.nodes if node.name == tensor.node)
        graph: OnnxGraph = read_graph(node.path)
        return graph.subtracted(tensor.name, tensor.size)

    def constant_outputs(self, tensors: Sequence[BundleTensor]) -> list[FloatArray]:
        """Outputs that do not depend on the inputs.

        Raises:
            SceneError: one does.
        """
        found = []
        for tensor in tensors:
            tries = [self._run(tensor, seed) for seed in (0, 1)]
            if not np.allclose(*tries, rtol=SAME, atol=SAME):
                raise SceneError(
                    f"{self.path.name}: the gains {tensor.name!r} change with what the policy "
                    "sees: variable impedance is not run here"
                )
            found.append(tries[0])
        return found

    def _run(self, tensor: BundleTensor, seed: int) -> FloatArray:
        """An output for inputs at random."""
        rng = np.random.default_rng(seed)
        node = next(node for node in self.bundle.nodes if node.name == tensor.node)
        feeds = {t.name: rng.normal(size=t.shape).astype(np.float32) for t in node.inputs}
        try:
            (value,) = self._sessions[node.name].session.run([tensor.name], feeds)
        except Exception as error:  # onnxruntime has no common base class
            raise SceneError(f"{node.path.name}: cannot be run: {reason(error)}") from error
        return np.asarray(value, np.float64).reshape(-1)
