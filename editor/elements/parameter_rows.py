"""Rows of parameters of joints: the value in force, where it comes from, an edit, a reset."""

import math
from collections.abc import Sequence

from imgui_bundle import imgui

from mjrig.editor.elements.joint_parameters import JointParameter, SceneJoints, Value
from mjrig.editor.elements.page_parts import ElementPages
from mjrig.editor.inspector.number_widgets import ANY, Scale, real
from mjrig.editor.session.elements import JointElement
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import GREY, RED
from mjrig.properties.bounds import Bounds

_TABLE = imgui.TableFlags_.sizing_fixed_fit | imgui.TableFlags_.no_saved_settings
_POSITIVE = Bounds("", 0.0, math.inf, None, None)


class ParameterRows:
    """A table of four columns: name, value, where from, reset."""

    def __init__(self, parts: ElementPages) -> None:
        self._parts = parts

    def draw(self, joints: Sequence[JointElement], parameters: Sequence[JointParameter]) -> None:
        """The parameters of joints of one actor; an edit sets all of them."""
        if not imgui.begin_table("parameters", 4, int(_TABLE)):
            return
        imgui.table_setup_column("name")
        imgui.table_setup_column("value", imgui.TableColumnFlags_.width_stretch)
        imgui.table_setup_column("from")
        imgui.table_setup_column("reset")
        scene = SceneJoints(self._parts.state, joints[0].actor, self._parts.edits)
        for parameter in parameters:
            own = [joint for joint in joints if joint.kind in parameter.kinds]
            if own:
                imgui.push_id(parameter.name)
                self._row(scene, own, parameter)
                imgui.pop_id()
        imgui.end_table()

    def _row(
        self, scene: SceneJoints, joints: Sequence[JointElement], parameter: JointParameter
    ) -> None:
        first = joints[0]
        reason = scene.why_not_edited(first, parameter)
        values = [scene.value(joint, parameter) for joint in joints]
        mixed = any(value != values[0] for value in values)
        scale = self._scale(first, parameter)
        imgui.table_next_row()
        imgui.table_next_column()
        imgui.align_text_to_frame_padding()
        imgui.text(parameter.label)
        unit = self._parts.unit(turns=True) if scale.factor != 1.0 else parameter.unit(first)
        imgui.set_item_tooltip(f"{scene.path(parameter.name)}\n{unit}")
        imgui.table_next_column()
        imgui.begin_disabled(bool(reason))
        new = self._value(first, parameter, values[0], scale, mixed=mixed)
        imgui.end_disabled()
        _tooltip(reason or unit)
        if new is not None:
            scene.set(joints, parameter, new)
        if self._held:
            scene.touch(parameter)
        imgui.table_next_column()
        self._origin(scene, joints, parameter)
        imgui.table_next_column()
        self._reset(scene, joints, parameter, reason)
        self._problem(scene, parameter)

    def _scale(self, joint: JointElement, parameter: JointParameter) -> Scale:
        bounds = ANY if parameter.is_range else _POSITIVE
        factor = self._parts.factor(turns=joint.turns) if parameter.name == "range" else 1.0
        return Scale(bounds, factor, 1.0 if parameter.is_range else 0.1)

    # Values -------------------------------------------------------------------------------------

    def _value(
        self,
        joint: JointElement,
        parameter: JointParameter,
        value: Value,
        scale: Scale,
        *,
        mixed: bool,
    ) -> Value:
        """The widgets of one value; returns the new one, None if it is as it was."""
        self._held = False
        if not parameter.is_range:
            assert isinstance(value, float)
            imgui.set_next_item_width(-1)
            changed, new = real("##v", value, scale, mixed=mixed)
            self._held = imgui.is_item_active()
            return new if changed else None
        if value is None:
            return self._add_limit(joint, parameter)
        assert isinstance(value, tuple)
        return self._ends(joint, value, scale, mixed=mixed)

    def _add_limit(self, joint: JointElement, parameter: JointParameter) -> Value:
        imgui.align_text_to_frame_padding()
        imgui.text_colored(GREY, tr("none"))
        imgui.same_line()
        if not imgui.small_button(tr("Add")):
            return None
        if parameter.name == "range" and joint.turns:
            return (0.0, math.pi) if joint.kind == "ball" else (-math.pi, math.pi)
        return parameter.first

    def _ends(
        self, joint: JointElement, ends: tuple[float, float], scale: Scale, *, mixed: bool
    ) -> Value:
        gap = imgui.get_style().item_inner_spacing.x
        width = (imgui.get_content_region_avail().x - gap) / 2
        new = list(ends)
        found = False
        for k in range(2):
            if k:
                imgui.same_line(0.0, gap)
            imgui.set_next_item_width(width)
            fixed = k == 0 and joint.kind == "ball"  # a ball's limit begins at 0
            imgui.begin_disabled(fixed)
            changed, value = real(f"##{k}", ends[k], scale, mixed=mixed)
            imgui.end_disabled()
            self._held = self._held or imgui.is_item_active()
            if changed and not fixed:
                new[k], found = value, True
        return (new[0], new[1]) if found else None

    # Origin and reset ---------------------------------------------------------------------------

    def _origin(
        self, scene: SceneJoints, joints: Sequence[JointElement], parameter: JointParameter
    ) -> None:
        found = dict.fromkeys(scene.origin(joint, parameter) for joint in joints)
        text = ", ".join(found)
        imgui.align_text_to_frame_padding()
        imgui.text_colored(GREY, text.partition(":")[0])
        about = {
            "model": tr("From the model file."),
            "scene": tr("Set by the scene for this joint."),
            "running world": tr("The scene has another value: the running world was changed."),
        }
        pattern = tr("Set by the scene: {pattern}", pattern=text.partition(": ")[2])
        imgui.set_item_tooltip(about.get(text) or pattern)

    def _reset(
        self,
        scene: SceneJoints,
        joints: Sequence[JointElement],
        parameter: JointParameter,
        reason: str,
    ) -> None:
        set_here = [joint for joint in joints if scene.pattern(joint, parameter) is not None]
        if reason or not set_here:
            return
        if imgui.arrow_button("##reset", imgui.Dir.left):
            scene.reset(set_here, parameter)
        imgui.set_item_tooltip(tr("Back to the model's value"))

    def _problem(self, scene: SceneJoints, parameter: JointParameter) -> None:
        problem = self._parts.state.problems.get(scene.path(parameter.name))
        if problem:
            imgui.table_next_row()
            imgui.table_set_column_index(1)
            imgui.push_style_color(imgui.Col_.text, RED)
            imgui.text_wrapped(problem)
            imgui.pop_style_color()


def _tooltip(text: str) -> None:
    """A tooltip that disabled items show too."""
    flags = imgui.HoveredFlags_.for_tooltip | imgui.HoveredFlags_.allow_when_disabled
    if text and imgui.is_item_hovered(flags):
        imgui.set_tooltip(text)
