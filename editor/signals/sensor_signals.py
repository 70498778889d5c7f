"""Sensors of a running world as signals: `dog.sensor:gyro[0]`."""

from collections.abc import Callable, Iterator
from typing import Any

import mujoco

from mjrig.editor.signals.signal_info import SignalInfo
from mjrig.editor.texts.texts import tr
from mjrig.sim.world import World

PART = "sensor:"
#: Actor part of the path of a sensor that belongs to no actor.
WORLD = "world"

_UNITS = {
    "ACCELEROMETER": "m/s²",
    "ACTUATORFRC": "N·m or N",
    "ACTUATORPOS": "rad or m",
    "ACTUATORVEL": "rad/s or m/s",
    "BALLANGVEL": "rad/s",
    "CLOCK": "s",
    "E_KINETIC": "J",
    "E_POTENTIAL": "J",
    "FORCE": "N",
    "FRAMEANGACC": "rad/s²",
    "FRAMEANGVEL": "rad/s",
    "FRAMELINACC": "m/s²",
    "FRAMELINVEL": "m/s",
    "FRAMEPOS": "m",
    "GEOMDIST": "m",
    "GEOMFROMTO": "m",
    "GYRO": "rad/s",
    "JOINTACTFRC": "N·m or N",
    "JOINTLIMITFRC": "N·m or N",
    "JOINTPOS": "rad or m",
    "JOINTVEL": "rad/s or m/s",
    "MAGNETOMETER": "T",
    "RANGEFINDER": "m",
    "SUBTREEANGMOM": "kg·m²/s",
    "SUBTREECOM": "m",
    "SUBTREELINVEL": "m/s",
    "TENDONACTFRC": "N",
    "TENDONPOS": "m",
    "TENDONVEL": "m/s",
    "TORQUE": "N·m",
    "TOUCH": "N",
    "VELOCIMETER": "m/s",
}


def sensors(world: World) -> Iterator[SignalInfo]:
    """Every number that the sensors of a world give."""
    for info, _ in _numbers(world):
        yield info


def _numbers(world: World) -> Iterator[tuple[SignalInfo, int]]:
    """Each number of each sensor, and its address in sensordata."""
    model = world.model
    prefixes = {robot.model_map.prefix: name for name, robot in world.articulations.items()}
    for i in range(model.nsensor):
        name = model.sensor(i).name or f"#{i}"
        actor, local = _owner(name, prefixes)
        kind = mujoco.mjtSensor(int(model.sensor_type[i])).name.removeprefix("mjSENS_")
        start, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
        for k in range(size):
            index = f"[{k}]" if size > 1 else ""
            path, doc = f"{actor}.{PART}{local}{index}", tr("Sensor: {kind}.", kind=kind.lower())
            yield SignalInfo(path, _UNITS.get(kind, ""), doc), start + k


def _owner(name: str, prefixes: dict[str, str]) -> tuple[str, str]:
    for prefix, actor in prefixes.items():
        if prefix and name.startswith(prefix):
            return actor, name.removeprefix(prefix)
    return WORLD, name


def sensor_reader(world: World, path: str) -> Callable[[], float] | None:
    """The function that reads a sensor now; None if there is none of that path."""
    address = next((i for info, i in _numbers(world) if info.path == path), None)
    if address is None:
        return None
    data: Any = world.data
    return lambda: float(data.sensordata[address])
