"""HTML pages of reports: one self-contained file, in light and dark."""

from collections.abc import Container, Iterable, Iterator, Sequence
from html import escape

#: Names with more letters are broken where there is no room for them.
LONG = 20
STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #687078; --rule: #d8dce0; --here: #c2410c;
  --rec: #2563eb; --goal: #7c8794; --good: #15803d; --fair: #a16207; --bad: #b91c1c;
  --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #9aa2aa; --rule: #3a4046;
  --here: #fb923c; --rec: #7aa7ff;
  --goal: #8b949e; --good: #4ade80; --fair: #facc15; --bad: #f87171;
  --paper: #16181b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); }
.dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child, .facts td { text-align: left; }
.facts { width: auto; } .facts td:first-child { color: var(--dim); padding-right: 2rem; }
.scroll { overflow-x: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1rem; }
svg { width: 100%; font-size: 11px; } svg text { fill: var(--dim); }
svg .t { fill: var(--ink); font-size: 12px; } svg .m { text-anchor: middle; }
svg .y { text-anchor: end; } svg .a { stroke: var(--dim); fill: none; }
svg .g { stroke: var(--rule); stroke-width: .5; }
polyline { fill: none; stroke-width: 1.4; } .rec { stroke: var(--rec); }
svg .shade { fill: var(--fair); fill-opacity: .13; } svg .dot { fill: var(--rec); }
.wide { stroke: var(--goal); stroke-width: 4.5; stroke-opacity: .5; }
td.l, th.l { text-align: left; } .above td { border-bottom: 0; padding-bottom: 0; }
.below td { color: var(--dim); padding-top: 0; text-align: left; }
@media (max-width: 50rem) { table { font-size: .85rem; } th, td { padding: .2rem .35rem; } }
.here { stroke: var(--here); } .goal { stroke: var(--goal); stroke-dasharray: 4 3; }
li pre { background: color-mix(in srgb, var(--ink) 6%, transparent); padding: .3rem .5rem;
  overflow-x: auto; margin: .2rem 0; font-size: .85rem; } .key.goal { color: var(--goal); }
.key.rec { color: var(--rec); } .key.here { color: var(--here); }
.key.held { background: color-mix(in srgb, var(--fair) 13%, transparent); padding: 0 .4rem; }
"""


def html_page(title: str, body: Iterable[str]) -> str:
    """The whole file."""
    head = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
    )
    return "\n".join([*head, *body, "</body></html>"]) + "\n"


def html_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    tones: Sequence[str] = (),
    words: Container[int] = (),
    remarks: Sequence[str] = (),
) -> Iterator[str]:
    """A table; `tones` are classes of its rows: `good`, `bad`, `dim` or nothing.

    Without a head its rows are facts: a name and what it is. Columns of `words` begin on the left,
    as the first one does. `remarks` are one for each row, below it, where sentences have room.
    """
    sides = [' class="l"' if k in words else "" for k in range(len(head or next(iter(rows), ())))]

    kind = "" if head else ' class="facts"'
    yield f'<div class="scroll"><table{kind}>'
    if head:
        cells = (f"<th{s}>{escape(h)}</th>" for s, h in zip(sides, head, strict=True))
        yield "<tr>" + "".join(cells) + "</tr>"
    for i, row in enumerate(rows):
        remark = remarks[i] if remarks else ""
        classes = " ".join(filter(None, [tones[i] if tones else "", "above" if remark else ""]))
        tone = f' class="{classes}"' if classes else ""
        cells = (f"<td{s}>{_breaking(c)}</td>" for s, c in zip(sides, row, strict=True))
        yield f"<tr{tone}>" + "".join(cells) + "</tr>"
        if remark:
            rest = f'<td class="l" colspan="{len(row) - 1}">{escape(remark)}</td>'
            yield f'<tr class="below"><td></td>{rest}</tr>'
    yield "</table></div>"


def _breaking(text: str) -> str:
    """A text whose long names may go on in the next line."""
    return escape(text) if len(text) <= LONG or " " in text else escape(text).replace("_", "_<wbr>")
