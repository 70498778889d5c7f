"""Recordings as `.npz`: numpy arrays and a JSON text, with nothing lost."""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.errors import RecordingError
from mjrig.recording.recording import Recording
from mjrig.recording.tables import arrays_of, meta_of, recording_of

#: The entry that identifies the format.
META = "mjrig_recording"


def write_npz(recording: Recording, path: Path) -> None:
    """Write a recording without any loss.

    Raises:
        RecordingError: it cannot be written there.
    """
    arrays: dict[str, Any] = arrays_of(recording)
    arrays[META] = np.array(json.dumps(meta_of(recording), ensure_ascii=False))
    partial = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as stream:
            np.savez_compressed(stream, **arrays)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RecordingError(f"{path}: cannot be written: {error.strerror or error}") from error


def read_npz(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """A recording written by `write_npz`; None: another format.

    Raises:
        RecordingError: it is broken.
    """
    del hints  # the file is self-contained
    if not zipfile.is_zipfile(path):
        if path.suffix.lower() == ".npz":
            raise RecordingError(f"{path}: is damaged: not a whole zip file")
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{META}.npy" not in archive.namelist():
                return None
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays.pop(META)[()]))
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise RecordingError(f"{path}: is damaged: {error}") from error
    return recording_of(path, "npz", meta, arrays)
