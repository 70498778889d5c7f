"""Errors in the window name no call and no option of the command line."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mjrig.core.errors import PHRASES, MjrigError, Phrase, ReaderKind, hint, option
from mjrig.editor.session.console import Console
from mjrig.editor.text import error_text
from tests.places import DOCS, ROOT

#: A call, an argument of one, or an option of a command.
_API = re.compile(r"[a-z_]+\([^ ]*\)|[a-z]=(True|False)|[a-z]=…|--[a-z]")
#: Modules whose errors a command alone shows: it parses options, writes its results, serves,
#: or opens the window.
_COMMANDS = re.compile(
    r"command\.py|editor/desktop\.py|window/app\.py|/cli/|experiment_data|sweep/(results|optimisation|best_point)|rollouts/results"
    r"|fit/(report|write_back)|npz_|/web/|lab/bench/|/streams/|lerobot_dataset|findings/remedies"
)


def raised(source: str) -> Iterator[str]:
    """The texts of all errors that are raised in a module."""
    for node in ast.walk(ast.parse(source)) if "raise " in source else ():
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def modules() -> list[Path]:
    paths = [p for name in ("plugin", "components", "editor") for p in (ROOT / name).rglob("*.py")]
    return [path for path in paths if not _COMMANDS.search(path.as_posix())]


@pytest.mark.skipif(not DOCS.is_dir(), reason="there is no checkout beside the tests")
def test_errors_name_options_and_calls_as_ways_out_only() -> None:
    assert len(modules()) > 500
    texts = {
        (path.name, text)
        for path in modules()
        for text in raised(path.read_text("utf-8"))
        if _API.search(text)
    }
    assert texts == set()


@pytest.mark.parametrize("text", ["pass --overwrite", "use copy()", "pass x=True", "or policy=…"])
def test_options_and_calls_are_recognised(text: str) -> None:
    assert list(filter(_API.search, raised(f"raise ValueError({text!r})"))) == [text]


@pytest.mark.parametrize("kind", PHRASES)
def test_the_words_of_the_window_name_no_option(kind: str) -> None:
    values = {"name": "rate", "value": 50}
    assert not _API.search(Phrase(kind, values).worded(ReaderKind.WINDOW))
    assert _API.search(Phrase(kind, values).worded(ReaderKind.COMMAND))


def test_an_error_is_worded_for_its_reader() -> None:
    error = MjrigError("log.csv: " + option("rate") + " or " + hint("fps", 50) + " is needed")
    assert str(error) == "log.csv: --rate or --hint fps=50 is needed"
    assert error_text(error) == (
        "log.csv: the field rate or the field fps of the Replay panel is needed"
    )
    assert [(way.kind, way.values["name"]) for way in error.message.phrases] == [
        ("option", "rate"), ("hint", "fps"),
    ]  # fmt: skip
    assert error.worded(ReaderKind.COMMAND) == str(error)


def test_an_unexpected_error_has_its_type() -> None:
    assert error_text(KeyError("a")) == "KeyError: 'a'"
    console = Console()
    console.fail(error_text(MjrigError("plain")))
    assert console.lines[-1].text == "plain"
