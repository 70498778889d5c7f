"""The files of the page: a fixed table, no look-up in the file system by what was asked for."""

from functools import cache
from importlib.resources import files

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def _table() -> dict[str, tuple[bytes, str]]:
    table = {}
    for file in files("mjrig.editor.web").joinpath("page").iterdir():
        kind = _KINDS.get(f".{file.name.rpartition('.')[2]}")
        if kind is not None:
            table[f"/{file.name}"] = (file.read_bytes(), kind)
    table["/"] = table["/index.html"]
    return table


def find(path: str) -> tuple[bytes, str] | None:
    """Contents and type of a file of the page; it holds nothing secret."""
    return _table().get(path)
