"""The sensors of an actor, read where MuJoCo writes them."""

from typing import Any

import mujoco

from mjrig.arrays import FloatArray
from mjrig.model.actor_model import ActorModel


def read_sensors(model: Any, data: Any, where: ActorModel) -> dict[str, FloatArray]:
    """A read-only view of every sensor of an actor by local name."""
    found: dict[str, FloatArray] = {}
    for i in range(model.nsensor):
        name = str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SENSOR, i) or "")
        if name.startswith(where.prefix):
            first, size = int(model.sensor_adr[i]), int(model.sensor_dim[i])
            values: FloatArray = data.sensordata[first : first + size]
            values.setflags(write=False)
            found[name.removeprefix(where.prefix)] = values
    return found
