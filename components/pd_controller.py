"""PDController: position and velocity feedback with feedforward and a torque limit."""

from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from mjrig.actions import action
from mjrig.components.law_controller import LawController
from mjrig.components.laws import PDLaw, PDLaw32
from mjrig.errors import PropertyError
from mjrig.per_actuator import PerActuator, patch
from mjrig.property_kinds import Bool, Choice, Float, FloatArray

Values = Annotated[npt.ArrayLike, "one value per actuator"]


class Precision(StrEnum):
    """The floating-point type a law runs in."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class PDController(LawController):
    """τ = ff + kp (q* − q) + kv (v* − v), clamped to ±torque_limit  [N·m or N]."""

    default_kp = Float(
        100.0,
        min=0.0,
        soft_max=500.0,
        unit="N·m/rad",
        category="Gains",
        doc="Stiffness of the actuators kp does not name.",
    )
    default_kv = Float(
        5.0,
        min=0.0,
        soft_max=50.0,
        unit="N·m·s/rad",
        category="Gains",
        doc="Damping of the actuators kv does not name.",
    )
    default_torque_limit = Float(
        200.0,
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Gains",
        doc="Effort limit of the actuators torque_limit does not name.",
    )
    kp = PerActuator(
        fallback="default_kp",
        min=0.0,
        soft_max=500.0,
        finite=True,
        unit="N·m/rad",
        category="Gains",
        doc="Stiffness per actuator.",
    )
    kv = PerActuator(
        fallback="default_kv",
        min=0.0,
        soft_max=50.0,
        finite=True,
        unit="N·m·s/rad",
        category="Gains",
        doc="Damping per actuator.",
    )
    torque_limit = PerActuator(
        fallback="default_torque_limit",
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Gains",
        doc="Largest effort per actuator, at the joint; inf: none.",
    )
    clamp_targets = Bool(
        False,
        structural=True,
        category="Targets",
        doc="Hold position targets inside the joint range.",
    )
    precision = Choice(
        Precision.FLOAT64,
        structural=True,
        category="Numerics",
        doc="float32: the operation order of training stacks, in their precision.",
    )

    @action
    def set_gains(self, kp: Values, kv: Values, torque_limits: Values) -> None:
        """Set all gains explicitly: arrays with one value per binding, or scalars for all.

        Raises:
            ValueError: another length, or a value that is negative or not a number.
        """
        size = self.num_bindings
        given = {"kp": kp, "kv": kv, "torque_limit": torque_limits}
        with self.changes():
            for name, values in given.items():
                try:
                    array = np.asarray(values, dtype=np.float64)
                except (TypeError, ValueError):
                    raise PropertyError(
                        f"{self.label}.{name}: must be a number or a list of numbers, "
                        f"got {values!r}"
                    ) from None
                if array.ndim and array.shape != (size,):
                    raise PropertyError(
                        f"{self.label}.{name}: must have {size} values, one per actuator, "
                        f"got {array.shape[0] if array.ndim == 1 else array.shape}"
                    )
                spread = np.broadcast_to(array, (size,)) if self.is_bound else array
                self.property_named(name).assign(self, spread)

    def patch(self, **values: object) -> None:
        """Merge gains into what was authored, all or nothing: `patch(kp={"FL_hip": 80})`.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        patch(self, values)

    def make_law(self, size: int, dtype: Any) -> PDLaw:
        return PDLaw32(size) if dtype is np.float32 else PDLaw(size)

    def load_law(self) -> None:
        square = self._factor * self._factor
        self._law.set_gains(self.kp / square, self.kv / square)

    def limits(self) -> FloatArray:
        return self.torque_limit

    def dtype(self) -> Any:
        return np.float32 if self.precision is Precision.FLOAT32 else np.float64

    def targets_are_clamped(self) -> bool:
        return self.clamp_targets
