"""Checks of a model before MuJoCo reads it: size in memory, images, encoding of names.

A few characters of XML can request millions of elements: copies of copies, grids, buffers. The
text is parsed with the files it includes and attaches, and the requested elements are added up.
"""

import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.parsers import expat

from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import head_of, read_limited, shortened

# Text encoding ------------------------------------------------------------------------------------
# Whether the names in a model are UTF-8: MuJoCo accepts any bytes, and Python cannot read them.


_BEGIN, _END = b"<!--", b"-->"
#: Half of a character outside of 16 bits, which MuJoCo writes out as if it were a character.
_SURROGATE = re.compile(
    rb"&#(?:0*(?:5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3])"
    rb"|x0*[dD][89a-fA-F][0-9a-fA-F]{2});"
)


def check_encoding(name: str, content: bytes) -> None:
    """Refuse XML whose names Python cannot read; bytes in comments do not matter.

    Raises:
        PropertyError: it is not UTF-8; names the line and the byte.
    """
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        content = _without_comments(content)
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PropertyError(
                f"{name!r} is not UTF-8 in line {_line(content, error.start)}, at byte "
                f"{error.start} (0x{content[error.start]:02x}); save it as UTF-8"
            ) from None
    if b"&#" in content and (match := _SURROGATE.search(_without_comments(content))):
        raise PropertyError(
            f"{name!r}, line {_line(content, match.start())}, has {match.group().decode()}, which "
            "is not a character; write the character itself, in UTF-8"
        )


def check_names(name: str, names: bytes) -> None:
    """Refuse a compiled model with names that Python cannot read.

    Args:
        name: of the file.
        names: of its elements or files, each ends with a zero.

    Raises:
        PropertyError: one is not UTF-8.
    """
    try:
        names.decode("utf-8")
    except UnicodeDecodeError as error:
        begin = names.rfind(b"\0", 0, error.start) + 1
        text = names[begin:].partition(b"\0")[0][:80].decode("utf-8", "backslashreplace")
        raise PropertyError(
            f"{name!r} has the name '{text}', which is not UTF-8; save its source as UTF-8 and "
            "export it again"
        ) from None


def _without_comments(content: bytes) -> bytes:
    """Blanks in place of comments, so that every byte stays where it is."""
    pieces: list[bytes] = []
    at = 0
    while (begin := content.find(_BEGIN, at)) >= 0:
        end = content.find(_END, begin + len(_BEGIN))
        if end < 0:
            break
        pieces += [content[at:begin], re.sub(rb"[^\n]", b" ", content[begin:end])]
        at = end
    return b"".join((*pieces, content[at:]))


def _line(content: bytes, index: int) -> int:
    return content.count(b"\n", 0, index) + 1


# Images -------------------------------------------------------------------------------------------
# How many pixels the images of a model unpack to, by their headers.


#: Pixels of all images, beyond what their files are large enough for: MuJoCo takes 7 bytes each.
MAX_PIXELS = 48_000_000
#: Pixels that a byte of a file stands for: noise and photographs have fewer.
_PER_BYTE = 2
HEAD = 24
_PNG = b"\x89PNG\r\n\x1a\n"


