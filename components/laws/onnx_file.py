"""OnnxFile: an ONNX session and its metadata (extra `policy`)."""

import json
import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mjrig.errors import MissingExtraError, PropertyError
from mjrig.files.decoding import decoding

#: Option of onnxruntime: folder of the weights of a file that is given as bytes.
_BESIDE = "session.model_external_initializers_file_folder_path"


class OnnxFile:
    """A loaded network; every error names the file and the tensor or key.

    Args:
        content: the file as it is to be run, if not as it is stored.

    Raises:
        PropertyError: the file is missing or not a network.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        try:
            onnxruntime = import_module("onnxruntime")
        except ImportError as error:
            raise MissingExtraError("a network", "policy", error) from error
        self.path = path
        if not path.is_file():
            raise PropertyError(f"there is no network file {str(path)!r}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, not printed as well
        if content is not None:  # weights may lie in files beside it
            options.add_session_config_entry(_BESIDE, str(path.parent))
        with decoding(path.name, problem="not a network", error=PropertyError):
            self.session = onnxruntime.InferenceSession(
                str(path) if content is None else content,
                options,
                providers=["CPUExecutionProvider"],
            )
        self.metadata = _metadata(self.session.get_modelmeta().custom_metadata_map)
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def error(self, problem: str) -> PropertyError:
        """A PropertyError that names the file."""
        return PropertyError(f"{self.path.name}: {problem}")

    def output_type(self, name: str) -> str:
        """The type of an output, as onnxruntime writes it: `tensor(float)`."""
        return next((o.type for o in self.session.get_outputs() if o.name == name), "")

    def shape(self, name: str) -> list[Any]:
        """The declared shape of an input or output; unknown sizes are texts or None.

        Raises:
            PropertyError: there is none of that name.
        """
        for tensor in (*self.session.get_inputs(), *self.session.get_outputs()):
            if tensor.name == name:
                return list(tensor.shape)
        raise self.error(
            f"has no tensor {name!r}; inputs: {', '.join(self.inputs)}; "
            f"outputs: {', '.join(self.outputs)}"
        )

    def expect(self, name: str, wanted: list[int | None]) -> None:
        """Check a tensor's shape; None stands for any size.

        Raises:
            PropertyError: the shape does not fit.
        """
        shape = self.shape(name)
        fits = len(shape) == len(wanted) and all(
            w is None or not isinstance(s, int) or s == w
            for s, w in zip(shape, wanted, strict=True)
        )
        if not fits:
            text = [("any" if w is None else w) for w in wanted]
            raise self.error(f"tensor {name!r} has shape {shape}, expected {text}")

    def number(self, *keys: str, default: float) -> float:
        """The first of these metadata keys that is there, as a finite non-zero number.

        Raises:
            PropertyError: it is not.
        """
        for key in keys:
            if key in self.metadata:
                try:
                    value = float(self.metadata[key])
                except (TypeError, ValueError):
                    value = math.nan
                if not math.isfinite(value) or value == 0.0:
                    raise self.error(
                        f"metadata {key!r} must be finite and not zero, got {self.metadata[key]!r}"
                    )
                return value
        return default


def _metadata(raw: Mapping[str, str]) -> dict[str, Any]:
    """One property `metadata` that holds JSON, or one property per key."""
    if "metadata" in raw:
        try:
            found = json.loads(raw["metadata"])
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
    return {key: _decoded(text) for key, text in raw.items()}


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
