"""Findings as a section of a report, and the verdict that follows from them."""

from collections.abc import Sequence

from mjrig.core.findings import Finding, Level
from mjrig.lab.findings.ranking import count_by_severity, lines
from mjrig.lab.report.content import BAD, DIM, FAIR, GOOD, Item, ReportFindings

_TONES = {Level.ERROR: BAD, Level.WARNING: FAIR, Level.NOTE: DIM}


def finding_verdict(findings: Sequence[Finding]) -> tuple[str, str]:
    """`findings: 1 error, 2 warnings`, and the tone of the most severe one."""
    levels = {finding.severity for finding in findings}
    tone = BAD if Level.ERROR in levels else FAIR if Level.WARNING in levels else GOOD
    return f"findings: {count_by_severity(findings)}", tone


def finding_section(findings: Sequence[Finding]) -> ReportFindings:
    """Findings with their fixes; pages also have the edits."""
    return ReportFindings(title="findings", items=[_item(finding) for finding in findings])


def _item(finding: Finding) -> Item:
    text, *fix = (line.strip() for line in lines([finding]))
    edits = [f"{edit.path}: {edit.value}" for edit in finding.edits]
    return Item(text, _TONES[finding.severity], edits, " ".join(fix))