class Pixels:
    """Adds up the images of a model.

    Args:
        model: its name in messages.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._sum = 0

    def add_file(self, path: Path) -> None:
        """Count an image; other files have no pixels.

        Raises:
            PropertyError: there are too many.
        """
        self.add(path.name, head_of(path)[:HEAD], os.path.getsize(path))

    def add(self, name: str, head: bytes, size: int) -> None:
        """The same by the first bytes of a file and its size."""
        if not head.startswith(_PNG) or len(head) < HEAD:
            return
        width, height = struct.unpack_from(">2I", head, 16)
        self._sum += max(0, width * height - _PER_BYTE * size)
        if self._sum > MAX_PIXELS:
            raise PropertyError(
                f"the image {name!r} of {self._model} unpacks to {width} x {height} pixels; all of "
                f"them have more than {MAX_PIXELS} beyond {_PER_BYTE} for a byte of their files"
            )


# Model size ---------------------------------------------------------------------------------------
# How large a model becomes when MuJoCo reads it, counted before it does.
#
# A few letters can ask for millions of elements: copies of copies, grids, buffers. The text is
# walked, with the files it includes and attaches, and what it asks for is added up.


#: Elements of a model or of a world, copies counted.
MAX_ELEMENTS = 50_000
#: Elements that `<replicate>` makes, times its count: MuJoCo goes through the earlier copies again
#: for each. About 5 s.
MAX_REPLICATION = 50_000_000
#: Bytes of what a model describes by numbers alone: height fields, textures, user data, histories.
MAX_GENERATED = 100_000_000
#: Bytes of a number in the state of a world, which is copied: a robot keeps some for itself.
IN_STATE = 40
#: Bytes of the XML of a model.
MAX_BYTES = 64_000_000
MAX_FILES = 1000
#: Points around or along a mesh that MuJoCo generates.
MAX_RESOLUTION = {"cone": 1000, "supersphere": 300, "supertorus": 300, "plate": 300, "wedge": 300}
_SIDES = 6
#: Elements that a keyframe counts for: each is read as a whole state.
_KEY = 5
_CUBES = ("cube", "skybox")
_SUFFIXES = (".xml", ".mjcf", ".urdf")
#: Of every actuator, sensor and flex: their product is kept as numbers.
_BUFFERS = frozenset(("nsample", "actdim", "dim", "num"))
#: The most frequent of the elements that ask for nothing but themselves, see `_count`.
_PLAIN = frozenset(
    ("body", "geom", "joint", "site", "inertial", "motor", "position", "general", "default",
     "material", "exclude", "link", "origin", "axis", "visual", "collision", "geometry")
)  # fmt: skip

#: Gives the text of a file that another one names; None: there is none.
Find = Callable[[str, str], "tuple[str, bytes] | None"]


@dataclass(frozen=True)
class _Copies:
    """How often an element exists, and the largest count of a replicate around it."""

    number: int = 1
    largest: int = 1

    def times(self, count: int) -> "_Copies":
        """Inside of one more replicate."""
        return _Copies(self.number * count, max(self.largest, count))


@dataclass
class _Size:
    """What a file asks for."""

    elements: int = 0
    #: Those of them in a replicate, each times the largest count of one around it.
    replication: int = 0
    generated: int = 0
    #: Bytes of height fields and textures: copies share them.
    assets: int = 0
    #: Numbers that every element of some kind has.
    each: int = 0
    #: Files it includes or attaches, and how often.
    inside: list[tuple[str, "_Copies"]] = field(default_factory=list)
    #: Files of the models that it can attach, by name.
    models: dict[str, str] = field(default_factory=dict)
    attached: list[tuple[str, "_Copies"]] = field(default_factory=list)
    pixels: int = 0
    cameras_read: int = 0


def check_size(path: Path, *, is_archive: bool = False) -> None:
    """Refuse a model that would become too large, or whose names are not UTF-8.

    Args:
        path: the file; what cannot be read is left to MuJoCo, which says what is wrong.
        is_archive: it is a zip file with models in it.

    Raises:
        PropertyError: it has too many elements, copies counted, or asks for too much memory; or it
            attaches itself; or a file of it is not UTF-8.
    """
    try:
        if is_archive:
            members = _members(path)
            for name in members:
                _Total(_among(members)).add(name, members[name])
        else:
            _Total(_beside(path.parent)).add(str(path), read_limited(path, MAX_BYTES))
    except OSError as error:
        raise PropertyError(f"{path.name!r} cannot be read: {error.strerror}") from error


def _beside(root: Path) -> Find:
    """Files are named relative to the model, or to the file that names them."""

    def find(name: str, inside: str) -> tuple[str, bytes] | None:
        for folder in (root, Path(inside).parent):
            path = folder / name.replace("\\", "/")
            if os.path.isfile(path):
                return str(path), read_limited(path, MAX_BYTES)
        return None

    return find


def _among(members: Mapping[str, bytes]) -> Find:
    def find(name: str, inside: str) -> tuple[str, bytes] | None:
        last = PurePosixPath(name.replace("\\", "/")).name
        found = next((key for key in members if PurePosixPath(key).name == last), None)
        return None if found is None else (found, members[found])

    return find


def _members(path: Path) -> dict[str, bytes]:
    """The models in an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > 4 * MAX_BYTES:
                raise PropertyError(f"{path.name!r} unpacks to more than {4 * MAX_BYTES} bytes")
            models = [e for e in entries if e.filename.lower().endswith(_SUFFIXES)]
            if sum(entry.file_size for entry in models) > MAX_BYTES:
                raise PropertyError(f"{path.name!r} has more than {MAX_BYTES} bytes of XML")
            pixels = Pixels(repr(path.name))
            for entry in entries:
                if entry.filename.lower().endswith(".png"):
                    with archive.open(entry) as image:
                        pixels.add(entry.filename, image.read(HEAD), entry.file_size)
            return {entry.filename: archive.read(entry) for entry in models}
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError):  # MuJoCo says what is wrong
        return {}


