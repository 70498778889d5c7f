"""Options of commands that read recordings: what a file does not state."""

import argparse

from mjrig.core.errors import RecordingError


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add `--hint`, for formats that do not state everything."""
    parser.add_argument(
        "--hint",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what the file does not state: fps=50, joints=[a, b], quaternion=xyzw, timestep, "
        "robot; of a robot's log: map=log.yaml, span=[0, 10]",
    )
    parser.add_argument(
        "--offset",
        type=float,
        metavar="S",
        help="seconds added to the stamps of commands in a robot's log, instead of an estimate",
    )


def hints_of(options: argparse.Namespace) -> dict[str, object]:
    """The hints a user gave.

    Raises:
        RecordingError: one has no value.
    """
    from mjrig.core.yaml_text.yaml_document import parse_value

    hints = {}
    for text in options.hint:
        key, equals, value = text.partition("=")
        if not equals:
            raise RecordingError(f"--hint {text}: write KEY=VALUE, as in fps=50")
        hints[key.strip()] = parse_value(value)
    if getattr(options, "offset", None) is not None:
        hints["offset"] = options.offset
    return hints
