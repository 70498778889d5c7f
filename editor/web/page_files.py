"""The files of the page: a fixed table, no look-up in the file system by what was asked for."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@cache
def _table() -> dict[str, tuple[bytes, str]]:
    table = dict(_files_in(files("mjrig.editor.web").joinpath("page"), "/"))
    table["/"] = table["/index.html"]
    return table


def _files_in(folder: Traversable, path: str) -> Iterator[tuple[str, tuple[bytes, str]]]:
    for file in folder.iterdir():
        kind = _KINDS.get(f".{file.name.rpartition('.')[2]}")
        if file.is_dir():
            yield from _files_in(file, f"{path}{file.name}/")
        elif kind is not None:
            yield f"{path}{file.name}", (file.read_bytes(), kind)


def find(path: str) -> tuple[bytes, str] | None:
    """Contents and type of a file of the page; it holds nothing secret."""
    return _table().get(path)
