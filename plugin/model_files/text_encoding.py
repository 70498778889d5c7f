"""Whether the names in a model are UTF-8: MuJoCo accepts any bytes, and Python cannot read them."""

import re

from mjrig.errors import PropertyError

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
