"""Sim2sim: replay a recording or a policy, compare and diagnose."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.lab.replay.diagnosis.order_probe import order_probe as order_probe
    from mjrig.lab.replay.finding import ReplayFinding as ReplayFinding
    from mjrig.lab.replay.players import KinematicPlayer as KinematicPlayer
    from mjrig.lab.replay.players import TargetsPlayer as TargetsPlayer
    from mjrig.lab.replay.result import Replay as Replay
    from mjrig.lab.replay.result import Trial as Trial
    from mjrig.lab.replay.result import write_report as write_report
    from mjrig.lab.replay.runner import replay as replay

_HOME = {
    "KinematicPlayer": "lab.replay.players",
    "Replay": "lab.replay.result",
    "order_probe": "lab.replay.diagnosis.order_probe",
    "replay": "lab.replay.runner",
    "ReplayFinding": "lab.replay.finding",
    "TargetsPlayer": "lab.replay.players",
    "Trial": "lab.replay.result",
    "write_report": "lab.replay.result",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
