"""Sim2sim: replay a recording or a policy, compare and diagnose."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.sim2sim.compare.finding import ReplayFinding as ReplayFinding
    from mjrig.sim2sim.compare.result import Replay as Replay
    from mjrig.sim2sim.compare.result import Trial as Trial
    from mjrig.sim2sim.diagnose.order_probe import order_probe as order_probe
    from mjrig.sim2sim.play.players import KinematicPlayer as KinematicPlayer
    from mjrig.sim2sim.play.players import TargetsPlayer as TargetsPlayer
    from mjrig.sim2sim.replaying import replay as replay
    from mjrig.sim2sim.report.report import write_report as write_report

_HOME = {
    "KinematicPlayer": "sim2sim.play.players",
    "Replay": "sim2sim.compare.result",
    "order_probe": "sim2sim.diagnose.order_probe",
    "replay": "sim2sim.replaying",
    "ReplayFinding": "sim2sim.compare.finding",
    "TargetsPlayer": "sim2sim.play.players",
    "Trial": "sim2sim.compare.result",
    "write_report": "sim2sim.report.report",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
