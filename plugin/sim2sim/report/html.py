"""report.html: one self-contained file with embedded plots."""

from collections.abc import Iterator
from html import escape

from mjrig.sim2sim.compare.finding import sentence
from mjrig.sim2sim.compare.result import NONE, Replay
from mjrig.sim2sim.report.html_page import html_page, html_table
from mjrig.sim2sim.report.svg import plot

#: Joints that are plotted: the worst ones.
PLOTTED = 12


def page(replay: Replay) -> str:
    """The whole file."""
    return html_page(f"{replay.source}: {replay.verdict}", _lines(replay))


def _lines(replay: Replay) -> Iterator[str]:
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
    yield from html_table((), facts)


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
    yield from html_table(head, rows)


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
    yield from html_table(head, rows)
