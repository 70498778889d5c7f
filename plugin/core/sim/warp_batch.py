"""WarpBatch: a batch that MuJoCo Warp steps in single precision, and checks of its support.

Warp has no pid actuator. Without an integral term it is an actuator with affine bias and a gain
of one, whose control is computed from the inputs of the pid:

    f = clip(u + (b0 − kp·length − kv·velocity), forcerange),   u = kp·q* + kv·v* + feedforward

One actuator becomes one actuator: limits stay in its forcerange, gears and delays are unchanged,
and nothing is compiled again. In MuJoCo it is bit-identical to the pid, under every integrator.
"""

from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any, Final

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.execution import integrator_name
from mjrig.core.control.lowering import FF, POS, VEL
from mjrig.core.errors import ExecutionError, PropertyError
from mjrig.core.names import listed, suggestion
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.mujoco_options import FLAGS
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.batch_robot import Worlds
from mjrig.core.sim.warp_device import FLOAT, Device, batchable, known, packages
from mjrig.core.sim.world import World

# Affine servos ------------------------------------------------------------------------------------
# Affine servos: the pid actuators of a model in a form that MuJoCo Warp runs too.
#
# Warp has no pid. Without an integral it is an actuator with affine bias and a gain of one, whose
# control is what the pid makes of its inputs:
#
# One actuator becomes one actuator: limits stay in its forcerange, gears and delays where they
# were, and nothing is compiled again. In MuJoCo it has the bits of the pid, under every
# integrator.


_PID = int(mujoco.mjtGain.mjGAIN_PID)


