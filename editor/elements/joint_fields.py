"""The parameters of joints that a scene can set: limits, armature, friction and springs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mjrig.editor.elements.page_field import PageField
from mjrig.editor.elements.pattern_edits import PatternEdits, Value
from mjrig.editor.session.elements import JointElement
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.names import Slots

RANGE, EFFORT_RANGE = "range", "actuatorfrcrange"
_SINGLE = ("hinge", "slide")


@dataclass(frozen=True)
class JointParameter:
    """One entry of an actor's `dynamics`: its label, its units, and which joints have it."""

    name: str
    label: str
    #: Unit of a hinge or ball, unit of a slide.
    units: tuple[str, str]
    kinds: tuple[str, ...] = ("hinge", "slide", "ball")


_PARAMETERS = (
    JointParameter(RANGE, "range", ("rad", "m")),
    JointParameter(EFFORT_RANGE, "effort limit", ("N·m", "N"), _SINGLE),
    JointParameter("armature", "armature", ("kg·m²", "kg")),
    JointParameter("damping", "damping", ("N·m·s/rad", "N·s/m")),
    JointParameter("frictionloss", "frictionloss", ("N·m", "N")),
    JointParameter("stiffness", "stiffness", ("N·m/rad", "N/m")),
)


def in_force(model: Any, joint: JointElement, name: str) -> Value:
    """The value of a parameter in the running model."""
    i, dof = joint.joint_id, joint.dof.start
    if name == RANGE:
        return _pair(model.jnt_range[i]) if model.jnt_limited[i] else None
    if name == EFFORT_RANGE:
        return _pair(model.jnt_actfrcrange[i]) if model.jnt_actfrclimited[i] else None
    if name == "stiffness":
        return float(model.jnt_stiffness[i])
    return float(getattr(model, f"dof_{name}")[dof])


def limits_of(model: Any, joint: JointElement, name: str) -> tuple[float, float] | None:
    """A range in the running model; None: there is none."""
    found = in_force(model, joint, name)
    return (found[0], found[1]) if isinstance(found, tuple) else None


def _pair(ends: Any) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


def joint_fields(
    state: EditorState, edits: PanelEdits, joints: Sequence[JointElement], *, degrees: bool
) -> list[PageField]:
    """The parameters of joints of one actor."""
    entries = PatternEdits(state, edits, joints[0].actor, "dynamics")
    reason = entries.why_not()
    model, known = state.simulation.world.model, state.elements.joints.values()
    found = []
    for parameter in _PARAMETERS:
        own = [joint for joint in joints if joint.kind in parameter.kinds]
        alike = [joint for joint in own if joint.turns == own[0].turns]
        if not alike:
            continue
        kinds, first = parameter.kinds, alike[0]
        every = [j.name for j in known if j.actor == first.actor and j.kind in kinds]
        ranged = parameter.name in (RANGE, EFFORT_RANGE)
        shown_in_degrees = degrees and parameter.name == RANGE and first.turns
        found.append(
            PageField(
                entries,
                parameter.name,
                parameter.label,
                "deg" if shown_in_degrees else parameter.units[first.kind == "slide"],
                tuple(joint.name for joint in alike),
                tuple(in_force(model, joint, parameter.name) for joint in alike),
                Slots([(name,) for name in every], first.actor, "joint"),
                reason or _why_computed(state, alike, parameter.name),
                -math.inf if ranged else 0.0,
                math.degrees(1.0) if shown_in_degrees else 1.0,
                _first(parameter.name, first),
                parameter.name == RANGE and any(joint.kind == "ball" for joint in alike),
            )
        )
    return found


def _why_computed(state: EditorState, joints: Sequence[JointElement], name: str) -> str:
    """Why compiling overrides a value of the scene; empty: it does not."""
    known = state.simulation.world[joints[0].actor].model_map.joints.model
    sprung = [j.name for j in joints if j.name in known and known[j.name].springdamper]
    if name not in ("damping", "stiffness") or not sprung:
        return ""
    return tr("the model gives {joint} a springdamper, which sets it", joint=sprung[0])


def _first(name: str, joint: JointElement) -> Value:
    """A limit for a joint that has none."""
    if name == EFFORT_RANGE:
        return (-100.0, 100.0)
    if joint.kind == "ball":
        return (0.0, math.pi)
    return (-math.pi, math.pi) if joint.turns else (-1.0, 1.0)
