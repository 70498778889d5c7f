"""SignalInfo: what is known of a signal before it is sampled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SignalInfo:
    """What can be plotted: `dog.FL_hip.position`."""

    path: str
    unit: str
    doc: str
