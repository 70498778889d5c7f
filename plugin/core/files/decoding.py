"""The boundary around decoders: whatever a damaged file makes them raise becomes one error of ours.

`decoding` goes around calls of other packages and the parsing of bytes, and names the place in the
file. `reading` goes around a reader as such: its error marks what no check of mjrig foresaw, and
the campaign counts it as a finding.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mjrig.core.errors import MissingExtraError, MjrigError, RecordingError
from mjrig.core.files.paths import shortened

#: The operating system failed, not the decoder: the content may be intact.
_SYSTEM = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EIO, errno.EISDIR, errno.ENAMETOOLONG,
           errno.ENOSPC, errno.EMFILE, errno.ESTALE}  # fmt: skip
#: Marks an error that no check of a reader foresaw.
UNEXPECTED = "holds something that its reader does not expect"
#: Longest message [characters]: a damaged file may have names and cells of any length.
MAX_MESSAGE = 2000
#: A place in the source of a package and its function: `/src/core/safeint.h:17 void f()`.
_SOURCE = re.compile(r"\S*/\S+\.(?:h|cc|cpp):\d+ [^()]*\([^()]*\)\s*")
#: Classes and codes of other packages in their messages: `[ONNXRuntimeError] : 7 : …`.
_CLASS = re.compile(
    r"\[\w+(?:Error|Exception)\]\s*(?::\s*)?(?:\d+\s*:\s*)?|\b\w+(?:Error|Exception)(?::\s*|$)"
)


@contextmanager
def decoding(
    path: Path | str,
    part: str = "",
    *,
    problem: str = "is damaged",
    error: type[MjrigError] = RecordingError,
) -> Iterator[None]:
    """Turn any exception of a decoder into an error that names the file.

    The original exception is the cause, which `--debug` shows. Errors of mjrig pass unchanged.

    Args:
        path: the file that is decoded.
        part: topic, array, member, row or byte that is decoded; empty: the file as such.
        problem: what is wrong with the file if the decoder fails.
        error: class to raise.

    Raises:
        MjrigError: of the class `error`, "FILE: is damaged: PART: reason".
    """
    try:
        yield
    except MjrigError:
        raise
    except OSError as cause:
        if cause.errno in _SYSTEM:
            raise error(f"{path}: cannot be read: {cause.strerror or cause}") from cause
        raise _located(path, part, problem, error, cause) from cause
    except ImportError as cause:  # a decoder imports its own parts when it needs them
        raise MissingExtraError(f"{path}", "all", cause) from cause
    except Exception as cause:
        raise _located(path, part, problem, error, cause) from cause


@contextmanager
def reading(path: Path, reader: str = "") -> Iterator[None]:
    """Name the file in every error of a reader, the last boundary around all of its decoders.

    Exceptions that no check foresaw become an error too: what a user sees is never a traceback.

    Args:
        path: the file or folder that is read.
        reader: who reads it.

    Raises:
        RecordingError: it cannot be read; names the file.
        IsADirectoryError: the reader is of files.
    """
    try:
        yield
    except RecordingError as error:
        text = str(error) if path.name in str(error) else f"{path}: {error}"
        if text == str(error) and len(text) <= MAX_MESSAGE:
            raise
        raise RecordingError(shortened(text, MAX_MESSAGE)) from error
    except MjrigError:
        raise
    except IsADirectoryError:
        raise
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:
        by = f" ({reader})" if reader else ""
        raise RecordingError(f"{path}: {UNEXPECTED}{by}: {reason(error)}") from error


def _located(
    path: Path | str, part: str, problem: str, error: type[MjrigError], cause: Exception
) -> MjrigError:
    where = f"{' '.join(part.split())}: " if part else ""  # a damaged name may have line ends
    return error(f"{path}: {problem}: {where}{reason(cause)}")


def reason(cause: BaseException) -> str:
    """Why a decoder failed, on one line, without the jargon of its package."""
    if isinstance(cause, KeyError):
        return f"{cause} is missing"
    if isinstance(cause, RecursionError):
        return "it is nested too deeply"
    if isinstance(cause, MemoryError):
        return "it declares more than the memory holds"
    # Some packages print whole records, and a search takes the square of its length in time.
    text = shortened(str(getattr(cause, "strerror", None) or cause), MAX_MESSAGE)
    text = " ".join(text.split())
    _, is_hdf5, rest = text.partition("error message = '")  # a low-level read of HDF5
    text = _CLASS.sub("", _SOURCE.sub("", rest.partition("'")[0] if is_hdf5 else text))
    return shortened(text) if text else "it ends too early or is malformed"
