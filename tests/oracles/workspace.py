"""A folder with copies of the bundled scenes in which a case runs commands."""

import csv
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mujoco
import numpy as np
import yaml

from mjrig.cli.main import main
from tests.oracles.comparing import Text, normalise
from tests.places import ASSETS, ROOT, SCENES, SHARED

#: Columns of a table that depend on the machine.
VOLATILE_COLUMNS = frozenset({"seconds"})
#: Exit code of a wrong command line.
USAGE_ERROR = 2


class Workspace:
    """Runs command lines in its folder and reads the written files; all results are normalised.

    `config/` and `assets/` are copies of the bundled ones, so that command lines look as in the
    documentation and printed paths do not depend on the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        shutil.copytree(
            SCENES.parent, self.folder / "config", ignore=shutil.ignore_patterns("*.py*")
        )
        shutil.copytree(ASSETS, self.folder / "assets", ignore=shutil.ignore_patterns("*.py*"))
        self._replacements = {
            str(self.folder): "<folder>",
            str(SHARED): "<shared>",
            str(SHARED.resolve()): "<shared>",
            str(SCENES.parent): "<config>",
            str(ASSETS): "<assets>",
            str(ROOT): "<checkout>",
            f"mjrig {version('mjrig')}": "mjrig <version>",
            f"MuJoCo {mujoco.__version__}": "MuJoCo <version>",
        }

    def write(self, name: str, text: str) -> Path:
        """A text file, with the folders above it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, source: str, target: str, *changes: tuple[str, str]) -> Path:
        """A copy of a text file with replacements, each of which must match."""
        text = (self.folder / source).read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, f"{source} has no {old!r}"
            text = text.replace(old, new)
        return self.write(target, text)

    def run(self, line: str, *more: str) -> dict[str, Any]:
        """Exit code and output of `mjrig LINE MORE…`; JSON is parsed, text is split into lines."""
        words = [*line.split(), *more]
        out, err = io.StringIO(), io.StringIO()
        environment = {"COLUMNS": "100", "NO_COLOR": "1"}
        with (
            chdir(self.folder),
            patch.dict(os.environ, environment),
            # Reports quote the command line of the process.
            patch.object(sys, "argv", ["mjrig", *words]),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                code: object = main(words)
            except SystemExit as end:
                code = end.code
        text = out.getvalue()
        is_json = text.lstrip().startswith(("{", "[")) and "--json" in words
        result = {
            "exit": code,
            "output": json.loads(text) if is_json else Text(text.splitlines()),
            # A usage message is a generated list of options, wrapped; the error is its last line.
            "errors": Text(err.getvalue().splitlines()[-1 if code == USAGE_ERROR else 0 :]),
        }
        return dict(self.normal(result))

    def normal(self, value: Any) -> Any:
        """Plain data without values that depend on the machine."""
        return normalise(value, self._replacements)

    def data(self, name: str) -> Any:
        """A JSON file."""
        return self.normal(json.loads((self.folder / name).read_text(encoding="utf-8")))

    def yaml(self, name: str) -> Any:
        """A YAML file: its content is data, its comments and layout are text."""
        text = (self.folder / name).read_text(encoding="utf-8")
        return self.normal({"content": yaml.safe_load(text), "file": Text(text.splitlines())})

    def table(self, name: str, drop: Sequence[str] = ()) -> Any:
        """A CSV file as columns; numbers are read."""
        with (self.folder / name).open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        columns = [c for c in (rows[0] if rows else ()) if c not in (*VOLATILE_COLUMNS, *drop)]
        return self.normal({c: [_number(r[c]) for r in rows] for c in columns})

    def page(self, name: str) -> Any:
        """Headings, cells and the number of images of an HTML page, in their order; a text."""
        text = (self.folder / name).read_text(encoding="utf-8")
        text = re.sub(r"<(style|script|svg)\b.*?</\1>", r"<\1/>", text, flags=re.DOTALL)
        cells = re.findall(r"<(h\d|th|td|p|li|summary)\b[^>]*>(.*?)</\1>", text, flags=re.DOTALL)
        plain = [(tag, " ".join(re.sub(r"<[^>]*>", " ", body).split())) for tag, body in cells]
        entries = [f"{tag}: {body}" for tag, body in plain if body]
        images = len(re.findall(r"<(?:svg|img)\b", text))
        return self.normal(Text([f"images: {images}", *entries]))

    def change_arrays(self, source: str, target: str, **arrays: Any) -> Path:
        """A copy of an NPZ file with other arrays; a function gets the old one."""
        with np.load(self.folder / source) as file:
            content = {name: file[name] for name in file.files}
        for name, value in arrays.items():
            content[name] = value(content[name]) if callable(value) else value
        path = self.folder / target
        np.savez(path, **content)
        return path


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
