"""Gains: tables, presets, origins, and joint responses."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.gains.bench import Bench as Bench
    from mjrig.gains.bench import Response as Response
    from mjrig.gains.response import Kind as Kind
    from mjrig.gains.response import Metrics as Metrics
    from mjrig.gains.response import Signal as Signal
    from mjrig.gains.response import Trace as Trace
    from mjrig.gains.response import measure as measure

_HOME = {
    "Bench": "gains.bench",
    "Kind": "gains.response",
    "measure": "gains.response",
    "Metrics": "gains.response",
    "Response": "gains.bench",
    "Signal": "gains.response",
    "Trace": "gains.response",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
