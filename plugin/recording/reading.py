"""Read a recording, whatever layout its file has."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from mjrig.errors import RecordingError
from mjrig.names import listed
from mjrig.recording.recording import Recording

READERS = "mjrig.recordings"


def read_recording(path: Path, hints: Mapping[str, object] | None = None) -> Recording:
    """The recording in a file; the readers are the entry points `mjrig.recordings`.

    Raises:
        RecordingError: there is no such file, or no reader knows it.
    """
    if not path.is_file():
        raise RecordingError(f"{path}: there is no such file")
    points = sorted(entry_points(group=READERS), key=lambda p: p.name)
    for point in points:
        found: Recording | None = point.load()(path, hints or {})
        if found is not None:
            return found
    names = listed(p.name for p in points)
    raise RecordingError(f"{path}: no reader knows this layout; there are: {names}")
