"""Recordings as `.npz`: numpy arrays and a JSON text, with nothing lost."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mjrig.core.arrays import let_go
from mjrig.core.errors import RecordingError
from mjrig.core.files.atomic_writes import replacing
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.file_limits import most_bytes
from mjrig.data.recording.named_arrays import arrays_of, meta_of, recording_of
from mjrig.data.recording.npz_arrays import NpzArrays, npz_arrays, npz_names
from mjrig.data.recording.recording import Recording

#: The entry that identifies the format.
META = "mjrig_recording"


def write_npz(recording: Recording, path: Path) -> None:
    """Write a recording without any loss.

    Raises:
        RecordingError: it cannot be written there.
    """
    arrays: dict[str, Any] = arrays_of(recording)
    # A reader knows from this that no array is missing; that each is whole, the zip file knows.
    meta = {**meta_of(recording), "arrays": {n: list(a.shape) for n, a in arrays.items()}}
    arrays[META] = np.array(json.dumps(meta, ensure_ascii=False))
    size = sum(np.asarray(a).nbytes for a in arrays.values())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            _write_arrays(stream, arrays, zipfile.ZIP_DEFLATED)
            if size > most_bytes(stream.tell()):  # so small that nobody would read it
                stream.seek(0)
                stream.truncate()
                _write_arrays(stream, arrays, zipfile.ZIP_STORED)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror or error}") from error


def _write_arrays(stream: BinaryIO, arrays: Mapping[str, Any], method: int) -> None:
    """As numpy.savez does, but without keeping the memory of arrays that were written."""
    with zipfile.ZipFile(stream, "w", method, allowZip64=True) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(values), allow_pickle=False)
            let_go()


def read_npz(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A recording written by `write_npz`; None: another format.

    Raises:
        RecordingError: it is broken.
    """
    del hints  # the file is self-contained
    arrays = npz_arrays(path, needs=(META,))
    if arrays is None:
        if path.suffix.lower() == ".npz" and npz_names(path) is None:
            raise RecordingError(f"{path}: is damaged: not a whole zip file")
        return None
    with decoding(path, META):
        meta = json.loads(str(arrays.pop(META)[()]))
    if not isinstance(meta, dict):
        raise RecordingError(f"{path}: is damaged: {META}: is not a JSON object")
    written = meta.pop("arrays", None)
    recording = recording_of(path, "npz", meta, arrays)
    recording = replace(recording, notes=(*recording.notes, *arrays.notes()))
    _check_written(path, written, arrays)
    return recording


def _check_written(path: Path, written: object, arrays: NpzArrays) -> None:
    """Compare the arrays with the list that was stored with them."""
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    if written is None or written == shapes:
        return
    listing = written if isinstance(written, dict) else {}
    changed = [n for n in {**listing, **shapes} if listing.get(n) != shapes.get(n)]
    raise RecordingError(
        f"{path}: is damaged: it does not hold the arrays it was written with: {listed(changed)}"
    )
