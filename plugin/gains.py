"""Gains: tables, presets, origins, and joint responses."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.lab.responses.joint_bench import Bench as Bench
    from mjrig.lab.responses.joint_bench import Response as Response
    from mjrig.lab.responses.response import Kind as Kind
    from mjrig.lab.responses.response import Metrics as Metrics
    from mjrig.lab.responses.response import Signal as Signal
    from mjrig.lab.responses.response import Trace as Trace
    from mjrig.lab.responses.response import measure as measure

_HOME = {
    "Bench": "lab.responses.joint_bench",
    "Kind": "lab.responses.response",
    "measure": "lab.responses.response",
    "Metrics": "lab.responses.response",
    "Response": "lab.responses.joint_bench",
    "Signal": "lab.responses.response",
    "Trace": "lab.responses.response",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
