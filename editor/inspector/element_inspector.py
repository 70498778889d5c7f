"""ElementInspector: the inspector's pages of selected joints and actuators."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from imgui_bundle import imgui

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.patterns import Slots
from mjrig.core.scene.native_elements import GAINS, GAINS_OF, LIMITS, NativeActuator
from mjrig.editor.inspector import element_widgets
from mjrig.editor.inspector.element_fields import PageField, PatternEdits, Value
from mjrig.editor.inspector.element_widgets import ElementPages, FieldRows, begin_live_table, grey
from mjrig.editor.session.elements import ActuatorElement, JointElement, actuator_path, joint_path
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.lab.gains.gain_rows import GainRow

# Joint fields -------------------------------------------------------------------------------------
# The parameters of joints that a scene can set: limits, armature, friction and springs.


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


# Joint page ---------------------------------------------------------------------------------------
# The page of a joint: where it is, its limits and friction, the gains and actuators that act.


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
        element_widgets.row("q", q * factor, ends, f"{q * factor:+.4f} {unit}{other}")
        element_widgets.plain_row("v", f"{v * factor:+.4f} {unit}/s")
        force = "N·m" if turns else "N"
        element_widgets.row(
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
                element_widgets.plain_row(axis, f"{value:+.4f} m")
        factor, unit = parts.factor(turns=True), parts.unit(turns=True)
        angle = _angle(q[-4:]) * factor
        ends = _scaled(limits_of(model, joint, RANGE), factor)
        if joint.kind == "free":
            element_widgets.plain_row(tr("angle"), f"{angle:.4f} {unit}")
        else:
            element_widgets.row(tr("angle"), angle, ends, f"{angle:.4f} {unit}")
        turn = "  ".join(f"{value:+.3f}" for value in q[-4:])
        element_widgets.plain_row("wxyz", turn)
        if joint.kind == "free":
            element_widgets.plain_row("v", f"{_triple(v[:3])} m/s")
        element_widgets.plain_row("ω", f"{_triple(v[-3:] * factor)} {unit}/s")
        if joint.actuators:
            element_widgets.plain_row(tr("effort"), f"{_triple(effort[-3:])} N·m")


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


# Actuator fields ----------------------------------------------------------------------------------


_PARTNER = {"kv": "dampratio", "dampratio": "kv"}
_FIRST: dict[str, Value] = {"dampratio": 1.0, "forcerange": (-100.0, 100.0)}
_UNITS = {"kp": "{}/rad", "kv": "{}·s/rad", "ki": "{}/(rad·s)"}


def authored_at(robot: Articulation, actuator: str) -> int | None:
    """Which of the scene's own `actuators` made an actuator; None: the model has it."""
    made = robot.model_map.authored
    return next((i for i, names in enumerate(made) if actuator in names), None)


def actuator_fields(
    state: EditorState, edits: PanelEdits, actuator: ActuatorElement
) -> list[PageField]:
    """The gains and limits of one of the model's actuators; none for one that the scene adds."""
    robot = state.simulation.world.articulations[actuator.actor]
    natives = robot.model_map.natives
    name = actuator.name
    if name not in natives.now or name not in natives.model or name in natives.replaced:
        return []
    law, kind = natives.now[name], natives.kind(name)
    entries = PatternEdits(state, edits, actuator.actor, "native_gains")
    reason = entries.why_not()
    slots = Slots([a.names for a in natives.model.values()], actuator.actor)
    values = _in_force(robot, actuator, law, kind)
    return [
        PageField(
            entries,
            one,
            one,
            _unit(actuator, one),
            (name,),
            (value,),
            slots,
            reason,
            0.0 if one in GAINS else -math.inf,
            first=_FIRST.get(one, (-1.0, 1.0)),
            from_zero=kind == "orientation",
            instead_of=_PARTNER.get(one, ""),
        )
        for one, value in values.items()
    ]


def _in_force(
    robot: Articulation, actuator: ActuatorElement, law: NativeActuator, kind: str
) -> dict[str, Value]:
    """The values of what an actuator of this kind has, by name."""
    servo = next((s for s in robot.servos if s.binding.actuator == law.name), None)
    gains = {**law.gains(), **(servo.gains() if servo is not None else {})}
    found: dict[str, Value] = {}
    for name in GAINS_OF.get(kind, ()):
        value = gains.get(name)
        if not law.why_not(name, {name: 0.0}):
            found[name] = value
    binding = actuator.binding
    limits: dict[str, Value] = {
        "forcerange": binding.force_range,
        "ctrlrange": binding.ctrl_range,
        "gear": _gear(law, several=not (binding.joint or binding.transmission == "tendon")),
    }
    probe = {"forcerange": (0.0, 1.0), "ctrlrange": (0.0, 1.0), "gear": (1.0,)}
    return found | {n: limits[n] for n in LIMITS if not law.why_not(n, probe)}


def _gear(law: NativeActuator, *, several: bool) -> Value:
    numbers = np.asarray(law.gear, float).tolist()
    return tuple(numbers) if several else numbers[0]


def _unit(actuator: ActuatorElement, name: str) -> str:
    unit = actuator.binding.effort_unit
    if not unit:
        return ""
    if name == "forcerange":
        return unit
    text = _UNITS.get(name, "").format(unit)
    return text if unit == "N·m" else text.replace("rad", "m")


# Actuator page ------------------------------------------------------------------------------------
# The page of an actuator: what it is told and does, its limits, and what it acts on.


