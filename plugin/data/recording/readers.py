"""Readers of recordings: registered by entry point, chosen by the content of the file."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

from mjrig.core.errors import MjrigError, RecordingError
from mjrig.core.files.decoding import reading
from mjrig.core.names import suggestion
from mjrig.data.recording.checks import check_recording
from mjrig.data.recording.file_limits import check_regular
from mjrig.data.recording.recording import Recording

#: Entry points of this group are `read(path, hints) -> Recording | None`; None: not my format.
GROUP = "mjrig.recordings"
#: Hints for files that do not state everything themselves.
HINTS = {
    "fps": "frames per second",
    "joints": "joint names, in the order of the columns",
    "quaternion": "wxyz or xyzw",
    "timestep": "physics timestep [s]",
    "robot": "name of the robot",
    "episode": "which of several episodes in one file",
    "columns": "what the columns of a table are: {time: t, position: q_{joint}, …}",
    "map": "file that says what the fields of a robot's log are: log.yaml",
    "offset": "added to the stamps of a log's commands [s]",
    "span": "seconds of a log that are read: [first, last]",
}
#: The reader of any table, tried after those of known formats.
LAST = "robot_log"

Reader = Callable[[Path, Mapping[str, object]], Recording | None]


def read_recording(
    path: str | Path,
    hints: Mapping[str, object] | None = None,
    *,
    timestep: float | None = None,
) -> Recording:
    """Read a recording of any known format.

    Args:
        path: a file.
        hints: see `HINTS`; for formats that need them.
        timestep: physics timestep that logs of robots are brought to [s]; other formats have
            their own. None: the usual time between their states.

    Raises:
        RecordingError: there is no such file, no reader knows its format, or it is damaged.
    """
    path, hints = Path(path), dict(hints or {})
    for name in hints:
        if name not in HINTS:
            raise RecordingError(f"unknown hint {name!r}; {suggestion(name, HINTS)}")
    if timestep is not None:
        hints["physics_timestep"] = timestep
    check_regular(path)
    if path.is_file() and not path.stat().st_size:
        raise RecordingError(f"{path}: is empty")
    tried = []
    for name, read in readers().items():
        try:
            with reading(path, name):
                recording = read(path, hints)
                if recording is not None:
                    check_recording(recording)
        except IsADirectoryError:
            recording = None  # a reader of files
        if recording is not None:
            return _with_memory_notes(recording)
        tried.append(name)
    raise RecordingError(f"{path}: is not in a known recording format; tried {', '.join(tried)}")


def _with_memory_notes(recording: Recording) -> Recording:
    """Add what a replay lacks: the memory of components, where the recording needs it."""
    notes = []
    if recording.began_mid_run and not recording.memories:
        notes.append(
            "it began in the middle of a run, and has no memory of the components (integrals, "
            "delays, histories): a replay may differ"
        )
    for part, cause in recording.memories[0].unknown.items() if recording.memories else ():
        notes.append(f"the memory of {part} could not be stored: {cause}")
    missing = tuple(note for note in notes if note not in recording.notes)
    return replace(recording, notes=(*recording.notes, *missing)) if missing else recording


def readers() -> dict[str, Reader]:
    """The registered readers by name, mjrig's own first."""
    points = sorted(
        entry_points(group=GROUP),
        key=lambda p: (not p.name.startswith("mjrig"), p.name == LAST, p.name),
    )
    found: dict[str, Reader] = {}
    for point in points:
        try:
            found[point.name] = point.load()
        except Exception as error:
            raise MjrigError(
                f"reader {point.name!r} cannot be loaded from {point.value}: "
                f"{type(error).__name__}: {error}"
            ) from error
    return found
