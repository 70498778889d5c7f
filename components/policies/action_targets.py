"""TargetMap: maps actions to setpoints of the joints of a policy."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.pipeline_arrays import Precision
from mjrig.components.policies.policy_file import (
    ActionMode,
    ActionRecipe,
    LastSeen,
    PolicyFile,
    TargetKind,
)
from mjrig.components.policies.terms.property_kinds import Range
from mjrig.components.policies.terms.view import Float32, Indices, View
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.setpoints import FEEDFORWARD, POSITION, VELOCITY
from mjrig.core.errors import BindingError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import suggestion
from mjrig.core.properties.memory import DeclaredMemory

_ROWS = {
    TargetKind.POSITION: POSITION,
    TargetKind.VELOCITY: VELOCITY,
    TargetKind.EFFORT: FEEDFORWARD,
}


def actuators_of(robot: Articulation, joints: Sequence[str], who: str) -> list[ActuatorBinding]:
    """The actuator of each joint, by local joint or actuator name.

    Raises:
        BindingError: a joint has none, or several; or two names refer to one actuator.
    """
    single = [b for b in robot.actuators if b.output_count == 1]
    found: list[ActuatorBinding] = []
    for name in joints:
        own = [b for b in single if b.joint == name] or [b for b in single if name in b.names]
        if len(own) != 1:
            raise BindingError(_no_actuator(robot, name, own, who))
        if own[0] in found:
            other = joints[found.index(own[0])]
            raise BindingError(f"{who}: {other!r} and {name!r} are one joint of {robot.name!r}")
        found += own
    return found


def _no_actuator(robot: Articulation, name: str, found: Sequence[ActuatorBinding], who: str) -> str:
    if found:
        several = ", ".join(b.actuator for b in found)
        return f"{who}: the joint {name!r} has several actuators: {several}; name one of them"
    if name in robot.joint_names:
        return f"{who}: the joint {name!r} of {robot.name!r} has no actuator"
    names = [n for b in robot.actuators for n in reversed(b.names)]
    hint = suggestion(name, names)
    return f"{who}: {robot.name!r} has no joint or actuator {name!r}; {hint}"


class TargetMap(DeclaredMemory):
    """Turns actions into targets, and writes them where the actuators take them.

    Args:
        setpoints: where they are written: (3, actuators), in a batch (worlds, 3, actuators).

    Raises:
        BindingError: limits that do not fit the joints.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_smoothed", "_targets", "_rows", "_places")

    def __init__(
        self,
        policy: PolicyFile,
        robot: Articulation,
        bindings: list[ActuatorBinding],
        view: View,
        setpoints: FloatArray,
    ) -> None:
        recipe, size = policy.action_recipe, len(bindings)
        self._robot, self._bindings, self._view = robot, bindings, view
        names = robot.actuator_names
        self.columns: Indices = np.array([names.index(b.actuator) for b in bindings], np.intp)
        self._kinds = policy.target_kinds
        self._dtype: Any = np.float32 if recipe.dtype is Precision.FLOAT32 else np.float64
        self._mode, self._last = recipe.mode, recipe.last
        self._scale = recipe.scale.astype(self._dtype)
        self._offset = self._offsets(recipe, policy.default).astype(self._dtype)
        self._beta = np.float32(recipe.smoothing)
        self._clip = self._clip_action(recipe, size)
        self._clip_target = self._clip_targets(recipe, size)
        self._setpoints = setpoints
        self._smoothed: Float32 = view.zeros(size).astype(np.float32)
        self._clipped: Float32 = self._smoothed.copy()
        self._targets: npt.NDArray[Any] = view.zeros(size).astype(self._dtype)
        self._new: npt.NDArray[Any] = self._targets.copy()
        self._rows: Indices = np.zeros(size, dtype=np.intp)
        #: In one world: all setpoints in a row, and the places of the commands in it.
        self._flat = setpoints.reshape(-1) if not view.worlds else None
        self._places: Indices = self._rows

    def _offsets(self, recipe: ActionRecipe, default: FloatArray) -> FloatArray:
        if ActionRecipe.offset.word(recipe) is None:
            return recipe.offset
        moves = np.array([kind is TargetKind.POSITION for kind in self._kinds])
        return np.where(moves, default, 0.0)

    def _clip_action(self, recipe: ActionRecipe, size: int) -> tuple[Float32, Float32] | None:
        if recipe.clip is None or isinstance(recipe.clip, str):
            return None
        low, high = self._spread("action.clip", recipe.clip, size)
        return low.astype(np.float32), high.astype(np.float32)

    def _clip_targets(self, recipe: ActionRecipe, size: int) -> tuple[Any, Any] | None:
        wanted = recipe.clip_target
        if wanted is None:
            return None
        if isinstance(wanted, str):
            ranges = [b.ctrl_range if wanted == "ctrlrange" else b.joint_range
                      for b in self._bindings]  # fmt: skip
            pairs = np.array([r or (-np.inf, np.inf) for r in ranges]).reshape(-1, 2)
            if wanted == "joint_range":  # it does not apply to velocities and efforts
                pairs[[kind is not TargetKind.POSITION for kind in self._kinds]] = -np.inf, np.inf
            wanted = pairs[:, 0], pairs[:, 1]
        low, high = self._spread("action.clip_target", wanted, size)
        return low.astype(self._dtype), high.astype(self._dtype)

    def _spread(self, name: str, limits: Range, size: int) -> Range:
        for side in limits:
            if side.ndim and side.size != size:
                raise BindingError(
                    f"policy.{name}: must have {size} values, one per joint, got {side.size}"
                )
        low, high = (np.broadcast_to(side, (size,)) for side in limits)
        return low, high

    # Where targets go ---------------------------------------------------------------------------

    def find_rows(self) -> None:
        """Find the actuators driven by a law: only those take velocities and efforts."""
        ruled = {
            b.actuator_id
            for c in self._robot.controllers
            if c.enabled and c.follows_pose
            for b in c.bindings
        }
        self._rows[:] = [
            _ROWS[kind] if b.actuator_id in ruled or b.ctrl_count > 1 else POSITION
            for kind, b in zip(self._kinds, self._bindings, strict=True)
        ]
        self._places = self._rows * self._setpoints.shape[-1] + self.columns

    def commanded(self) -> FloatArray:
        """Current commands of the joints, each in its own kind."""
        values: FloatArray = self._setpoints[..., self._rows, self.columns]
        return values

    def hold(self, positions: FloatArray) -> None:
        """Command positions; joints commanded by velocity or effort get zero."""
        moves = np.array([kind is TargetKind.POSITION for kind in self._kinds])
        self._setpoints[..., self._rows, self.columns] = 0.0
        self._setpoints[..., POSITION, self.columns[moves]] = positions[moves]

    def mix(
        self, before: FloatArray, after: FloatArray, share: float, *, held: bool = False
    ) -> None:
        """Command what lies between two sets of targets; `held`: the second one as it is."""
        values = after if held or share >= 1.0 else before + share * (after - before)
        self._setpoints[..., self._rows, self.columns] = values

    # Every tick ---------------------------------------------------------------------------------

    def restart(self) -> None:
        """Clear the last action; a delta starts from the current command."""
        view, now = self._view, self.commanded()
        self._smoothed[view.due] = 0.0
        view.keep(self._targets, now)
        view.keep(view.target, self._targets)
        view.last[view.due] = 0.0

    def command(self, targets: npt.NDArray[Any], world: int | None = None) -> None:
        """Command targets that `act` gave, to the worlds that tick or to one."""
        if self._flat is not None:
            self._flat[self._places] = targets
            return
        due: Any = self._view.due if world is None else world
        if due is ... or world is not None:
            self._setpoints[due, self._rows, self.columns] = targets
        else:
            self._setpoints[due[:, None], self._rows, self.columns] = targets[due]

    def act(self, action: Float32) -> npt.NDArray[Any]:
        """Map the output of the network to targets, for `command`; the same array every time."""
        view, targets = self._view, self._new
        smoothed: Float32 = action
        if self._beta != 1.0:
            mixed = (np.float32(1.0) - self._beta) * self._smoothed + self._beta * action
            smoothed = mixed.astype(np.float32, copy=False)
            view.keep(self._smoothed, smoothed)
        clipped: Float32 = smoothed
        if self._clip is not None:
            clipped = self._clipped
            np.maximum(smoothed, self._clip[0], out=clipped)
            np.minimum(clipped, self._clip[1], out=clipped)
        view.keep(view.last, self._seen(action, clipped, smoothed))
        np.multiply(clipped, self._scale, out=targets)
        if self._mode is ActionMode.ABSOLUTE:
            targets += self._offset
        elif self._mode is ActionMode.DELTA:
            targets += self._targets
        else:
            targets += view.position[..., : view.moved].astype(self._dtype)
        if self._clip_target is not None:
            np.clip(targets, *self._clip_target, out=targets)
        if self._mode is ActionMode.DELTA:
            view.keep(self._targets, targets)
        view.keep(view.target, targets)
        return targets

    def _seen(self, raw: Float32, clipped: Float32, smoothed: Float32) -> Float32:
        if self._last is LastSeen.RAW:
            return raw
        return clipped if self._last is LastSeen.CLIPPED else smoothed
