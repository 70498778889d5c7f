"""Messages in the window name no call and no option of the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mjrig.editor.session.console import Console
from mjrig.editor.text import window_words
from tests.places import DOCS, ROOT
from tests.wording import matches

#: A call, an argument of one, or an option of a command.
_API = re.compile(r"[a-z_]+\([^ ]*\)|[a-z]=(True|False)|[a-z]=…|--[a-z]")
#: Modules whose errors a command alone shows: it parses options, writes its results, serves,
#: or opens the window.
_COMMANDS = re.compile(
    r"command\.py|editor/desktop\.py|window/app\.py|/cli/|scene_file|experiment_data|sweep/(results|optimisation|best_point)|rollouts/results"
    r"|fit/(report|write_back)|npz_|/web/|lab/bench/|/streams/|lerobot_dataset"
)


def _raised(path: Path) -> Iterator[str]:
    source = path.read_text("utf-8")
    if not any('"' in line and _API.search(line.partition('"')[2]) for line in _lines(source)):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def _lines(source: str) -> list[str]:
    """Lines of code with a text in them, in modules that raise something."""
    return source.splitlines() if "raise " in source else []


def _modules() -> list[Path]:
    return [p for room in ("plugin", "components", "editor") for p in (ROOT / room).rglob("*.py")]


@pytest.mark.skipif(not DOCS.is_dir(), reason="there is no checkout beside the tests")
def test_every_error_that_may_reach_the_window_is_said_in_its_words() -> None:
    texts = {
        (path.name, text): window_words(text)
        for path in _modules()
        if not _COMMANDS.search(path.as_posix())
        for text in _raised(path)
        if _API.search(text)
    }
    assert len(texts) > 10
    assert not {where: said for where, said in texts.items() if _API.search(said)}


def test_the_console_says_it_so_too() -> None:
    console = Console()
    text = (
        "s.yaml:1:1: was changed on disk since it was read; reload() reads it, save(overwrite=True)"
    )
    console.fail(f"{text} replaces it")
    assert matches(console.lines[-1].text, "s.yaml:1:1: was changed on disk … File > Save …")