class ActuatorPage:
    """Draws one actuator."""

    def __init__(self, parts: ElementPages) -> None:
        self._parts = parts
        self._rows = FieldRows(parts.state)

    def draw(self, actuator: ActuatorElement) -> None:
        """Draw the page of an actuator."""
        parts, binding = self._parts, actuator.binding
        about = tr("{kind} actuator on {target}", kind=binding.kind, target=_target(binding))
        parts.title([actuator.path], about)
        parts.not_editable(actuator.actor)
        turns = binding.transmission == "hinge"
        if turns:
            parts.unit_choice()
        self._live(actuator)
        rows = self._gain_rows(actuator)
        if binding.on_joint:
            parts.jog(rows, turns=turns)
        imgui.separator_text(tr("Parameters"))
        self._fields(actuator)
        imgui.separator_text(tr("Gains"))
        parts.gains(rows)
        self._driver(actuator)
        imgui.separator_text(tr("Acts on"))
        self._acts_on(actuator)

    def _fields(self, actuator: ActuatorElement) -> None:
        parts = self._parts
        fields = actuator_fields(parts.state, parts.edits, actuator)
        robot = parts.state.simulation.world.articulations[actuator.actor]
        place = authored_at(robot, actuator.name)
        if fields:
            self._rows.draw(fields)
        elif place is not None and not parts.state.why_not_edited(actuator.actor):
            grey(tr("It is described in the scene:"))
            parts.link(actuator.name, f"{actuator.actor}.actuators[{place}]")
        else:
            grey(tr("The scene cannot set anything of it."))

    def _gain_rows(self, actuator: ActuatorElement) -> list[GainRow]:
        rows = self._parts.tuning.rows
        return [r for r in rows if (r.actor, r.actuator) == (actuator.actor, actuator.name)]

    # Live values --------------------------------------------------------------------------------

    def _live(self, actuator: ActuatorElement) -> None:
        binding, frame = actuator.binding, self._parts.state.simulation.frame
        model = self._parts.state.simulation.world.model
        if len(frame.ctrl) != model.nu or not begin_live_table():
            return  # a new world is about to be shown
        for k in range(binding.ctrl_count):
            name = binding.inputs[k] or "ctrl"
            address = binding.ctrl_address + k
            limited = bool(model.actuator_ctrllimited[address])
            ends = _range_of(model.actuator_ctrlrange[address]) if limited else None
            value = float(frame.ctrl[address])
            element_widgets.row(name, value, ends, f"{value:+.4f}")
        self._outputs(actuator)
        imgui.end_table()

    def _outputs(self, actuator: ActuatorElement) -> None:
        binding, frame = actuator.binding, self._parts.state.simulation.frame
        turns = binding.transmission == "hinge"
        for k in range(binding.output_count):
            out = binding.output_address + k
            suffix = f" {k}" if binding.output_count > 1 else ""
            force = float(frame.actuator_force[out])
            element_widgets.row(tr("force") + suffix, force, binding.force_range, f"{force:+.4f}")
            if binding.output_count == 1:
                length = float(frame.actuator_length[out])
                speed = float(frame.actuator_velocity[out])
                element_widgets.plain_row(tr("length"), f"{length:+.4f}")
                element_widgets.plain_row(tr("velocity"), f"{speed:+.4f}")
        if binding.on_joint:
            place = frame.joint_effort[binding.dof_address]
            unit = "N·m" if turns else "N"
            element_widgets.plain_row(tr("joint effort"), f"{place:+.4f} {unit}")

    # What it belongs to -------------------------------------------------------------------------

    def _driver(self, actuator: ActuatorElement) -> None:
        """Which controller commands it, or why none can."""
        robot = self._parts.state.simulation.world.articulations.get(actuator.actor)
        owner = _owner(robot, actuator.name)
        if owner:
            grey(tr("Commanded by {owner}.", owner=owner))
        elif actuator.binding.skip_reason:
            reason = actuator.binding.skip_reason
            grey(tr("No controller takes it by itself: it {reason}.", reason=reason))
        else:
            grey(tr("Commanded directly: no controller drives it."))

    def _acts_on(self, actuator: ActuatorElement) -> None:
        binding = actuator.binding
        if not binding.joint:
            imgui.text_wrapped(_target(binding))
        if actuator.joints:
            joints = [(name, joint_path(actuator.actor, name)) for name in actuator.joints]
            self._parts.links(joints)
        else:
            grey(tr("It moves no joint of {actor}.", actor=actuator.actor))


def _owner(robot: Articulation | None, actuator: str) -> str:
    controllers = robot.controllers if robot is not None else ()
    found = (c.role for c in controllers if actuator in {b.actuator for b in c.bindings})
    return next(found, "")


def _target(binding: ActuatorBinding) -> str:
    kind = (
        tr("{transmission} joint", transmission=binding.transmission)
        if binding.joint
        else binding.transmission
    )
    return f"{kind} {binding.target}".rstrip()


def _range_of(ends: Any) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


# Element inspector --------------------------------------------------------------------------------


class ElementInspector:
    """Draws the first selected joint or actuator; joints of one actor are edited together.

    Args:
        parts: what its pages draw with.
    """

    def __init__(self, parts: ElementPages) -> None:
        self.state = parts.state
        self.parts = parts
        self._joint = JointPage(self.parts)
        self._actuator = ActuatorPage(self.parts)

    def draw(self) -> bool:
        """Draw the page, if a joint or an actuator is selected first; returns whether it is."""
        paths, elements = self.state.selection.paths, self.state.elements
        first = paths[0] if paths else ""
        if first in elements.joints:
            self.parts.tuning.refresh()
            found = [elements.joints[path] for path in paths if path in elements.joints]
            self._joint.draw([joint for joint in found if joint.actor == found[0].actor])
        elif first in elements.actuators:
            self.parts.tuning.refresh()
            self._actuator.draw(elements.actuators[first])
        else:
            return False
        return True
