"""Recordings of any origin as HDF5: the arrays of `Recording` by name, and a JSON text."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mjrig.core.arrays import blocks
from mjrig.core.errors import RecordingError
from mjrig.core.files.atomic_writes import replacing_file
from mjrig.core.files.decoding import decoding
from mjrig.data.recording.checks import required
from mjrig.data.recording.h5_columns import H5Columns, h5py_package, open_h5
from mjrig.data.recording.named_arrays import arrays_of, meta_of, recording_of
from mjrig.data.recording.recording import Recording

#: The attribute that identifies the format; mjrig's recorder writes another layout.
META = "mjrig_recording"
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
#: Arrays of so many numbers are not packed; larger ones in pieces of so many rows.
SMALL, ROWS = 64, 8192


def write_h5(recording: Recording, path: Path) -> None:
    """Write a recording without any loss.

    Raises:
        RecordingError: it cannot be written there.
        MissingExtraError: h5py is not installed.
    """
    h5py = h5py_package()
    arrays = arrays_of(recording)
    meta = {**meta_of(recording), "arrays": {n: list(a.shape) for n, a in arrays.items()}}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as target, h5py.File(target, "w") as file:
            file.attrs[META] = json.dumps(meta, ensure_ascii=False)
            for name, values in arrays.items():
                _write_array(file, _dataset(name), values)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write_array(file: Any, name: str, values: Any) -> None:
    """One array, some thousand rows at a time; only arrays with rows are packed."""
    if values.size <= SMALL:
        file.create_dataset(name, data=values)
        return
    chunk = (min(len(values), ROWS), *values.shape[1:])
    packed = {"compression": "gzip", "fletcher32": True, "chunks": chunk}
    dataset = file.create_dataset(name, values.shape, values.dtype, **packed)
    for rows in blocks(len(values), chunk[0]):
        dataset[rows] = values[rows]


def read_h5(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A recording written by `write_h5`; None: another format.

    Raises:
        RecordingError: it is damaged.
    """
    del hints  # the file is self-contained
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        if stream.read(len(_SIGNATURE)) != _SIGNATURE:
            return None
    with decoding(path), open_h5(path) as file:
        stored = file.attrs.get(META)
        if not isinstance(stored, str):
            return None
        with decoding(path, META):
            meta = json.loads(stored)
            shapes = {str(name): list(shape) for name, shape in meta.pop("arrays").items()}
        columns = H5Columns(path, file)
        arrays: dict[str, Any] = {}
        for name in shapes:
            arrays[name] = required(path, columns, _dataset(name)).content()
    if {n: list(a.shape) for n, a in arrays.items()} != shapes:
        raise RecordingError(f"{path}: is damaged: it does not hold the arrays it was written with")
    return recording_of(path, "h5", meta, arrays)


def _dataset(name: str) -> str:
    """The data set of an array; `effort` and `effort/step` cannot both be in HDF5."""
    return name.replace("/", ":")
