"""File types by the first bytes: a MuJoCo model, an archive, a recording, or another file."""

import os
import stat
from enum import StrEnum
from pathlib import Path
from xml.parsers import expat

_HEAD = 65_536
_MJB = (54321).to_bytes(4, "little")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
_BOM = b"\xef\xbb\xbf"


class _RootFound(Exception):
    """Ends the parsing; its text is the name."""


class Content(StrEnum):
    """Kinds of files that have a mark at the beginning."""

    XML = "XML"
    MJB = "a compiled model"
    ZIP = "an archive"
    RECORDING = "a recording"
    OTHER = "something else"


def content_of(path: Path) -> Content:
    """The kind of a file; OTHER where it has no mark or cannot be read."""
    return kind_of(head_of(path))


def kind_of(head: bytes) -> Content:
    """The kind of a file that begins with these bytes."""
    if head.startswith(_MJB):
        return Content.MJB
    if head.startswith(_ZIPS):
        return Content.ZIP
    if head.startswith(_HDF5):
        return Content.RECORDING
    text = head.removeprefix(_BOM).lstrip()
    # No YAML document begins with a `<` that a letter, `!` or `?` follows and is a mapping.
    begins_a_tag = text[1:2].isalpha() or text[1:2] in (b"!", b"?", b"_")
    return Content.XML if text.startswith(b"<") and begins_a_tag else Content.OTHER


def root_element(head: bytes) -> str:
    """The root element of an XML text, without its namespace; empty: none was found."""
    parser = expat.ParserCreate(namespace_separator="}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        raise _RootFound(tag.rpartition("}")[2])

    parser.StartElementHandler = start
    try:
        parser.Parse(head, False)
    except _RootFound as found:
        return str(found)
    except (expat.ExpatError, ValueError, LookupError):  # the latter two: an unknown encoding
        pass
    return ""


def head_of(path: Path) -> bytes:
    """The first bytes of a regular file; a pipe or a device is not waited for. None: empty."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):  # ValueError: a name no file can have
        return b""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _HEAD) if is_file else b""
    finally:
        os.close(descriptor)
