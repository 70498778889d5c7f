"""Device: the worlds of one model in the memory of MuJoCo Warp."""

import dataclasses
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import ExecutionError, MissingExtraError
from mjrig.core.model.model_source import one_line

#: Width of its numbers.
FLOAT = np.float32
#: A tolerance below this was chosen on purpose; others are raised to what single precision reaches.
_ON_PURPOSE = 1e-12
#: Contacts and constraints of a world that there is room for, at least.
_CONTACTS, _CONSTRAINTS = 64, 192
#: How much more room than the first state needs.
_MORE = 4


@cache
def packages() -> tuple[Any, Any]:
    """The modules warp and mujoco_warp.

    Raises:
        MissingExtraError: they are not installed.
    """
    is_first = "warp" not in sys.modules
    try:
        warp = import_module("warp")
        if is_first:  # it would print its devices and every kernel that it loads
            warp.config.log_level = warp.LOG_ERROR
        return warp, import_module("mujoco_warp")
    except ImportError as error:
        raise MissingExtraError("the engine warp", "warp", error) from error


def description() -> dict[str, str]:
    """What results depend on: versions and device.

    Raises:
        MissingExtraError: MuJoCo Warp is not installed.
    """
    warp, _ = packages()
    versions = [f"{name} {metadata.version(name)}" for name in ("mujoco-warp", "warp-lang")]
    device = warp.get_device()
    return {"versions": ", ".join(versions), "device": "cuda" if device.is_cuda else "cpu"}


def most_worlds() -> int:
    """How many worlds are best stepped at once."""
    return 4096 if packages()[0].get_device().is_cuda else 64


@cache
def batchable() -> frozenset[str]:
    """The fields of MjModel that may differ between worlds."""
    fields = dataclasses.fields(packages()[1].Model)
    return frozenset(f.name for f in fields if tuple(getattr(f.type, "shape", ()))[:1] == ("*",))


@cache
def known() -> frozenset[str]:
    """The fields of MjModel that MuJoCo Warp uses."""
    return frozenset(f.name for f in dataclasses.fields(packages()[1].Model))


class Device:
    """Model and state of `count` worlds; all arrays that go in and out have a row per world.

    Args:
        model: what all worlds have in common.
        start: qpos of a world at its start: how much room contacts need.
        rows: fields of the model that differ between worlds, (worlds, …).
        room: multiplies the room for contacts and constraints.

    Raises:
        MissingExtraError: MuJoCo Warp is not installed.
        ExecutionError: it cannot run the model; the message gives the reason.
    """

    def __init__(
        self, model: Any, start: FloatArray, count: int, rows: Mapping[str, FloatArray], room: int
    ) -> None:
        self._warp, self._engine = packages()
        self.fields = frozenset(rows)
        self._graph: Any = None
        sizes = dict.fromkeys(rows, count)
        contacts, constraints = _room(model, start, room)
        try:
            self._model = self._engine.put_model(model, batch_sizes=sizes)
            self._data = self._engine.make_data(
                model, nworld=count, nconmax=contacts, njmax=constraints
            )
        except (NotImplementedError, ValueError) as error:
            raise ExecutionError(f"MuJoCo Warp cannot run the model: {one_line(error)}") from error
        self._model.opt.warn_overflow = 0  # read by `overflow`, not printed
        if float(model.opt.tolerance) < _ON_PURPOSE:
            self._model.opt.tolerance.assign(np.array([model.opt.tolerance], FLOAT))
        self.load(rows)

    def load(self, rows: Mapping[str, FloatArray]) -> None:
        """Write fields of the model, of those that were given at first."""
        for name, values in rows.items():
            getattr(self._model, name).assign(np.ascontiguousarray(values, FLOAT))

    def push(self, field: str, values: npt.NDArray[Any]) -> None:
        """Write a field of the state, in the type it has there."""
        getattr(self._data, field).assign(np.ascontiguousarray(values))

    def pull(self, field: str) -> npt.NDArray[Any]:
        """Read a field of the state."""
        found: npt.NDArray[Any] = getattr(self._data, field).numpy()
        return found

    def step(self, n: int) -> None:
        """Advance all worlds by `n` physics steps."""
        for _ in range(n):
            if self._graph is not None:
                self._warp.capture_launch(self._graph)
                continue
            self._engine.step(self._model, self._data)  # also loads the kernels
            if self._data.qpos.device.is_cuda:
                # Hundreds of launches of a step become one; capturing does not run anything.
                with self._warp.ScopedCapture() as capture:
                    self._engine.step(self._model, self._data)
                self._graph = capture.graph

    @property
    def overflow(self) -> npt.NDArray[np.bool_]:
        """Worlds whose contacts or constraints found no room since the worlds were made."""
        kinds = self._engine.OverflowType
        # MuJoCo has the same limit of iterations, and does not speak of it either.
        harmless = int(kinds.ITERATIONS) | int(kinds.LS_ITERATIONS)
        found: npt.NDArray[np.bool_] = (self.pull("overflow") & ~harmless) != 0
        return found


def _room(model: Any, start: FloatArray, room: int) -> tuple[int, int]:
    """Room for contacts and constraints of each world."""
    data = mujoco.MjData(model)
    data.qpos[:] = start
    mujoco.mj_forward(model, data)
    contacts = max(_CONTACTS, _MORE * int(data.ncon)) * room
    return contacts, max(_CONSTRAINTS, _MORE * int(data.nefc)) * room
