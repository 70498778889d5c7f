"""The gains and limits of the model's own actuators that a scene can set."""

import math

import numpy as np

from mjrig.actuators.native_actuator import GAINS, GAINS_OF, LIMITS, NativeActuator
from mjrig.control.articulation import Articulation
from mjrig.editor.elements.page_field import PageField
from mjrig.editor.elements.pattern_edits import PatternEdits, Value
from mjrig.editor.session.elements import ActuatorElement
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.session.state import EditorState
from mjrig.names import Slots

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