class _Total:
    """Adds up files and what they include and attach."""

    def __init__(self, find: Find) -> None:
        self._find = find
        self._open: list[str] = []
        self._known: dict[str, _Size] = {}

    def add(self, name: str, content: bytes) -> _Size:
        """The size of a file with everything in it."""
        key = os.path.realpath(name)
        if key in self._known:
            return self._known[key]
        if len(self._known) + len(self._open) >= MAX_FILES:
            raise PropertyError(f"{Path(name).name!r} is one of more than {MAX_FILES} files")
        check_encoding(Path(name).name, content)
        size = _size(name, content)
        self._open.append(key)
        for inner, times in size.inside:
            self._add_inner(size, name, inner, times)
        for model, times in size.attached:
            # Without a name of its own a model has one in its file.
            files = [size.models[model]] if model in size.models else size.models.values()
            for inner in files:
                self._add_inner(size, name, inner, times, attached=True)
        self._open.pop()
        size.generated += 8 * size.each * size.elements
        size.generated += IN_STATE * size.pixels * size.cameras_read
        try:
            _check(size)
        except PropertyError as error:
            raise PropertyError(f"{Path(name).name!r} {error}") from None
        self._known[key] = size
        return size

    def _add_inner(
        self, size: _Size, name: str, inner: str, copies: _Copies, *, attached: bool = False
    ) -> None:
        found = self._find(inner, name)
        if found is None:
            return
        if os.path.realpath(found[0]) in self._open:
            if attached:  # NOTE: MuJoCo goes on until the process dies.
                raise PropertyError(f"{Path(name).name!r} attaches itself, as {inner!r}")
            return
        other = self.add(*found)
        times = copies.number
        size.elements += times * other.elements
        size.replication += times * other.replication
        size.replication += times * copies.largest * other.elements if times > 1 else 0
        size.generated += times * other.generated
        size.assets += other.assets
        size.each += other.each


def _check(size: _Size) -> None:
    """Refuse too much; who calls it knows where that is."""
    if size.elements > MAX_ELEMENTS:
        raise PropertyError(f"has more than {MAX_ELEMENTS} elements, copies counted")
    if size.replication > MAX_REPLICATION:
        raise PropertyError(
            f"has too many elements made by <replicate>: their number times its count is more than "
            f"{MAX_REPLICATION}"
        )
    if size.generated + size.assets > MAX_GENERATED:
        raise PropertyError(
            f"asks for more than {MAX_GENERATED // 10**6} MB of height fields, textures, "
            "user data and histories"
        )


