"""Names for what a model leaves unnamed, so that a prefix finds it."""

from typing import Any

from mjrig.binding import unique


def name_everything(spec: Any) -> None:
    """Name bodies, joints, actuators, sensors and keyframes that have no name."""
    _name_all(spec.bodies, lambda body: "body")
    _name_all(spec.joints, lambda joint: joint.parent.name)
    _name_all(spec.actuators, lambda actuator: actuator.target or "actuator")
    _name_all(spec.sensors, _sensor_name)
    _name_all(spec.keys, lambda key: "key")


def _sensor_name(sensor: Any) -> str:
    kind = str(sensor.type).rpartition("mjSENS_")[2].split(":")[0].lower()
    return f"{sensor.objname}_{kind}" if sensor.objname else kind


def _name_all(elements: Any, name: Any) -> None:
    taken = {e.name for e in elements if e.name}
    for element in elements:
        if not element.name:
            element.name = unique(name(element), taken)
            taken.add(element.name)
