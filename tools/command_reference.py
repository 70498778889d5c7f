"""docs/commands.md: the help page of every command.

python tools/command_reference.py            # print the page
python tools/command_reference.py --write    # write docs/commands.md
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "commands.md"
#: argparse folds lines at the terminal's width; the page has its own.
WIDTH = "100"


def page() -> str:
    """The whole page."""
    os.environ["COLUMNS"] = WIDTH
    from mjrig.cli.main import program
    from mjrig.cli.terminal import grouped

    lines = ["# Commands", "", "What `mjrig COMMAND --help` prints.", ""]
    commands = _choices(program())
    for _, names in grouped(commands):
        for name in names:
            lines += _section(f"mjrig {name}", commands[name], 2)
    return "\n".join(lines)


def _section(name: str, parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in parser.format_help().rstrip().splitlines())
    yield "```"
    yield ""
    for job, below in _choices(parser).items():
        yield from _section(f"{name} {job}", below, level + 1)


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The sub-commands of a parser, in their order."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def main() -> int:
    """Print or write the page."""
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
