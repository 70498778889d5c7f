"""Reports as text for a terminal: aligned tables and indented lists."""

from collections.abc import Sequence

from mjrig.lab.report.content import Report, ReportFindings, ReportTable, ReportText, Section
from mjrig.lab.report.output import format_table

#: Tells where lines are that a terminal has no room for.
ALL = "--report writes all of them"


def to_text(report: Report) -> str:
    """The headline, the facts, and all sections but figures and those for pages only."""
    lines = [report.headline, *(f"  {name}: {value}" for name, value in report.facts)]
    for section in report.sections:
        body = [] if section.page_only else section_lines(section)
        if body:
            title = f"{section.title}:" if section.title else ""
            lines += ["", *([title] if title else []), *(f"  {line}" for line in body)]
    return "\n".join(lines)


def section_lines(section: Section) -> list[str]:
    """The content of a section, without its title; empty: nothing of it is text."""
    if isinstance(section, ReportTable):
        return _table(section)
    if isinstance(section, ReportFindings):
        lines = []
        for i, item in enumerate(section.items[: section.shown], 1):
            lines += [f"{i}. {item.text}", *([f"   {item.remedy}"] if item.remedy else [])]
        return [*lines, *_more(section.items, section.shown)]
    if isinstance(section, ReportText):
        return [*section.lines[: section.shown], *_more(section.lines, section.shown)]
    return []


def _table(table: ReportTable) -> list[str]:
    if not table.rows:
        return []
    lines = format_table(table.heads, table.cells[: table.shown])
    return [*lines, *_more(table.rows, table.shown), *table.labelled_remarks]


def _more(entries: Sequence[object], shown: int | None) -> list[str]:
    left = 0 if shown is None else len(entries) - shown
    return [f"… {left} more: {ALL}"] if left > 0 else []
