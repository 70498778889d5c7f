"""NeuralController: an actuator network from an ONNX file."""

from enum import StrEnum

from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.laws.law import Law
from mjrig.components.laws.networks import GRU, LSTM, MLP, NetworkLaw
from mjrig.components.laws.onnx_file import OnnxFile
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Table, anything
from mjrig.core.properties.scalar_kinds import Choice, FilePath


class Network(StrEnum):
    """Kind of network in a file."""

    AUTO = "auto"
    MLP = "mlp"
    LSTM = "lstm"
    GRU = "gru"


_LAW: dict[str, type[NetworkLaw]] = {"mlp": MLP, "lstm": LSTM, "gru": GRU}


class NeuralController(PipelineController):
    """τ = network(q* − q, v, …), clamped  [N·m or N]; one network, one row per actuator."""

    path = FilePath(
        suffixes=(".onnx",), structural=True, category="Network", doc="ONNX file of the network."
    )
    network = Choice(
        Network.AUTO,
        structural=True,
        category="Network",
        doc="Kind of network; auto: model_type in the file's metadata.",
    )
    metadata = Table(
        anything,
        structural=True,
        category="Network",
        doc="Replaces what the metadata of the file says, or lacks: input_order, pos_scale, …",
    )

    def make_law(self) -> Law:
        if self.path is None:
            raise PropertyError(f"{self.label}.path: needs an ONNX file", ("path",))
        kind = self.network.value
        if self.network is Network.AUTO:
            try:
                file = OnnxFile(self.find_file(self.path))
                kind = str({**file.metadata, **self.metadata}.get("model_type", ""))
            except PropertyError as error:
                raise PropertyError(f"{self.label}.path: {error}", ("path",)) from None
        if kind not in _LAW:
            raise PropertyError(
                f"{self.label}.network: {self.path.name} has no model_type in its metadata; "
                "must be one of mlp, lstm, gru",
                ("network",),
            )
        law = _LAW[kind](self.path, self.metadata)
        law.own(self, "network", "path")
        return law
