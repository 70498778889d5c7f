"""Which joint or actuator a signal is about."""

import re

from mjrig.editor.session.elements import Elements
from mjrig.editor.signals.sensor_signals import PART

_IN_BRACKETS = re.compile(r".*\[([^\[\]]*)\]")


def element_of(elements: Elements, signal: str) -> str | None:
    """The path of what a signal is about; None: of no joint and no actuator.

    `dog.FL_hip.position` and `dog.PDController.kp[FL_hip]` are about the joint of FL_hip,
    `dog.sensor:knee_angle[0]` about what the sensor measures.
    """
    actor, _, rest = signal.partition(".")
    if rest.startswith(PART):
        return elements.for_sensor(actor, rest.removeprefix(PART).partition("[")[0])
    match = _IN_BRACKETS.fullmatch(rest)
    name = match[1] if match else rest.rpartition(".")[0]
    return elements.for_actuator(actor, name)
