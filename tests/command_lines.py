"""Every command of the program, and command lines with everything they need."""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from mjrig.cli.command_options import OutputFile
from mjrig.cli.main import program

ARM = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1"/></body></worldbody>
<actuator><motor name="m" joint="j"/></actuator></mujoco>"""
SCENE = """mjrig: 1
actors:
  - {name: arm, model: arm.xml, components: [{type: PDController, kp: 20, kv: 1}]}
"""
#: Options of type Path that name what is read.
READ = {"scene", "before", "after", "recording", "recordings", "source", "policy", "model", "files"}
READ |= {"replay", "file", "policies"}


def _commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, Any]]:
    inner = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not inner:
        yield name.strip(), parser
    for action in inner:
        for word, one in action.choices.items():
            yield from _commands(one, f"{name} {word}")


COMMANDS = dict(_commands(program()))


def outputs(parser: argparse.ArgumentParser) -> list[OutputFile]:
    """The options of a command that name files to write."""
    options = parser.get_default("options")
    return [] if options is None else options.outputs()


#: Words for what a command needs, by the name of its option.
_WORDS = {"scene": "s.yaml", "before": "s.yaml", "after": "s.yaml", "model": "arm.xml"}


def line(command: str, given: Mapping[str, str]) -> list[str]:
    """A command line with these options, by their `dest`, and whatever else the command needs."""
    words: list[str] = command.split()
    written = {o.name: f"o{(*o.suffixes, '')[0]}" for o in outputs(COMMANDS[command])}
    values = {"model": "arm.xml", **written}
    for action in COMMANDS[command]._actions:
        if action.dest in given:
            words += [*action.option_strings[:1], given[action.dest]]
        elif not action.option_strings:
            words.append(_WORDS.get(action.dest, "run.h5"))
        elif action.required:
            words += [action.option_strings[0], values.get(action.dest, "1")]
    return words
