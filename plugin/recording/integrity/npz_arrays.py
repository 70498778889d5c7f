"""The arrays of an `.npz`: sizes are checked before anything is unpacked, checksums while it is."""

import math
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mjrig.errors import RecordingError
from mjrig.names import listed
from mjrig.recording.integrity.limits import NUMBER, check_size

SUFFIX = ".npy"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Everything a damaged archive or array raises.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, IndexError,
    RuntimeError, NotImplementedError, SyntaxError, TypeError, UnicodeError, OverflowError,
    MemoryError, RecursionError,
)  # fmt: skip


def npz_names(path: Path) -> list[str] | None:
    """The names of the arrays; None: it is not a zip file.

    Raises:
        RecordingError: its list of entries is damaged.
    """
    try:
        if not zipfile.is_zipfile(path):
            return None
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(SUFFIX) for name in archive.namelist()]
    except DAMAGE as error:
        raise damaged(path, error) from error


def npz_arrays(path: Path, *, needs: Iterable[str] = ()) -> dict[str, npt.NDArray[Any]] | None:
    """Every array; None: it is not a zip file, or lacks one that it needs.

    Python objects are never loaded.

    Raises:
        RecordingError: it is damaged; names the array.
    """
    names = npz_names(path)
    if names is None or not set(needs) <= set(names):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                entry.filename.removesuffix(SUFFIX): _array(path, archive, entry)
                for entry in entries_of(path, archive)
            }
    except DAMAGE as error:
        raise damaged(path, error) from error


def damaged_arrays(path: Path) -> dict[str, str]:
    """What is wrong with each array that cannot be read.

    Raises:
        RecordingError: not even the list of arrays can be read.
    """
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in entries_of(path, archive):
                try:
                    _array(path, archive, entry)
                except RecordingError as error:
                    found[entry.filename.removesuffix(SUFFIX)] = str(error.__cause__ or error)
    except DAMAGE as error:
        raise damaged(path, error) from error
    return found


def damaged(path: Path, error: BaseException, name: str = "") -> RecordingError:
    """An error that names the file and the array."""
    where = f"{name}: " if name else ""
    what = " ".join(str(error).split()) or type(error).__name__
    return RecordingError(f"{path}: is damaged: {where}{what}")


def entries_of(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The entries of an archive that numpy may have written.

    Raises:
        RecordingError: an entry is there twice, encrypted, or all of them are too large.
    """
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 5000 else []
    if twice or len(names) != len(set(names)):
        raise RecordingError(f"{path}: is damaged: {listed(twice)}: is there twice")
    check_size(path, sum(entry.file_size for entry in entries))
    odd = next((e for e in entries if e.compress_type not in _METHODS or e.flag_bits & 1), None)
    if odd is not None:
        raise RecordingError(
            f"{path}: {odd.filename}: is encrypted, or compressed in a way that numpy does not"
        )
    return entries


def _array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; the whole entry is read, since its checksum is of all of it."""
    name = entry.filename.removesuffix(SUFFIX)
    try:
        content = archive.read(entry)
        stream = BytesIO(content)
        shape, in_columns, dtype = header_of(stream)
        numbers = math.prod(shape)
        start = stream.tell()
        if len(content) - start != numbers * dtype.itemsize:
            raise ValueError(f"{len(content) - start} bytes do not make {dtype} {shape}")
        check_size(path, numbers * max(dtype.itemsize, NUMBER))
        flat = np.frombuffer(content, dtype, numbers, start)
        return flat.reshape(shape[::-1]).T if in_columns else flat.reshape(shape)
    except RecordingError:
        raise
    except DAMAGE as error:
        raise damaged(path, error, name) from error


def header_of(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns are contiguous, and kind of the numbers of an array.

    Raises:
        ValueError: it is none that is read.
    """
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"has version {version} of numpy's format")
    shape, in_columns, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    if min(shape, default=0) < 0:
        raise ValueError(f"has the shape {shape}")
    return shape, in_columns, dtype
