"""`mjrig info` and `mjrig convert`."""

import argparse
from pathlib import Path
from typing import Any

from mjrig.errors import RecordingError
from mjrig.terminal.help import examples
from mjrig.terminal.outputs import add_output


def add(commands: Any) -> None:
    """Add the sub-commands."""
    info = commands.add_parser(
        "info", help="summarise a recording", description="Summarise a recording."
    )
    info.add_argument("recording", metavar="F", type=Path, help="recording of any known format")
    info.add_argument(
        "--verify",
        action="store_true",
        help="read everything and say which columns and rows are damaged; exit code 1 if any",
    )
    info.set_defaults(run=_info)
    examples(
        info,
        "mjrig info run.h5",
        "mjrig info run.h5 --verify",
    )
    convert = commands.add_parser(
        "convert",
        help="write a recording in another format",
        description="Read a recording of any known format, write it as .npz or .csv.",
    )
    convert.add_argument("recording", metavar="A", type=Path, help="recording of any known format")
    add_output(
        convert,
        "output",
        metavar="B.npz|B.csv",
        help="file to write",
        suffixes=(".npz", ".csv"),
        keeps=True,
    )
    convert.add_argument("--overwrite", action="store_true", help="replace B if it exists")
    convert.set_defaults(run=_convert)
    examples(
        convert,
        "mjrig convert run.h5 run.csv",
        "mjrig convert run.h5 run.npz --overwrite",
    )
    for parser in (info, convert):
        add_hints(parser)
        parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add `--hint`, for formats that do not state everything."""
    parser.add_argument(
        "--hint",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="what the file does not state: fps=50, joints=[a, b], quaternion=xyzw, timestep, "
        "robot",
    )


def hints_of(options: argparse.Namespace) -> dict[str, object]:
    """The hints a user gave.

    Raises:
        RecordingError: one has no value.
    """
    from mjrig.yaml_text.yaml_document import parse_value

    hints = {}
    for text in options.hint:
        key, equals, value = text.partition("=")
        if not equals:
            raise RecordingError(f"--hint {text}: write KEY=VALUE, as in fps=50")
        hints[key.strip()] = parse_value(value)
    return hints


def _info(options: argparse.Namespace) -> int:
    from mjrig.recording.reading import read_recording
    from mjrig.recording.summary import summary

    if options.verify:
        return _verify(options)
    print(summary(read_recording(options.recording, hints_of(options))))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from mjrig.recording.verify import verify

    found = verify(options.recording, hints_of(options))
    print(found.text())
    return 1 if found.damage else 0


def _convert(options: argparse.Namespace) -> int:
    from mjrig.recording.csv_file import write_csv
    from mjrig.recording.description import moved
    from mjrig.recording.npz_file import write_npz
    from mjrig.recording.reading import read_recording

    output: Path = options.output
    writers = {".npz": write_npz, ".csv": write_csv}
    recording = read_recording(options.recording, hints_of(options))
    writers[output.suffix.lower()](moved(recording, output), output)
    print(f"{output} written")
    return 0
