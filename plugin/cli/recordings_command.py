"""`mjrig info` and `mjrig convert`: recordings and logs of robots."""

import argparse
from pathlib import Path
from typing import Any

from mjrig.cli.options import add_debug, add_output
from mjrig.cli.recording_options import add_hints, hints_of
from mjrig.cli.terminal import examples
from mjrig.core.errors import MjrigError

_SUFFIXES = (".npz", ".csv", ".mcap", ".h5", ".yaml", ".yml")


def add(commands: Any) -> None:
    """Add the sub-commands."""
    info = commands.add_parser(
        "info",
        help="summarise a recording, a robot's log or a file of a training",
        description="Summarise a recording, topics, rates, gaps and joints of a robot's log, or "
        "what a file\nof a training is: configurations, networks, checkpoints.",
    )
    info.add_argument("recording", metavar="F", type=Path, help="recording of any known format")
    info.add_argument(
        "--verify",
        action="store_true",
        help="read everything and say which columns and rows are damaged; exit code 1 if any",
    )
    info.set_defaults(run=_info)
    examples(info, "mjrig info run.h5 --verify", "mjrig info robot.mcap", "mjrig info policy.onnx")
    convert = commands.add_parser(
        "convert",
        help="write a recording in another format",
        description="Read a recording or a robot's log, write it as .npz, .csv, .mcap or .h5, or "
        "into a folder in the layout of LeRobot; or write what the fields of a log are taken to be "
        "(--map), to be corrected.",
    )
    convert.add_argument("recording", metavar="A", type=Path, help="recording of any known format")
    add_output(
        convert,
        "output",
        nargs="?",
        metavar="B.npz|B.csv|B.mcap|B.h5|B.yaml|FOLDER",
        help="file to write, or a folder for a data set of LeRobot; with --map the default is "
        "A.log.yaml beside A (run.csv.log.yaml of run.csv)",
        suffixes=_SUFFIXES,
        or_folder=True,
        keeps=True,
    )
    convert.add_argument(
        "--map", action="store_true", help="write the mapping of a log's fields to joints"
    )
    convert.add_argument(
        "--fps",
        type=_whole_rate,
        metavar="N",
        help="frames per second of a data set of LeRobot (the rate of the recording)",
    )
    convert.add_argument("--overwrite", action="store_true", help="replace B if it exists")
    convert.set_defaults(run=_convert)
    examples(
        convert,
        "mjrig convert run.h5 run.mcap",
        "mjrig convert robot.mcap --map",
    )
    for parser in (info, convert):
        add_hints(parser)
        add_debug(parser)


def _whole_rate(text: str) -> int:
    """A rate of frames: a whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text}")
    return int(text)


def _info(options: argparse.Namespace) -> int:
    from mjrig.cli.recording_summary import log_summary, summary
    from mjrig.core.files.decoding import reading
    from mjrig.data.recording.readers import read_recording
    from mjrig.data.robot_logs.log_reader import open_log
    from mjrig.data.robot_logs.log_recording import FORMAT
    from mjrig.data.robot_logs.mcap_recording import read_mcap

    if options.verify:
        return _verify(options)
    path, hints = options.recording, hints_of(options)
    told = _other_kind(path)
    if told:
        print(told)
        return 0
    with reading(path):
        if path.exists() and _holds_messages(path) and read_mcap(path, {}) is None:
            log = open_log(path, hints.get("episode"))
            if log is not None:
                print(log_summary(log, hints))
                return 0
        recording = read_recording(path, hints)
        log = open_log(path, hints.get("episode")) if recording.format == FORMAT else None
        print(summary(recording) if log is None else log_summary(log, hints, recording))
    return 0


def _other_kind(path: Path) -> str:
    """What a file is that is no recording, by those who know it; empty: nobody does."""
    from importlib.metadata import entry_points

    for point in entry_points(group="mjrig.summaries"):
        text = point.load()(path) if path.exists() else None
        if text:
            return str(text)
    return ""


def _holds_messages(path: Path) -> bool:
    """Whether it is a log by its form: one that may hold topics and no joints."""
    from mjrig.data.robot_logs.log_reader import BINARY

    if path.is_dir():
        return True
    with path.open("rb") as stream:
        start = stream.read(64)
    return any(start.startswith(magic) for magic in BINARY)


def _verify(options: argparse.Namespace) -> int:
    from mjrig.data.recording.verification import verify

    found = verify(options.recording, hints_of(options))
    print(found.text())
    return 1 if found.damage else 0


def _convert(options: argparse.Namespace) -> int:
    from mjrig.data.recording.csv_file import write_csv
    from mjrig.data.recording.h5_arrays import write_h5
    from mjrig.data.recording.metadata import moved
    from mjrig.data.recording.npz_file import write_npz
    from mjrig.data.recording.readers import read_recording
    from mjrig.data.robot_logs.lerobot_dataset import write_lerobot
    from mjrig.data.robot_logs.mcap_recording import write_mcap

    output: Path | None = options.output
    if options.map:
        return _write_map(options)
    if output is None:
        raise MjrigError("name the file to write, or --map for the mapping of a log")
    writers = {".npz": write_npz, ".csv": write_csv, ".mcap": write_mcap, ".h5": write_h5}
    suffix = output.suffix.lower()
    if suffix and suffix not in writers:
        raise MjrigError(f"{output}: a recording is written as {', '.join(writers)}; --map: .yaml")
    if suffix and options.fps is not None:
        raise MjrigError(f"{output}: --fps is of a data set of LeRobot, which is a folder")
    recording = read_recording(options.recording, hints_of(options))
    if suffix:
        writers[suffix](moved(recording, output), output)
    else:
        write_lerobot(recording, output, options.fps)
    print(f"{output} written")
    return 0


def _write_map(options: argparse.Namespace) -> int:
    from mjrig.core.files.atomic_writes import cannot_be_written, replacing
    from mjrig.core.files.decoding import reading
    from mjrig.data.recording.file_limits import check_regular
    from mjrig.data.robot_logs.log_reader import beside, joints_of, open_log
    from mjrig.data.robot_logs.map_guess import drafted_map
    from mjrig.data.robot_logs.map_text import map_text
    from mjrig.data.robot_logs.survey import survey

    path, hints = options.recording, hints_of(options)
    check_regular(path)
    with reading(path):
        log = open_log(path, hints.get("episode"))
    if log is None:
        raise MjrigError(f"{path}: is no log of a robot, as MCAP, rosbag2, a ROS 1 bag or a table")
    output: Path = options.output or beside(path)
    if output.suffix.lower() not in (".yaml", ".yml"):
        raise MjrigError(f"{output}: a mapping is written as .yaml")
    if options.output is None and output.exists() and not options.overwrite:
        raise MjrigError(f"{output}: exists already; --overwrite replaces it")
    with reading(path):
        found = survey(log)
        mapping = drafted_map(found, joints_of(hints))
        text = map_text(mapping, found)
    with cannot_be_written(output), replacing(output) as stream:
        stream.write(text.encode())
    print(text, end="")
    print(f"{output} written")
    if mapping.lacking:
        print("To be filled in before the log can be read:")
        print("\n".join(f"- {what}" for what in mapping.lacking))
    return 0
