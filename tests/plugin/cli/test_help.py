"""Help pages: every command has examples that parse, every option a help text; groups."""

import argparse
import shlex
from collections.abc import Iterator

import pytest

from mjrig.cli.main import program
from mjrig.cli.terminal import GROUPS, GroupedCommands, grouped

PROGRAM = program()


def walk(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and all parsers of its sub-commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from walk(child)


PARSERS = {parser.prog: parser for parser in walk(PROGRAM)}


def example_lines(parser: argparse.ArgumentParser) -> list[str]:
    _, found, text = parser.format_help().rpartition("\nexamples:\n")
    assert found, f"{parser.prog} has no examples"
    return [line.strip() for line in text.splitlines()]


def test_all_commands_are_walked() -> None:
    commands = {name for group in GROUPS.values() for name in group}
    wanted = {f"mjrig {name}" for name in commands}
    assert wanted | {"mjrig", "mjrig tune respond", "mjrig tune fit"} <= set(PARSERS)


@pytest.mark.parametrize("name", PARSERS)
def test_a_help_page_ends_with_examples_of_its_command(name: str) -> None:
    lines = example_lines(PARSERS[name])
    assert len(lines) >= 2
    for line in lines:
        assert line.startswith(name)
        words = shlex.split(line.partition(" > ")[0])
        assert callable(PROGRAM.parse_args(words[1:]).run)


@pytest.mark.parametrize("name", PARSERS)
def test_every_option_has_a_help_text_that_stands_alone(name: str) -> None:
    for action in PARSERS[name]._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = [child.help or "" for child in action._get_subactions()]
        else:
            texts = [action.help or ""]
        for text in texts:
            assert text, f"{name} {action.dest}"
            assert not text.lower().startswith("of "), f"{name} {action.dest}: {text}"


def test_the_program_lists_its_commands_in_groups() -> None:
    lines = PROGRAM.format_help().splitlines()
    headings = [lines.index(f"  {heading}") for heading in GROUPS]
    assert headings == sorted(headings)
    for at, names in zip(headings, GROUPS.values(), strict=True):
        shown = [line.split(maxsplit=1) for line in lines[at + 1 : at + 1 + len(names)]]
        assert [name for name, _ in shown] == list(names)


def test_commands_of_other_packages_come_last() -> None:
    assert grouped(["weld", "run", "info"]) == [
        ("run", ["run"]),
        ("recordings", ["info"]),
        ("other", ["weld"]),
    ]
    parser = argparse.ArgumentParser(prog="x", formatter_class=GroupedCommands)
    commands = parser.add_subparsers()
    commands.add_parser("weld", help="weld two parts")
    commands.add_parser("run", help="run it")
    text = parser.format_help()
    assert "  run\n    run   run it\n  other\n    weld  weld two parts\n" in text
