"""Recordings: time series of states, setpoints and efforts, with their provenance."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.data.recording.readers import read_recording as read_recording
    from mjrig.data.recording.recorder import Recorder as Recorder
    from mjrig.data.recording.recording import Recording as Recording

_HOME = {
    "read_recording": "data.recording.readers",
    "Recorder": "data.recording.recorder",
    "Recording": "data.recording.recording",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
