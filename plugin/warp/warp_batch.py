"""WarpBatch: a batch whose worlds MuJoCo Warp steps, in single precision."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.errors import ExecutionError, PropertyError
from mjrig.names import suggestion
from mjrig.scene_edit.scene import Scene
from mjrig.sim.batch import Batch
from mjrig.sim.batch_robot import Worlds
from mjrig.sim.world import World
from mjrig.warp.affine_servos import AffineServos
from mjrig.warp.device import FLOAT, Device, batchable, known, packages
from mjrig.warp.support import why_not

#: State that only the caller writes.
_INPUTS = ("ctrl", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos", "mocap_quat")
#: State that a step changes, read after every step.
_WATCHED = ("time", "qpos", "qvel")
#: State that a step changes, read on request.
_HIDDEN = ("act", "history", "qacc_warmstart")
#: What a step computes, read after every step.
_OUTPUTS = ("actuator_length", "actuator_force")
#: A state beyond this has diverged, as in MuJoCo.
_LARGEST = 1e10
#: Expanded from the start.
_ALWAYS = ("actuator_biasprm", "actuator_gainprm", "actuator_forcerange")
#: The same in all worlds there: a range without end says the same.
_FOLLOWS = ("actuator_forcelimited",)


class WarpBatch(Batch):
    """Many worlds of one scene on MuJoCo Warp: on the first GPU, without one on the CPU.

    As a `Batch`, but in single precision. `data` has the state of the worlds, `actuator_length`
    and `actuator_force`; ask for a field again after a step, and `expand` one again to write it
    again. Gains of servos with a delay can change after a reset only. A world that diverges starts
    over, and `diverged` marks it.

    Args:
        scene: as of `Batch`.
        count: number of worlds.
        bare: as of `Batch`.
        room: multiplies the room for contacts and constraints.

    Raises:
        MissingExtraError: MuJoCo Warp is not installed.
        ExecutionError: it cannot run the scene; the message gives the reason.
        SceneError: the scene cannot be built.
    """

    diverged: Final[npt.NDArray[np.bool_]]

    def __init__(
        self, scene: Scene | str | Path | World, count: int, *, bare: bool = False, room: int = 1
    ) -> None:
        packages()
        self._device: Device | None = None
        self._room = room
        #: Fields of the model with values of their own in every world.
        self._expanded: set[str] = set()
        self._is_loaded = False
        #: What the device has, by field; the rest of `_HIDDEN` has to be read first.
        self._sent: dict[str, npt.NDArray[Any]] = {}
        self._fresh: set[str] = set(_HIDDEN)
        super().__init__(scene, count, threads=1, bare=bare)
        reason = why_not(self._world)
        if reason:
            raise ExecutionError(reason)
        self._servos = AffineServos(self._world.model)
        has_delay = np.asarray(self.model.actuator_history)[self._servos.ids, 0] > 0
        self._delayed = self._servos.ids[has_delay]
        self._folded_with: FloatArray = np.zeros((count, len(self._delayed), 2))
        self._computed = {name: np.zeros((count, int(self.model.nactuator))) for name in _OUTPUTS}
        self.diverged = np.zeros(count, np.bool_)
        for name in _ALWAYS:
            self.expand(name)

    # Fields -------------------------------------------------------------------------------------

    def data(self, field: str) -> npt.NDArray[Any]:
        if field in _OUTPUTS:
            return self._computed[field]
        mirrored = (*_INPUTS, *_WATCHED, *_HIDDEN, "userdata", "plugin_state")
        if field not in mirrored:
            hint = suggestion(field, (*mirrored, *_OUTPUTS))
            raise PropertyError(f"worlds on MuJoCo Warp do not show {field!r}; {hint}")
        if field in _HIDDEN and field not in self._fresh:
            self._pull(field)
        return super().data(field)

    def expand(self, field: str) -> npt.NDArray[Any]:
        found = super().expand(field)
        if field in known() and field not in batchable() and field not in _FOLLOWS:
            raise PropertyError(f"{field} is the same in all worlds on MuJoCo Warp")
        self._expanded.add(field)
        self._is_loaded = False
        return found

    def set_const(self) -> None:
        for field in self.model._setconst_outputs:
            if field in batchable():
                self.expand(field)
        super().set_const()

    def rollout(self, setpoints: Any, count: int) -> dict[str, FloatArray]:
        """Not supported.

        Raises:
            ExecutionError: always.
        """
        raise ExecutionError("worlds on MuJoCo Warp have no rollout; write setpoints, and step")

    @property
    def overflow(self) -> npt.NDArray[np.bool_]:
        """Worlds that had more contacts or constraints than there was room for: they are wrong."""
        if self._device is None:
            return np.zeros(self.count, np.bool_)
        return self._device.overflow

    # Steps --------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> None:
        for robot in self._robots.values():
            robot.write(self._ctrl)
        bias = self._batch.expand("actuator_biasprm")
        folded = self._servos.fold(self._ctrl, bias)
        self._refuse_new_gains(bias)
        if self._fill.any():
            self.data("history")  # now that of the device
            self._fill_histories(folded)
        device = self._loaded()
        for field in (*_INPUTS, *_WATCHED, *self._fresh):
            self._push(device, field, folded if field == "ctrl" else self._batch.bind(field))
        device.step(n)
        self._fresh.clear()
        for field in _WATCHED:
            self._pull(field)
        for field, values in self._computed.items():
            values[:] = device.pull(field)
        self._start_over(device.pull("qacc"))

    def _refuse_new_gains(self, bias: FloatArray) -> None:
        """Delayed commands are folded with the gains of their time.

        Raises:
            ExecutionError: gains have changed since, without a reset.
        """
        now = bias[:, self._delayed, 1:3]
        if len(self._delayed) and (now != self._folded_with)[~self._fill].any():
            raise ExecutionError(
                "gains of delayed servos cannot change on MuJoCo Warp, except after a reset"
            )
        self._folded_with = now.copy()

    def reset(self, worlds: Worlds = None, *, keyframe: str | None = None) -> None:
        for field in _HIDDEN:
            self.data(field)  # the other worlds keep theirs
        super().reset(worlds, keyframe=keyframe)

    def _loaded(self) -> Device:
        """The device, with the model of every world."""
        device = self._device
        if device is not None and self._is_loaded:
            return device
        rows = self._rows()
        if device is None or device.fields != frozenset(rows):
            for field in _HIDDEN:
                self.data(field)  # from the device that is given up
            self._sent.clear()
            start = np.asarray(self._batch.bind("qpos"))[0]
            device = Device(self._common(), start, self.count, rows, self._room)
            self._device = device
        else:
            device.load(rows)
        self._is_loaded = True
        return device

    def _common(self) -> Any:
        """The model of all worlds; what differs is written over it."""
        twin = self._servos.twin()
        ids = self._limited_by_range
        twin.actuator_forcelimited[ids] = True
        # Warp leaves out what no actuator of this model needs: derivatives of gains that are 0.
        twin.actuator_biasprm[self._servos.ids, 1:3] = -1.0
        return twin

    @property
    def _limited_by_range(self) -> npt.NDArray[np.intp]:
        """Actuators that have a force range in every world: one without end where it has none."""
        lowered = [c.lowered for r in self._world.articulations.values() for c in r.controllers]
        ids = [low.ids for low in lowered if low is not None]
        return np.concatenate([*ids, self._servos.ids]).astype(np.intp)

    def _rows(self) -> dict[str, FloatArray]:
        """Fields of the model that differ between worlds, as the device has them."""
        rows = {f: self._batch.expand(f) for f in self._expanded & batchable()}
        gains = rows["actuator_gainprm"].copy()
        gains[:, self._servos.ids, :3] = (1.0, 0.0, 0.0)
        ids, ranges = self._limited_by_range, rows["actuator_forcerange"].copy()
        limited = np.asarray(self.model.actuator_forcelimited)[None]
        if "actuator_forcelimited" in self._expanded:
            limited = self._batch.expand("actuator_forcelimited")
        endless = float(np.finfo(FLOAT).max) * np.array([-1.0, 1.0])
        ranges[:, ids] = np.where(limited[:, ids, None].astype(bool), ranges[:, ids], endless)
        return rows | {"actuator_gainprm": gains, "actuator_forcerange": ranges}

    # State --------------------------------------------------------------------------------------

    def _push(self, device: Device, field: str, values: npt.NDArray[Any]) -> None:
        """Write a field to the device if it is not what is there."""
        if not values.size:
            return
        now = values.astype(np.bool_ if field == "eq_active" else FLOAT)
        sent = self._sent.get(field)
        if sent is None or not np.array_equal(now, sent):
            device.push(field, now)
            self._sent[field] = now

    def _pull(self, field: str) -> None:
        """Read a field from the device, if there is one yet."""
        if field in _HIDDEN:
            self._fresh.add(field)
        mirror = self._batch.bind(field)
        if self._device is None or not mirror.size:
            return
        found = self._device.pull(field).reshape(mirror.shape)
        mirror[:] = found
        self._sent[field] = found.astype(FLOAT)

    def _start_over(self, acceleration: FloatArray) -> None:
        """Put worlds that diverged back to a state that can be computed with, as MuJoCo does."""
        states = np.hstack([self.qpos, self.qvel, acceleration])
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(states) < _LARGEST).all(axis=1)
        if not bad.any():
            return
        self.diverged[:] |= bad
        for field in ("qpos", "qvel", "act", "qacc_warmstart"):
            values = self.data(field)
            if values.size:
                values[bad] = np.asarray(getattr(self._world.data, field))
