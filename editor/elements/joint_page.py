"""The page of a joint: where it is, its limits and friction, the gains and actuators that act."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.arrays import FloatArray
from mjrig.editor.elements import live_bars
from mjrig.editor.elements.field_rows import FieldRows
from mjrig.editor.elements.joint_fields import EFFORT_RANGE, RANGE, joint_fields, limits_of
from mjrig.editor.elements.page_parts import ElementPages, begin_live_table, grey
from mjrig.editor.session.elements import JointElement, actuator_path
from mjrig.editor.texts.texts import tr
from mjrig.gains.gain_rows import GainRow

_AXES = "xyz"


class JointPage:
    """Draws the selected joints: numbers of the first, edits of all."""

    def __init__(self, parts: ElementPages) -> None:
        self._parts = parts
        self._rows = FieldRows(parts.state)

    def draw(self, joints: Sequence[JointElement]) -> None:
        """Draw the page of joints of one actor; there is at least one."""
        parts, first = self._parts, joints[0]
        self._header(joints)
        parts.not_editable(first.actor)
        if first.turns or first.kind == "free":
            parts.unit_choice()
        self._live(first)
        rows = self._gain_rows(first)
        if first.kind in ("hinge", "slide"):
            parts.jog(rows, turns=first.turns)
        imgui.separator_text(tr("Parameters"))
        if first.kind == "free":
            grey(tr("A free joint has no limits, friction or springs that a scene can set."))
        else:
            fields = joint_fields(parts.state, parts.edits, joints, degrees=parts.degrees)
            self._rows.draw(fields)
        imgui.separator_text(tr("Gains"))
        parts.gains(rows)
        imgui.separator_text(tr("Driven by"))
        if first.actuators:
            parts.links([(name, actuator_path(first.actor, name)) for name in first.actuators])
        else:
            grey(tr("No actuator drives it."))

    def _header(self, joints: Sequence[JointElement]) -> None:
        first = joints[0]
        body = self._parts.state.simulation.world.model.body(first.body).name
        if len(joints) > 1:
            about = tr("{count} joints of {actor}", count=len(joints), actor=first.actor)
        else:
            about = tr("{kind} joint, moves {body}", kind=first.kind, body=body)
        self._parts.title([joint.path for joint in joints], about)

    def _gain_rows(self, joint: JointElement) -> list[GainRow]:
        return [
            row
            for row in self._parts.tuning.rows
            if row.actor == joint.actor and row.actuator in joint.actuators
        ]

    # Live values --------------------------------------------------------------------------------

    def _live(self, joint: JointElement) -> None:
        frame = self._parts.state.simulation.frame
        model = self._parts.state.simulation.world.model
        if len(frame.qvel) != model.nv or not begin_live_table():
            return  # a new world is about to be shown
        q, v, effort = frame.qpos[joint.qpos], frame.qvel[joint.dof], frame.joint_effort[joint.dof]
        if joint.kind in ("hinge", "slide"):
            self._single(joint, float(q[0]), float(v[0]), float(effort[0]), model)
        else:
            self._several(joint, q, v, effort, model)
        imgui.end_table()

    def _single(self, joint: JointElement, q: float, v: float, effort: float, model: Any) -> None:
        parts, turns = self._parts, joint.turns
        factor, unit = parts.factor(turns=turns), parts.unit(turns=turns)
        other = f"  ({_other(q, degrees=parts.degrees)})" if turns else ""
        ends = _scaled(limits_of(model, joint, RANGE), factor)
        live_bars.row("q", q * factor, ends, f"{q * factor:+.4f} {unit}{other}")
        live_bars.plain_row("v", f"{v * factor:+.4f} {unit}/s")
        force = "N·m" if turns else "N"
        live_bars.row(
            tr("effort"), effort, self._effort_range(joint, model), f"{effort:+.4f} {force}"
        )

    def _effort_range(self, joint: JointElement, model: Any) -> tuple[float, float] | None:
        """The joint's own limit, else that of the one actuator it has."""
        own = limits_of(model, joint, EFFORT_RANGE)
        if own is not None:
            return own
        limits = [row.limit for row in self._gain_rows(joint)]
        known = len(limits) == len(joint.actuators) == 1 and math.isfinite(limits[0])
        return (-limits[0], limits[0]) if known else None

    def _several(
        self, joint: JointElement, q: FloatArray, v: FloatArray, effort: FloatArray, model: Any
    ) -> None:
        parts = self._parts
        if joint.kind == "free":
            for axis, value in zip(_AXES, q[:3], strict=True):
                live_bars.plain_row(axis, f"{value:+.4f} m")
        factor, unit = parts.factor(turns=True), parts.unit(turns=True)
        angle = _angle(q[-4:]) * factor
        ends = _scaled(limits_of(model, joint, RANGE), factor)
        if joint.kind == "free":
            live_bars.plain_row(tr("angle"), f"{angle:.4f} {unit}")
        else:
            live_bars.row(tr("angle"), angle, ends, f"{angle:.4f} {unit}")
        turn = "  ".join(f"{value:+.3f}" for value in q[-4:])
        live_bars.plain_row("wxyz", turn)
        if joint.kind == "free":
            live_bars.plain_row("v", f"{_triple(v[:3])} m/s")
        live_bars.plain_row("ω", f"{_triple(v[-3:] * factor)} {unit}/s")
        if joint.actuators:
            live_bars.plain_row(tr("effort"), f"{_triple(effort[-3:])} N·m")


def _triple(values: FloatArray) -> str:
    return "  ".join(f"{value:+.3f}" for value in values)


def _angle(quaternion: FloatArray) -> float:
    """The angle of a rotation, 0 to π."""
    length = float(np.linalg.norm(quaternion[1:]))
    return 2.0 * math.atan2(length, abs(float(quaternion[0])))


def _other(q: float, *, degrees: bool) -> str:
    """An angle in the unit that is not chosen."""
    return tr("{position:+.3f} rad", position=q) if degrees else f"{math.degrees(q):+.1f}°"


def _scaled(ends: tuple[float, float] | None, factor: float) -> tuple[float, float] | None:
    return (ends[0] * factor, ends[1] * factor) if ends is not None else None
