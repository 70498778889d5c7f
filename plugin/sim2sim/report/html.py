"""report.html: one self-contained file with embedded plots."""

import json
from collections.abc import Iterator, Sequence
from html import escape

from mjrig.sim2sim.compare.finding import ReplayFinding, sentence
from mjrig.sim2sim.compare.result import NONE, UNCLEAR, Replay, tone, versions
from mjrig.sim2sim.report.html_page import html_page, html_table
from mjrig.sim2sim.report.plain import plain
from mjrig.sim2sim.report.plots import plots


def page(replay: Replay) -> str:
    """The whole file."""
    return html_page(f"{replay.source}: {replay.verdict}", _lines(replay))


def _lines(replay: Replay) -> Iterator[str]:
    yield f'<h1 class="{tone(replay.verdict)}">{escape(replay.verdict)}</h1>'
    what = f"{replay.source} in {replay.scene}, mode {replay.mode}"
    yield f'<p class="dim">{escape(what)}</p>'
    yield f"<p>Evidence: {escape(replay.evidence)}.</p>"
    yield from _facts(replay)
    if replay.diagnosis:
        yield "<h2>Diagnosis</h2><ol>"
        yield from (_finding(f, replay.origin) for f in replay.diagnosis)
        yield "</ol>"
    yield from _trials(replay)
    yield from plots(replay)
    yield from _joints(replay)
    unclear = [n.removeprefix(UNCLEAR) for n in replay.notes if n.startswith(UNCLEAR)]
    yield from _list("Could not be judged", unclear)
    yield from _list("Notes", [n for n in replay.notes if not n.startswith(UNCLEAR)])
    yield from _made(replay)


def _finding(finding: ReplayFinding, origin: str) -> str:
    """The sentence, and the edit that repairs it, to paste."""
    sure = "" if finding.share is None or finding.confident else " <i>(a suspicion)</i>"
    text = f"<li>{escape(sentence(finding, origin))}{sure}"
    if isinstance(finding.recorded, list):
        text += f"<pre>{escape(json.dumps(finding.recorded))}</pre>"
    for edit in finding.fix:
        value = json.dumps(plain(edit.value), ensure_ascii=False)
        changed = f"  # {edit.changed}" if edit.changed else ""
        line = f"{edit.file}: {edit.path}{changed}\n{value}"
        text += f"<pre>{escape(line)}</pre>"
    return f"{text}</li>"


def _list(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{escape(title)}</h2><ul>"
        yield from (f"<li>{escape(line)}</li>" for line in lines)
        yield "</ul>"


def _made(replay: Replay) -> Iterator[str]:
    """How it was made: the command line, the policy's commands, versions."""
    yield "<h2>Made by</h2>"
    rows = [("command", replay.command)] if replay.command else []
    if replay.schedule:
        steps = [f"{t:g} s: {', '.join(f'{v:g}' for v in values)}" for t, values in replay.schedule]
        rows.append(("recorded commands", "; ".join(steps)))
    yield from html_table((), [*rows, *versions().items()])


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
    head = ("trial", "result", "duration [s]", "least upright", "tracking error", "saturated")
    yield from html_table(head, rows)


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
    head = ("joint", "rmse position [rad, m]", "velocity [rad/s, m/s]", "effort [N·m, N]",
            "largest position error", "saturated here", "recorded")  # fmt: skip
    yield from html_table(head, rows)
