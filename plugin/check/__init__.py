"""Pre-flight: the binding table of a world, and findings about it."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.check.check import findings as findings
    from mjrig.check.check import report as report
    from mjrig.check.finding import Finding as Finding
    from mjrig.check.finding import Level as Level

_HOME = {
    "Finding": "check.finding",
    "findings": "check.check",
    "Level": "check.finding",
    "report": "check.check",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
