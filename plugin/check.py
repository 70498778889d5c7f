"""Pre-flight: the binding table of a world, and findings about it."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.core.findings import Finding as Finding
    from mjrig.core.findings import Level as Level
    from mjrig.lab.check.preflight import findings as findings
    from mjrig.lab.check.preflight import report as report

_HOME = {
    "Finding": "core.findings",
    "findings": "lab.check.preflight",
    "Level": "core.findings",
    "report": "lab.check.preflight",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
