"""A stand-in for MuJoCo Warp's device: MuJoCo itself, in double precision, world by world.

Everything around the device can so be compared with MuJoCo bit by bit, and without the package.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar

import mujoco
import mujoco.batch
import numpy as np
import pytest

from mjrig.core.sim import warp_batch, warp_device
from mjrig.lab.rollouts import hosts, plan, run

#: Some of the fields that are the same in all worlds of MuJoCo Warp.
COMMON = {"actuator_forcelimited", "actuator_actlimited", "jnt_limited", "geom_type"}


class CDevice:
    """Worlds of MuJoCo behind the interface of `Device`.

    `too_small` is the least room that does not suffice.
    """

    made: ClassVar[list["CDevice"]] = []
    too_small: ClassVar[int] = 0

    def __init__(
        self, model: Any, start: Any, count: int, rows: Mapping[str, Any], room: int
    ) -> None:
        self.fields = frozenset(rows)
        assert not self.fields & COMMON
        # A state that is not finite stays, as on MuJoCo Warp.
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self.worlds = [(own, mujoco.MjData(own)) for own in (copy(model) for _ in range(count))]
        self.overflow = np.full(count, room <= CDevice.too_small)
        CDevice.made.append(self)
        self.load(rows)

    def load(self, rows: Mapping[str, Any]) -> None:
        for name, values in rows.items():
            for (model, _), own in zip(self.worlds, values, strict=True):
                getattr(model, name)[:] = own

    def push(self, field: str, values: Any) -> None:
        for (_, data), own in zip(self.worlds, values, strict=True):
            if field == "time":
                data.time = float(np.ravel(own)[0])
            else:
                getattr(data, field)[:] = own

    def pull(self, field: str) -> Any:
        return np.array([getattr(data, field) for _, data in self.worlds])

    def step(self, n: int) -> None:
        for model, data in self.worlds:
            mujoco.mj_step(model, data, n)


@pytest.fixture
def on_c(monkeypatch: pytest.MonkeyPatch) -> type[CDevice]:
    """The engine warp computes with MuJoCo, in double precision."""
    monkeypatch.setattr(CDevice, "made", [])
    monkeypatch.setattr(CDevice, "too_small", 0)
    fields = frozenset(mujoco.batch.MODEL_FIELDS)
    for module in (warp_batch, plan):
        monkeypatch.setattr(module, "packages", lambda: None)
    monkeypatch.setattr(warp_batch, "Device", CDevice)
    monkeypatch.setattr(warp_batch, "known", lambda: fields)
    monkeypatch.setattr(warp_batch, "batchable", lambda: fields - COMMON)
    for module in (warp_batch, hosts):
        monkeypatch.setattr(module, "FLOAT", np.float64)
    for module in (warp_device, run):
        monkeypatch.setattr(module, "description", lambda: {"versions": "none", "device": "cpu"})
    monkeypatch.setattr(run, "most_worlds", lambda: 3)
    return CDevice