class AffineServos:
    """The pid actuators of a model, none of which may have a state or turn without end.

    `ids` are their numbers.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.ids = np.flatnonzero(np.asarray(model.actuator_gaintype) == _PID)
        self._control = np.asarray(model.actuator_ctrladr)[self.ids].astype(np.intp)
        spec = np.asarray(model.actuator_ctrlspec)[self.ids]
        self._position, self._velocity, self._feedforward = (
            _Input(model, self._control, spec, bit) for bit in (POS, VEL, FF)
        )

    def twin(self) -> Any:
        """A copy of the model in which the servos have their affine form."""
        twin = copy(self._model)
        # NOTE: not FIXED, which with kp = 1 would look like a position servo: of a ball joint or a
        # reference site MuJoCo wraps the control of those to the nearest turn.
        twin.actuator_gaintype[self.ids] = int(mujoco.mjtGain.mjGAIN_AFFINE)
        twin.actuator_gainprm[self.ids, :3] = (1.0, 0.0, 0.0)
        twin.actuator_ctrllimited[self._control] = False  # the inputs are clamped by `fold`
        return twin

    def fold(self, ctrl: FloatArray, biasprm: FloatArray) -> FloatArray:
        """The controls of the twin, from those of the model.

        Args:
            ctrl: (worlds, nu).
            biasprm: (worlds or 1, actuators, 10): kp and kv of each world. They must not change
                while a command is delayed.
        """
        folded = ctrl.copy()
        if len(self.ids):
            kp, kv = -biasprm[:, self.ids, 1], -biasprm[:, self.ids, 2]
            # The order of MuJoCo's pid, for its bits.
            sum_ = kp * self._position.of(ctrl) + kv * self._velocity.of(ctrl)
            folded[:, self._control] = sum_ + self._feedforward.of(ctrl)
        return folded


def turns_without_end(model: Any, actuator: int) -> bool:
    """Whether a pid takes its position error to the nearest turn: an affine form would not."""
    if not int(model.actuator_ctrlspec[actuator]) & POS:
        return False
    kind, (target, reference) = (
        int(model.actuator_trntype[actuator]),
        model.actuator_trnid[actuator],
    )
    if kind == int(mujoco.mjtTrn.mjTRN_SITE):
        gear = model.actuator_gear[int(model.actuator_outadr[actuator])]
        return int(reference) >= 0 and not np.any(gear[:3])
    on_joint = kind in (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return on_joint and int(model.jnt_type[target]) == int(mujoco.mjtJoint.mjJNT_BALL)


class _Input:
    """One input of some actuators: zero where an actuator does not have it."""

    def __init__(self, model: Any, first: Any, spec: Any, bit: int) -> None:
        self._has = (spec & bit) != 0
        # Inputs are in the order of their bits.
        before = sum(((spec & lower) != 0).astype(np.intp) for lower in (POS, VEL) if lower < bit)
        self._at = np.where(self._has, first + before, first)
        limited = np.asarray(model.actuator_ctrllimited)[self._at].astype(bool)
        ranges = np.asarray(model.actuator_ctrlrange)[self._at]
        limited &= not int(model.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
        self._low = np.where(limited, ranges[:, 0], -np.inf)
        self._high = np.where(limited, ranges[:, 1], np.inf)

    def of(self, ctrl: FloatArray) -> FloatArray:
        given = np.clip(ctrl[:, self._at], self._low, self._high)
        found: FloatArray = np.where(self._has, given, 0.0)
        return found


# Support ------------------------------------------------------------------------------------------
# What MuJoCo Warp cannot run, found in a world with native execution before anything is run.


_SO3 = int(mujoco.mjtGain.mjGAIN_SO3)
#: Flags that it does not have, when they are not as MuJoCo has them by default.
_FLAGS = ("override", "fwdinv", "diagexact", "ipc", "speculative", "midphase", "autoreset")


def why_not(world: World) -> str:
    """The first reason why MuJoCo Warp cannot run a world, and what to do; empty: it can.

    Its controllers are lowered already: what runs in Python is refused by a batch.
    """
    return next(iter([*_controllers(world), *_actuators(world.model), *_options(world.model)]), "")


def _controllers(world: World) -> Iterator[str]:
    for robot in world.articulations.values():
        for controller in robot.controllers:
            lowered = controller.lowered
            if lowered is not None and (lowered.activations >= 0).any():
                yield (
                    f"{controller.label} integrates its error, and MuJoCo Warp has no actuator "
                    "that does; use a PDController"
                )


def _actuators(model: Any) -> Iterator[str]:
    for i in range(int(model.nactuator)):
        name, gain = model.actuator(i).name, int(model.actuator_gaintype[i])
        if int(model.actuator_plugin[i]) >= 0:
            yield f"the actuator {name!r} is a plugin; replace it by an actuator of MuJoCo"
        elif gain == _SO3:
            yield f"the actuator {name!r} is an orientation servo; use one actuator per axis"
        elif gain == _PID and int(model.actuator_actadr[i]) >= 0:
            yield (
                f"the actuator {name!r} is a pid with an integral or a slew limit; "
                "leave out its ki and slewmax"
            )
        elif gain == _PID and turns_without_end(model, i):
            yield (
                f"the actuator {name!r} turns without end, and MuJoCo Warp would not take its "
                "position error to the nearest turn; leave out its position input"
            )


def _options(model: Any) -> Iterator[str]:
    options = model.opt
    if int(options.solver) == int(mujoco.mjtSolver.mjSOL_PGS):
        yield "the solver is PGS; set sim: {solver: Newton} or CG"
    groups = np.asarray(model.actuator_group)
    switched_off = np.isin(groups, [g for g in range(31) if int(options.disableactuator) >> g & 1])
    if switched_off.any():
        yield (
            f"the actuator group {groups[switched_off][0]} is switched off by "
            "actuatorgroupdisable; remove its actuators instead"
        )
    if int(options.noslip_iterations) and integrator_name(options) == "discrete":
        yield "noslip_iterations and the integrator discrete do not go together there; use one"
    for plugged, what in (("sensor_plugin", "sensor"), ("body_plugin", "body")):
        found = np.flatnonzero(np.asarray(getattr(model, plugged)) >= 0)
        if len(found):
            names = [getattr(model, what)(int(i)).name for i in found]
            yield f"plugins act on {listed(names)}; remove them"
    if (np.asarray(model.geom_plugin) >= 0).any():
        yield "a geom is a plugin (a signed distance field); use a mesh"
    for name in _FLAGS:
        field, bit = FLAGS[name]
        if int(getattr(options, field)) & bit:
            word = field.removesuffix("flags")
            yield f"the flag {name} is set to {word}; leave it as MuJoCo has it"


# Warp batch ---------------------------------------------------------------------------------------


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
