"""The jog slider: the setpoint of one actuator of the running robot, moved while it is held."""

import math

from imgui_bundle import imgui

from mjrig.editor.gains.gain_model import Tuning
from mjrig.editor.texts.texts import tr
from mjrig.gains.gain_rows import GainRow


class JogSlider:
    """One slider; it commands as long as it is held, then releases the actuator."""

    def __init__(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._held = ""

    def draw(self, row: GainRow, *, factor: float = 1.0, unit: str = "") -> None:
        """The slider of one row, in the units of the joint times `factor`."""
        tuning = self._tuning
        frame = tuning.state.simulation.frame.robots.get(row.actor)
        robot = tuning.state.simulation.world.articulations.get(row.actor)
        actuators = robot.actuators if robot is not None else ()
        binding = next((b for b in actuators if b.actuator == row.actuator), None)
        if frame is None or binding is None or row.no_response:
            self.let_go()
            return
        low, high = binding.joint_range or (-math.pi, math.pi)
        value = float(frame.setpoint[0, row.column]) * row.scale * factor
        why_not = tuning.why_no_jog(row)
        imgui.begin_disabled(bool(why_not))
        text = tr("jog %.3f {unit}", unit=unit).rstrip()
        changed, new = imgui.slider_float("###jog", value, low * factor, high * factor, text)
        imgui.end_disabled()
        flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
        if imgui.is_item_hovered(flags):
            moves = tr("Moves the setpoint of the running robot; let go to release it.")
            imgui.set_tooltip(why_not or moves)
        if changed:
            self._held = row.key
            tuning.jog_to(row, new / (factor * row.scale))
        if self._held and (self._held != row.key or not imgui.is_item_active()):
            self.let_go()

    def let_go(self) -> None:
        """Release the actuator, if the slider moved one."""
        if self._held:
            self._held = ""
            self._tuning.jog_end()
