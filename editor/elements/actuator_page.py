"""The page of an actuator: what it is told and does, its limits, and what it acts on."""

from typing import Any

from imgui_bundle import imgui

from mjrig.control.articulation import Articulation
from mjrig.editor.elements import live_bars
from mjrig.editor.elements.actuator_fields import actuator_fields, authored_at
from mjrig.editor.elements.field_rows import FieldRows
from mjrig.editor.elements.page_parts import ElementPages, begin_live_table, grey
from mjrig.editor.session.elements import ActuatorElement, joint_path
from mjrig.editor.texts.texts import tr
from mjrig.gains.gain_rows import GainRow
from mjrig.model.binding import ActuatorBinding


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
            ends = _pair(model.actuator_ctrlrange[address]) if limited else None
            value = float(frame.ctrl[address])
            live_bars.row(name, value, ends, f"{value:+.4f}")
        self._outputs(actuator)
        imgui.end_table()

    def _outputs(self, actuator: ActuatorElement) -> None:
        binding, frame = actuator.binding, self._parts.state.simulation.frame
        turns = binding.transmission == "hinge"
        for k in range(binding.output_count):
            out = binding.output_address + k
            suffix = f" {k}" if binding.output_count > 1 else ""
            force = float(frame.actuator_force[out])
            live_bars.row(tr("force") + suffix, force, binding.force_range, f"{force:+.4f}")
            if binding.output_count == 1:
                length = float(frame.actuator_length[out])
                speed = float(frame.actuator_velocity[out])
                live_bars.plain_row(tr("length"), f"{length:+.4f}")
                live_bars.plain_row(tr("velocity"), f"{speed:+.4f}")
        if binding.on_joint:
            place = frame.joint_effort[binding.dof_address]
            unit = "N·m" if turns else "N"
            live_bars.plain_row(tr("joint effort"), f"{place:+.4f} {unit}")

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


def _pair(ends: Any) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])
