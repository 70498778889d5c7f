"""Gains: tables, presets, origins, and joint responses."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.lab.rollouts.joint_bench import Bench as Bench
    from mjrig.lab.rollouts.joint_bench import Response as Response
    from mjrig.lab.rollouts.signals import Kind as Kind
    from mjrig.lab.rollouts.signals import Metrics as Metrics
    from mjrig.lab.rollouts.signals import Signal as Signal
    from mjrig.lab.rollouts.signals import Trace as Trace
    from mjrig.lab.rollouts.signals import measure as measure

_HOME = {
    "Bench": "lab.rollouts.joint_bench",
    "Kind": "lab.rollouts.signals",
    "measure": "lab.rollouts.signals",
    "Metrics": "lab.rollouts.signals",
    "Response": "lab.rollouts.joint_bench",
    "Signal": "lab.rollouts.signals",
    "Trace": "lab.rollouts.signals",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
