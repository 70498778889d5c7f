"""Reports as HTML pages: one self-contained file, in light and dark."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from mjrig.core.files.atomic_writes import whole_file
from mjrig.lab.report.content import (
    Images,
    Item,
    Matrix,
    Plots,
    Report,
    ReportFindings,
    ReportImage,
    ReportTable,
    ReportText,
    Section,
    versions,
)
from mjrig.lab.report.output import to_json
from mjrig.lab.report.svg import STYLE, figure_svg

#: Names with more letters may be broken at an underscore.
LONG = 20
#: Tables with more columns have a smaller font.
MANY_COLUMNS = 8
PAGE_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.verdict { font-size: 1.15rem; font-weight: 600; margin: .2rem 0; } .note { margin: .2rem 0; }
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); }
.dim { color: var(--dim); }
.made { color: var(--dim); font-size: .85rem; margin: .2rem 0 1rem; overflow-wrap: anywhere; }
.command { font-family: monospace; margin-bottom: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child, td.l, th.l { text-align: left; }
td:not(.l, :first-child) { white-space: nowrap; }
.facts { width: auto; } .facts td { text-align: left; white-space: normal !important; }
.facts td:first-child { color: var(--dim); padding-right: 2rem; white-space: nowrap !important; }
.above td { border-bottom: 0; padding-bottom: 0; }
.below td { color: var(--dim); padding-top: 0; text-align: left; }
.dense { font-size: .85rem; } .dense th, .dense td { padding: .2rem .4rem; }
@media (max-width: 50rem) { table { font-size: .85rem; } th, td { padding: .2rem .35rem; } }
.scroll { overflow-x: auto; } svg { width: 100%; } .one svg:not([style]) { min-width: 27rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr));
  gap: 1rem; }
.key b { font-weight: 600; margin-right: 1rem; } b.blue { color: var(--blue); }
b.orange { color: var(--orange); } b.dashed, b.wide { color: var(--grey); }
b.dim { font-weight: 400; } b.span { padding: 0 .4rem;
  background: color-mix(in srgb, var(--fair) 13%, transparent); }
li pre { background: color-mix(in srgb, var(--ink) 6%, transparent); padding: .3rem .5rem;
  overflow-x: auto; margin: .2rem 0; font-size: .85rem; }
.images { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr));
  gap: 1rem; }
figure { margin: 0; } figure img { width: 100%; height: auto; border-radius: 6px; }
figcaption { font-size: .85rem; }
"""


def write_report(report: Report, page: Path, data: Path) -> None:
    """Write a report as a page, and its data as JSON; both or neither.

    Raises:
        MjrigError: a file cannot be written.
    """
    with whole_file(page) as shown, whole_file(data) as numbers:
        shown.write_text(to_html(report), encoding="utf-8")
        numbers.write_text(f"{to_json(report.data)}\n", encoding="utf-8")


def to_html(report: Report) -> str:
    """The whole file."""
    head = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(report.headline)}</title><style>{STYLE}{PAGE_STYLE}</style></head><body>",
    )
    return "\n".join([*head, *_body(report), "</body></html>"]) + "\n"


def _body(report: Report) -> Iterator[str]:
    yield f"<h1>{escape(report.title)}</h1>"
    if report.verdict:
        yield f'<p class="verdict {report.tone}">{escape(report.verdict)}</p>'
    if report.command:
        yield f'<p class="made command">{escape(report.command)}</p>'
    yield f'<p class="made">mjrig {versions()["mjrig"]}, MuJoCo {versions()["mujoco"]}</p>'
    if report.facts:
        yield '<div class="scroll"><table class="facts">'
        for name, value in report.facts:
            yield f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>"
        yield "</table></div>"
    for section in report.sections:
        lines = list(_content(section))
        if not lines and not section.note:
            continue
        if section.title:
            yield f"<h2>{escape(section.title[:1].upper() + section.title[1:])}</h2>"
        if section.note:
            yield f'<p class="dim note">{escape(section.note)}</p>'
        yield from lines


def _content(section: Section) -> Iterator[str]:
    if isinstance(section, ReportTable):
        yield from html_table(section)
    elif isinstance(section, ReportFindings):
        yield from _list("ol", section.items)
    elif isinstance(section, ReportText):
        yield from _list("ul", [Item(line) for line in section.lines])
    elif isinstance(section, Plots):
        yield from _plots(section)
    elif isinstance(section, Images):
        yield from _images(section)


def html_table(table: ReportTable) -> Iterator[str]:
    """A table; remarks are below their rows, over its whole width."""
    if not table.rows:
        return
    sides = [' class="l"' if column.is_words else "" for column in table.columns]
    dense = ' class="dense"' if len(table.columns) > MANY_COLUMNS else ""
    yield f'<div class="scroll"><table{dense}>'
    heads = (f"<th{s}>{escape(h)}</th>" for s, h in zip(sides, table.heads, strict=True))
    yield "<tr>" + "".join(heads) + "</tr>"
    for i, row in enumerate(table.cells):
        remarks = table.remarks_on(i)
        classes = " ".join(filter(None, [table.tone(i), "above" if remarks else ""]))
        tone = f' class="{classes}"' if classes else ""
        cells = (f"<td{s}>{_breaking(c)}</td>" for s, c in zip(sides, row, strict=True))
        yield f"<tr{tone}>" + "".join(cells) + "</tr>"
        if remarks:
            text = "<br>".join(map(escape, remarks))
            rest = f'<td class="l" colspan="{len(row) - 1}">{text}</td>'
            yield f'<tr class="below"><td></td>{rest}</tr>'
    yield "</table></div>"


def _breaking(text: str) -> str:
    """A text whose long names may continue on the next line."""
    return escape(text) if len(text) <= LONG or " " in text else escape(text).replace("_", "_<wbr>")


def _list(kind: str, items: Sequence[Item]) -> Iterator[str]:
    if items:
        yield f"<{kind}>"
        for item in items:
            tone = f' class="{item.tone}"' if item.tone else ""
            code = "".join(f"<pre>{escape(block)}</pre>" for block in item.code)
            remedy = f'<br><span class="dim">{escape(item.remedy)}</span>' if item.remedy else ""
            yield f"<li><span{tone}>{escape(item.text)}</span>{remedy}{code}</li>"
        yield f"</{kind}>"


def _plots(plots: Plots) -> Iterator[str]:
    if not plots.figures:
        return
    if plots.key:
        entries = (f'<b class="{look}">{escape(text)}</b>' for text, look in plots.key)
        yield f'<p class="key note">{" ".join(entries)}</p>'
    is_wide = any(isinstance(f, Matrix) or getattr(f, "names", ()) for f in plots.figures)
    yield f'<div class="{"scroll one" if is_wide else "plots"}">'
    yield from map(figure_svg, plots.figures)
    yield "</div>"


def _images(images: Images) -> Iterator[str]:
    for title, group in images.groups.items():
        if group:
            yield f'<h3>{escape(title)}</h3><div class="images">'
            yield from map(_image, group)
            yield "</div>"


def _image(image: ReportImage) -> str:
    about = f"{image.title}, {image.caption}: {image.outcome}"
    return (
        f'<figure><img loading="lazy" width="320" height="180" src="{quote(image.file)}" '
        f'alt="{escape(about)}"><figcaption>{escape(image.title)}<br>'
        f'<span class="dim">{escape(image.caption)}:</span> '
        f'<span class="{image.tone}">{escape(image.outcome)}</span></figcaption></figure>'
    )
