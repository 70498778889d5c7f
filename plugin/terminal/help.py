"""Help pages of the command line: groups of commands, examples at the end of each page."""

import argparse
from collections.abc import Iterable
from typing import Any

from mjrig.names import suggestion

#: Headings of `mjrig --help` and their commands, in the order they are shown.
GROUPS = {
    "scenes": ("new", "check", "diff", "components", "schema", "export"),
    "run": ("run", "edit", "serve"),
    "policies": ("import", "replay", "bench"),
    "recordings": ("info", "convert"),
    "tuning": ("tune", "sweep", "optimise"),
    "set-up": ("doctor",),
}
OTHER = "other"


def examples(parser: argparse.ArgumentParser, *lines: str) -> None:
    """End the help page of a command with command lines that can be run as they are."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(("examples:", *(f"  {line}" for line in lines)))


class Program(argparse.ArgumentParser):
    """Says which command a mistyped one most likely means."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # argparse offers no public way to word this.
        names = list(action.choices or ())
        if isinstance(action, argparse._SubParsersAction) and value not in names:
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}; {suggestion(value, names)}"
            )
        super()._check_value(action, value)


class GroupedCommands(argparse.RawDescriptionHelpFormatter):
    """Lists the commands of the program under the headings of `GROUPS`."""

    def _format_action(self, action: argparse.Action) -> str:
        # argparse offers no public way to divide the sub-commands of one parser.
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        summaries = {c.dest: c.help or "" for c in action._get_subactions()}
        width = max(map(len, summaries))
        lines = []
        for heading, names in grouped(summaries):
            lines.append(f"  {heading}")
            lines += [f"    {name:<{width}}  {summaries[name]}".rstrip() for name in names]
        return "\n".join(lines) + "\n"


def grouped(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Headings with their commands; commands of other packages come last."""
    there = list(names)
    known = {name for group in GROUPS.values() for name in group}
    groups = [(h, [n for n in group if n in there]) for h, group in GROUPS.items()]
    groups.append((OTHER, [name for name in there if name not in known]))
    return [(heading, found) for heading, found in groups if found]
