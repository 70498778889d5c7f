"""report.html: one self-contained file with embedded plots."""

from collections.abc import Iterator, Sequence
from html import escape

from mjrig.sim2sim.compare.finding import sentence
from mjrig.sim2sim.compare.result import NONE, Replay
from mjrig.sim2sim.report.svg import plot

#: Joints that are plotted: the worst ones.
PLOTTED = 12
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #687078; --rule: #d8dce0; --here: #c2410c;
  --rec: #2563eb; --good: #15803d; --bad: #b91c1c; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --dim: #9aa2aa; --rule: #3a4046;
  --here: #fb923c; --rec: #7aa7ff; --good: #4ade80; --bad: #f87171; --paper: #16181b; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .6rem; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(24rem, 1fr)); gap: 1rem; }
svg { width: 100%; font-size: 11px; } svg text { fill: var(--dim); }
svg .t { fill: var(--ink); font-size: 12px; } svg .m { text-anchor: middle; }
svg .y { text-anchor: end; } svg .a { stroke: var(--dim); fill: none; }
svg .g { stroke: var(--rule); stroke-width: .5; }
polyline { fill: none; stroke-width: 1.4; } .rec { stroke: var(--rec); }
.here { stroke: var(--here); } .key.rec { color: var(--rec); } .key.here { color: var(--here); }
"""


def page(replay: Replay) -> str:
    """The whole file."""
    return "\n".join(_lines(replay)) + "\n"


def _lines(replay: Replay) -> Iterator[str]:
    title = f"{replay.source}: {replay.verdict}"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
    tone = "good" if replay.is_fine else "bad"
    yield f'<h1 class="{tone}">{escape(replay.verdict)}</h1>'
    what = f"{replay.source} in {replay.scene}, mode {replay.mode}"
    yield f'<p class="dim">{escape(what)}</p>'
    yield f"<p>Evidence: {escape(replay.evidence)}.</p>"
    yield from _facts(replay)
    if replay.diagnosis:
        yield "<h2>Diagnosis</h2><ol>"
        yield from (f"<li>{escape(sentence(f))}</li>" for f in replay.diagnosis)
        yield "</ol>"
    yield from _trials(replay)
    yield from _plots(replay)
    yield from _joints(replay)
    if replay.notes:
        yield "<h2>Notes</h2><ul>"
        yield from (f"<li>{escape(n)}</li>" for n in replay.notes)
        yield "</ul>"
    yield "</body></html>"


def _facts(replay: Replay) -> Iterator[str]:
    facts: list[tuple[str, str]] = [("duration", f"{replay.duration:g} s")]
    if replay.bit_exact is not None:
        facts.append(("bit-exact", "yes" if replay.bit_exact else "no"))
    if replay.max_abs_position_error is not None:
        facts.append(("largest position error", f"{replay.max_abs_position_error:.4g} rad or m"))
    first = replay.first_divergence
    if first is not None:
        facts.append(("first divergence", f"{first['joint']} at {first['time']:.3f} s"))
    facts.append(("fell", f"at {replay.fell_at:.2f} s" if replay.fell_at is not None else "no"))
    for name, place in (("base start", replay.base_start), ("base end", replay.base_end)):
        if place is not None:
            facts.append((name, ", ".join(f"{x:.3f}" for x in place) + " m"))
    if replay.base_drift is not None:
        facts.append(("base drift", f"{replay.base_drift:.4g} m"))
    yield from _table((), facts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    if head:
        yield "<tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>"
    yield "</table></div>"


def _trials(replay: Replay) -> Iterator[str]:
    if len(replay.trials) < 2:
        return
    yield "<h2>Trials</h2>"
    rows = [
        (
            t.name,
            "fell" if t.fell else "upright",
            f"{t.duration:.2f}",
            f"{t.upright:.3f}",
            NONE if t.tracking_error is None else f"{t.tracking_error:.3f}",
            f"{t.saturation:.1%}",
        )
        for t in replay.trials
    ]
    head = ("trial", "", "duration [s]", "least upright", "tracking error", "saturated")
    yield from _table(head, rows)


def _plots(replay: Replay) -> Iterator[str]:
    figures = []
    found = replay.comparison
    if found is not None and (found.error > 0.0).any():
        lines = [("error", "here", found.time, found.error)]
        figures.append(plot("largest position error", "rad, m", lines, log=True))
    for name, (time, values, unit) in replay.series.items():
        figures.append(plot(name, unit, [(name, "here", time, values)]))
    if found is not None:
        worst = sorted(found.curves, key=lambda n: -found.joints[n].rmse_position)[:PLOTTED]
        for name in worst:
            curve = found.curves[name]
            lines = [
                ("recorded", "rec", curve.time, curve.recorded),
                ("here", "here", curve.time, curve.here),
            ]
            figures.append(plot(name, "rad, m", lines))
    if figures:
        yield "<h2>Plots</h2>"
        if found is not None:
            yield '<p><b class="key rec">recorded</b> <b class="key here">here</b></p>'
        yield '<div class="plots">' + "\n".join(figures) + "</div>"


def _joints(replay: Replay) -> Iterator[str]:
    if not replay.joints:
        return
    yield "<h2>Joints</h2>"
    keys = ("rmse_position", "rmse_velocity", "rmse_effort", "max_position_error")
    rows = []
    for name, joint in replay.joints.items():
        cells = [NONE if (v := joint.get(k)) is None else f"{v:.4g}" for k in keys]
        for key in ("saturation", "saturation_recorded"):
            share = joint.get(key)
            cells.append(NONE if share is None else f"{share:.1%}")
        rows.append((name, *cells))
    head = ("joint", "rmse position", "rmse velocity", "rmse effort", "largest error",
            "saturated here", "recorded")  # fmt: skip
    yield from _table(head, rows)