def _size(name: str, content: bytes) -> _Size:
    """What one file asks for; counting ends where it is no XML."""
    size, nesting = _Size(), [_Copies()]
    parser = expat.ParserCreate("utf-8")
    short = Path(name).name

    # Most models make no copies: then no end of one has to be noticed.
    has_copies = b"replicate" in content.lower()

    def start(tag: str, attributes: dict[str, str]) -> None:
        is_plain = tag in _PLAIN and _BUFFERS.isdisjoint(attributes)
        if is_plain and not has_copies and size.elements < MAX_ELEMENTS:
            size.elements += 1
            return
        kind, copies = tag.rpartition(":")[2].lower(), nesting[-1]
        if kind == "replicate":
            copies = copies.times(_product(attributes, "count"))
        if has_copies:
            nesting.append(copies)
        size.elements += copies.number
        if copies.number > 1:
            size.replication += copies.number * copies.largest
        try:
            _count(size, kind, attributes, copies)
            _check(size)
        except PropertyError as error:
            raise PropertyError(f"{short!r}, line {parser.CurrentLineNumber}, {error}") from None

    parser.StartElementHandler = start
    if has_copies:
        parser.EndElementHandler = lambda tag: nesting.pop()
    try:
        parser.Parse(content.decode("utf-8", "replace"), True)
    except expat.ExpatError:  # MuJoCo says what is wrong
        pass
    return size


def _count(size: _Size, kind: str, given: Mapping[str, str], copies: _Copies) -> None:
    """Add what one element asks for."""
    match kind:
        case "include" | "attach" if given.get("file"):
            size.inside.append((given["file"], copies))
        case "attach" if given.get("model"):
            size.attached.append((given["model"], copies))
        case "model" if given.get("file"):
            size.models[given.get("name") or given["file"]] = given["file"]
        case "flexcomp":
            points = _product(given, "count", (10, 10, 10))
            is_grid = given.get("type", "grid") not in ("mesh", "gmsh", "direct")
            bodies = 4 if given.get("dof", "full") == "full" else 1  # each with three joints
            size.elements += copies.number * points * bodies if is_grid else 0
        case "hfield":
            size.assets += 4 * _product(given, "nrow") * _product(given, "ncol")
        case "texture" if given.get("builtin", "none") != "none":
            width = _product(given, "width")
            is_cube = given.get("type", "cube") in _CUBES
            height = _SIDES * width if is_cube else _product(given, "height", (width,))
            size.assets += 3 * width * height
        case "mesh" if given.get("builtin"):
            _check_mesh(given)
        case "size":
            size.generated += IN_STATE * _product(given, "nuserdata")
            size.each += sum(_product(given, n) for n in given if n.startswith("nuser_"))
            size.elements += _KEY * _product(given, "nkey")
        case "camera":
            size.pixels = max(size.pixels, _product(given, "resolution"))
        case "rangefinder" if given.get("camera"):
            size.cameras_read += copies.number
        case _ if not _BUFFERS.isdisjoint(given):
            numbers = math.prod(max(1, _product(given, n)) for n in _BUFFERS)
            size.generated += IN_STATE * copies.number * numbers


def _check_mesh(given: Mapping[str, str]) -> None:
    most = MAX_RESOLUTION.get(given["builtin"], math.inf)
    count = 2 if given["builtin"] in ("plate", "wedge") else 1
    for points in _numbers(given.get("params", ""))[:count]:
        if points > most:
            raise PropertyError(
                f"asks for a {given['builtin']} with {points} points; at most {most}"
            )


def _product(given: Mapping[str, str], name: str, default: tuple[int, ...] = (0,)) -> int:
    """The product of the whole numbers of an attribute; what are none is left to MuJoCo."""
    return math.prod(_numbers(given[name]) or (0,)) if name in given else math.prod(default)


def _numbers(text: str) -> list[int]:
    found = []
    for part in shortened(text).split()[:8]:
        try:
            found.append(max(0, int(float(part))))
        except (ValueError, OverflowError):
            return []
    return found
