"""Parameters of joints: their values in force, where they come from, and edits. No imgui."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.editor.edits.edits import UNSET
from mjrig.editor.session.elements import JointElement
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.model_files.model_source import is_binary
from mjrig.names import Slots, literal
from mjrig.scene.actor import ActorDescription

#: One number, or a range; None: the joint has no such limit.
Value = float | tuple[float, float] | None
_SINGLE = ("hinge", "slide")


@dataclass(frozen=True)
class JointParameter:
    """One entry of an actor's `dynamics`: its label, its units, and which joints have it."""

    name: str
    label: str
    #: Unit of a hinge or ball, unit of a slide.
    units: tuple[str, str]
    kinds: tuple[str, ...] = ("hinge", "slide", "ball")
    is_range: bool = False
    #: The first value of a limit that was none.
    first: tuple[float, float] = (0.0, 0.0)

    def unit(self, joint: JointElement) -> str:
        """The unit of a joint's value."""
        return self.units[joint.kind == "slide"]


PARAMETERS = (
    JointParameter("range", "range", ("rad", "m"), is_range=True, first=(-1.0, 1.0)),
    JointParameter(
        "actuatorfrcrange", "effort limit", ("N·m", "N"), _SINGLE, is_range=True, first=(-100, 100)
    ),
    JointParameter("armature", "armature", ("kg·m²", "kg")),
    JointParameter("damping", "damping", ("N·m·s/rad", "N·s/m")),
    JointParameter("frictionloss", "frictionloss", ("N·m", "N")),
    JointParameter("stiffness", "stiffness", ("N·m/rad", "N/m")),
)


def in_force(model: Any, joint: JointElement, name: str) -> Value:
    """The value that the running model has."""
    i, dof = joint.joint_id, joint.dof.start
    if name == "range":
        return _pair(model.jnt_range[i]) if model.jnt_limited[i] else None
    if name == "actuatorfrcrange":
        return _pair(model.jnt_actfrcrange[i]) if model.jnt_actfrclimited[i] else None
    if name == "stiffness":
        return float(model.jnt_stiffness[i])
    return float(getattr(model, f"dof_{name}")[dof])


def _pair(ends: Any) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])


class SceneJoints:
    """The parameters of the joints of one actor, as the scene writes them."""

    def __init__(self, state: EditorState, actor: str, edits: PanelEdits) -> None:
        self.state, self.actor, self.edits = state, actor, edits

    def why_not_edited(self, joint: JointElement, parameter: JointParameter) -> str:
        """Why the scene cannot set a parameter; empty: it can."""
        reason = self.state.why_not_edited(self.actor)
        if reason:
            return reason
        if joint.kind not in parameter.kinds:
            return f"a {joint.kind} joint has no {parameter.label}"
        if is_binary(self._described()):
            return (
                "an .mjb is already compiled and cannot be edited; use the model it was made from"
            )
        return ""

    def value(self, joint: JointElement, parameter: JointParameter) -> Value:
        """The value in force, or the one that a drag will put in force."""
        held = self.edits.held(self.path(parameter.name))
        if isinstance(held, Mapping) and literal(joint.name) in held:
            return _value(held[literal(joint.name)])
        return in_force(self.state.simulation.world.model, joint, parameter.name)

    def pattern(self, joint: JointElement, parameter: JointParameter) -> str | None:
        """The pattern of the scene that sets a joint's value; None: none does."""
        slots = self._slots(parameter)
        if joint.name not in slots.names:
            return None
        place = slots.names.index(joint.name)
        return next((p for p in self._authored(parameter.name) if place in slots.match(p)), None)

    def origin(self, joint: JointElement, parameter: JointParameter) -> str:
        """Where the value in force comes from: `model`, or `scene` and the pattern that sets it."""
        pattern = self.pattern(joint, parameter)
        if pattern is None:
            return "model"
        written = _value(getattr(self._described().dynamics, parameter.name)[pattern])
        now = in_force(self.state.simulation.world.model, joint, parameter.name)
        if not _close(written, now):
            return "running world"
        return "scene" if pattern == literal(joint.name) else f"scene: {pattern}"

    def set(self, joints: Sequence[JointElement], parameter: JointParameter, value: Value) -> None:
        """Give joints a value, each under its own name; a drag is one edit."""
        written = list(value) if isinstance(value, tuple) else value
        names = {literal(joint.name): written for joint in joints}
        now = self._without(joints, parameter)
        before = self._authored(parameter.name)
        kept = {p: names.get(p, v) for p, v in before.items() if p in now or p in names}
        self.edits.drag({self.path(parameter.name): {**kept, **now, **names}})

    def touch(self, parameter: JointParameter) -> None:
        """The widget of a drag is still held."""
        self.edits.touch({self.path(parameter.name): None})

    def reset(self, joints: Sequence[JointElement], parameter: JointParameter) -> None:
        """Back to the model's value; what a pattern says of other joints stays."""
        left = self._without(joints, parameter)
        path = self.path(parameter.name)
        described = self._described().dynamics
        others = set(described.authored_values) - {parameter.name} if described else set()
        if left:
            self.edits.put({path: left}, self._title("Reset", parameter, joints))
        else:
            gone = path if others else f"{self.actor}.dynamics"
            self.edits.put({gone: UNSET}, self._title("Reset", parameter, joints))

    def path(self, name: str) -> str:
        """The path of a parameter's property."""
        return f"{self.actor}.dynamics.{name}"

    # The scene ----------------------------------------------------------------------------------

    def _described(self) -> ActorDescription:
        return self.state.scene[self.actor]

    def _authored(self, name: str) -> Mapping[str, Any]:
        if self.state.why_not_edited(self.actor):
            return {}
        dynamics = self._described().dynamics
        authored = dynamics.authored(name) if dynamics is not None else None
        return authored if isinstance(authored, Mapping) else {}

    def _slots(self, parameter: JointParameter) -> Slots:
        joints = self.state.elements.joints.values()
        kinds = parameter.kinds
        names = [j.name for j in joints if j.actor == self.actor and j.kind in kinds]
        return Slots([(name,) for name in names], self.actor, "joint")

    def _without(self, joints: Sequence[JointElement], parameter: JointParameter) -> dict[str, Any]:
        slots = self._slots(parameter)
        taken = [slots.names.index(joint.name) for joint in joints]
        return slots.without(self._authored(parameter.name), taken)

    def _title(self, verb: str, parameter: JointParameter, joints: Sequence[JointElement]) -> str:
        who = joints[0].name if len(joints) == 1 else f"{len(joints)} joints"
        return f"{verb} {parameter.label} of {self.actor}.{who}"


def _value(written: Any) -> Value:
    if isinstance(written, list | tuple):
        return float(written[0]), float(written[1])
    return float(written)


def _close(written: Value, now: Value) -> bool:
    """Whether two values are the same but for the rounding of a model in degrees."""
    ones = written if isinstance(written, tuple) else (written,)
    others = now if isinstance(now, tuple) else (now,)
    return len(ones) == len(others) and bool(np.allclose(_numbers(ones), _numbers(others), 1e-9))


def _numbers(values: tuple[float | None, ...]) -> list[float]:
    return [np.nan if value is None else value for value in values]
