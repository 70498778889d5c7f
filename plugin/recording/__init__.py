"""Recordings: time series of states, setpoints and efforts, with their provenance."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.recording.reading import read_recording as read_recording
    from mjrig.recording.recorder import Recorder as Recorder
    from mjrig.recording.recording import Recording as Recording

_HOME = {
    "read_recording": "recording.reading",
    "Recorder": "recording.recorder",
    "Recording": "recording.recording",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
