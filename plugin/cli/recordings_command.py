"""`mjrig info` and `mjrig convert`: recordings and logs of robots."""

from pathlib import Path
from typing import Any

from mjrig.cli.command_options import Flag, InputFile, OptionalIntOption, OutputFile, command
from mjrig.cli.options import HintOptions
from mjrig.core.errors import MjrigError

_SUFFIXES = (".npz", ".csv", ".mcap", ".h5", ".yaml", ".yml")


class InfoOptions(HintOptions):
    """Options of `mjrig info`."""

    recording = InputFile("recording of any known format", "F", positional=True)
    verify = Flag("read everything and say which columns and rows are damaged; exit code 1 if any")


class ConvertOptions(HintOptions):
    """Options of `mjrig convert`."""

    recording = InputFile("recording of any known format", "A", positional=True)
    output = OutputFile(
        "file to write, or a folder for a data set of LeRobot; with --map the default is "
        "A.log.yaml beside A (run.csv.log.yaml of run.csv)",
        "B.npz|B.csv|B.mcap|B.h5|B.yaml|FOLDER",
        positional=True,
        many="?",
        suffixes=_SUFFIXES,
        or_folder=True,
        keeps=True,
    )
    map = Flag("write the mapping of a log's fields to joints")
    fps = OptionalIntOption(
        None,
        "frames per second of a data set of LeRobot",
        "N",
        min=1,
        otherwise="the rate of the recording",
    )
    overwrite = Flag("replace B if it exists")


def add(commands: Any) -> None:
    """Add the sub-commands."""
    for add_command in (_info_command, _convert_command):
        add_command(commands)


def _info(options: InfoOptions) -> int:
    from mjrig.cli.recording_summary import log_summary, summary
    from mjrig.core.files.decoding import reading
    from mjrig.data.recording.readers import read_recording
    from mjrig.data.robot_logs.log_reader import open_log
    from mjrig.data.robot_logs.log_recording import FORMAT
    from mjrig.data.robot_logs.mcap_recording import read_mcap

    if options.verify:
        return _verify(options)
    path, hints = options.recording, options.hints()
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


def _verify(options: InfoOptions) -> int:
    from mjrig.data.recording.verification import verify

    found = verify(options.recording, options.hints())
    print(found.text())
    return 1 if found.damage else 0


def _convert(options: ConvertOptions) -> int:
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
    recording = read_recording(options.recording, options.hints())
    if suffix:
        writers[suffix](moved(recording, output), output)
    else:
        write_lerobot(recording, output, options.fps)
    print(f"{output} written")
    return 0


def _write_map(options: ConvertOptions) -> int:
    from mjrig.core.files.atomic_writes import cannot_be_written, replacing
    from mjrig.core.files.decoding import reading
    from mjrig.data.recording.file_limits import check_regular
    from mjrig.data.robot_logs.log_reader import beside, joints_of, open_log
    from mjrig.data.robot_logs.map_guess import drafted_map
    from mjrig.data.robot_logs.map_text import map_text
    from mjrig.data.robot_logs.survey import survey

    path, hints = options.recording, options.hints()
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


_info_command = command(
    "info",
    InfoOptions,
    _info,
    "summarise a recording, a robot's log or a file of a training",
    description="Summarise a recording, topics, rates, gaps and joints of a robot's log, or "
    "what a file\nof a training is: configurations, networks, checkpoints.",
    examples=("mjrig info run.h5 --verify", "mjrig info robot.mcap", "mjrig info policy.onnx"),
)
_convert_command = command(
    "convert",
    ConvertOptions,
    _convert,
    "write a recording in another format",
    description="Read a recording or a robot's log, write it as .npz, .csv, .mcap or .h5, or "
    "into a folder in the layout of LeRobot; or write what the fields of a log are taken to be "
    "(--map), to be corrected.",
    examples=("mjrig convert run.h5 run.mcap", "mjrig convert robot.mcap --map"),
)
