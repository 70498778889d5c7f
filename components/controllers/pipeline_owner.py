"""PipelineOwner: the properties of the controllers with a law, and the pipeline made of them."""

from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.controllers.motor_clamps import motor_clamps
from mjrig.components.executions.native_form import limits_of
from mjrig.components.laws.clamp import Clamp, MaxEffort
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.law import Law
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.space import PipelineSpace, Precision
from mjrig.control.controller import ArticulationController
from mjrig.control.finite_guard import LARGEST
from mjrig.errors import PropertyError
from mjrig.properties.hooks import required
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.per_actuator import PerActuator, authored, patch, resolved
from mjrig.properties.scalar_kinds import Bool, Choice, Float, Int


class EffortMode(StrEnum):
    """State the effort is computed from: at the start or at the end of the step."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


class PipelineOwner(ArticulationController):
    """Owns a pipeline: delay → law → clamps for the actuators of a controller.

    With g = gear·gain the law is evaluated in actuator space: q, v, q* and v* times g, feedforward
    and limits divided by g, gains by g². Its value is the ctrl, and the joint effort is g times it.
    Only this form is bit-identical to MuJoCo for any gear. A law or clamp without `any_space`
    makes the whole pipeline run in joint space.
    """

    default_torque_limit = Float(
        200.0,
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Limits",
        doc="Effort limit of actuators that torque_limit does not name.",
    )
    torque_limit = PerActuator(
        fallback="default_torque_limit",
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Limits",
        doc="Largest effort per actuator, at the joint, after all clamps; inf: none but MuJoCo's.",
    )
    delay = Nested(Delay, structural=True, category="Actuation", doc="Delay of the commands.")
    clamps = NestedList(
        Clamp,
        structural=True,
        category="Actuation",
        doc="Effort limits of the motors, applied in this order, before torque_limit.",
    )
    law = Nested(
        Law,
        polymorphic=True,
        structural=True,
        category="Actuation",
        doc="Control law that replaces the controller's own.",
    )
    decimation = Int(
        1,
        min=1,
        max=100_000,
        soft_max=20,
        unit="steps",
        structural=True,
        category="Actuation",
        doc="Physics steps per control step; the effort is held in between.",
    )
    effort = Choice(
        EffortMode.EXPLICIT,
        structural=True,
        category="Numerics",
        doc="implicit: effort at the end of the step, so that stiff gains stay stable.",
    )
    count_clamps = Bool(
        False,
        category="Telemetry",
        doc="Check a native law after every step, so that every clamping is counted; slower.",
    )
    clamp_targets = Bool(
        False,
        structural=True,
        category="Targets",
        doc="Clamp position targets to the joint range.",
    )
    precision = Choice(
        Precision.FLOAT64,
        structural=True,
        category="Numerics",
        doc="float32: precision and operation order of training stacks.",
    )

    #: The gains of the controller's own law, unused with a `law`.
    own_gains: ClassVar[tuple[str, ...]] = ()

    _pipe: Pipeline
    #: What the pipeline was made of in a draft, until it is bound; None: it must be made.
    _drafted: object
    _tick: float
    _limit: MaxEffort
    _motor_clamps: dict[str, Clamp]

    def _own_validate(self) -> None:
        super()._own_validate()
        if self.law is not None:
            own = [n for n in self.own_gains if self.is_authored(n)]
            if own:
                raise PropertyError(
                    f"{self.label}.{own[0]}: has no effect with law; give it to the law, "
                    "or remove law",
                    (own[0],),
                )

    @required()
    def make_law(self) -> Law:
        """Hook: the controller's own law."""
        raise NotImplementedError

    def load_law(self, law: Any) -> None:
        """Hook: the controller's own law has its gains; load further parameters."""

    def _own_load_law(self, law: Any) -> None:
        """The base classes' own part of `load_law`."""

    def gains(self) -> dict[str, FloatArray]:
        if self.law is None:
            return super().gains()
        # The gains of its own law are not in use.
        return {"torque_limit": self.torque_limit} | resolved(self.law)

    def authored_gains(self) -> dict[str, FloatArray]:
        if self.law is None:
            return super().authored_gains()
        return {"torque_limit": self.torque_limit} | authored(self.law)

    def patch(self, **values: object) -> None:
        """Merge values into what was authored, all or nothing: `patch(kp={"FL_hip": 80})`.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        patch(self, values)

    def make_pipeline(self, timestep: float) -> None:
        """Make the pipeline for the actuators it owns, with its parameters; no data is needed.

        Raises:
            PropertyError: a part does not fit the actuators.
        """
        self._tick = self.decimation * timestep
        law = self.law or self.make_law()
        if not isinstance(law, Law):
            raise PropertyError(
                f"{self.label}: {type(self).__name__}.make_law returned {law!r}; return a Law"
            )
        self._limit = MaxEffort.from_data({})
        for part in (law, self._limit):
            part.spread_over(self._slots)
        self._motor_clamps = self.make_motor_clamps()
        for part in self._motor_clamps.values():
            part.spread_over(self._slots)
        parts: list[Law | Clamp] = [law, *self.clamps, *self._motor_clamps.values()]
        size = self.num_bindings
        in_actuator_space = all(part.any_space for part in parts)
        factor = np.array([b.factor for b in self.bindings]) if in_actuator_space else np.ones(size)
        dtype = np.float32 if self.precision is Precision.FLOAT32 else np.float64
        space = PipelineSpace(size, None, dtype, factor)
        self._check_parts(space)
        clamps = [*self._motor_clamps.values(), *self.clamps, self._limit]
        try:
            self._pipe = Pipeline.of_parts(space, law, self.delay, clamps, self._tick)
            law.check_dt(self._tick)
        except PropertyError as error:
            raise (error if self.law is None else error.below("law")) from error
        except ValueError as error:
            raise PropertyError(f"{self.label}: {error}") from error
        self._custom = {name: np.zeros(size) for name in law.custom_names}
        law._custom = self._custom
        self._load_parts()

    def _made_of(self, timestep: float) -> object:
        """What a pipeline depends on besides the properties; None: hooks may look at anything."""
        if not _are_own_hooks(type(self)):
            return None
        return timestep, [(b.names, b.factor, b.motor) for b in self.bindings]

    def make_motor_clamps(self) -> dict[str, Clamp]:
        """Hook: the torque-speed limits of the motors that the scene names, by name."""
        return motor_clamps(self.bindings, self.clamps)

    def _check_parts(self, space: PipelineSpace) -> None:
        """Refuse clamps and a delay that do not fit the actuators; errors have their paths."""
        for i, clamp in enumerate(self.clamps):
            try:
                clamp.use_space(space)
            except PropertyError as error:
                raise error.below("clamps", i) from None
        self.delay_room()

    def _load_parts(self) -> None:
        """Load the resolved values into the parts."""
        if self.law is None:
            self._own_load_law(self._pipe.law)
            self.load_law(self._pipe.law)
        self._limit.load_limits(-self.torque_limit, self.torque_limit)
        # A larger ctrl is no number for MuJoCo, in whatever execution.
        self._limit.narrow(LARGEST)

    def clamp_limits(self) -> tuple[FloatArray, FloatArray]:
        clamps = (*self._motor_clamps.values(), *self.clamps)
        low, high, _ = limits_of(clamps, self.num_bindings)
        return low, high

    def delay_room(self) -> int:
        try:
            return self.delay.depth(self._tick) if self.delay is not None else 0
        except PropertyError as error:
            raise error.below("delay") from None

    @property
    def custom_inputs(self) -> dict[str, FloatArray]:
        """Extra inputs of the law by name, one value per binding: write into them."""
        return self._custom

    @property
    def clamp_names(self) -> tuple[str, ...]:
        """The clamps in order: those of its motors, its own, `torque_limit` last."""
        return (*self._motor_clamps, *(c._role for c in self.clamps), "torque_limit")


@cache
def _are_own_hooks(kind: type[PipelineOwner]) -> bool:
    """Whether only mjrig's own classes take part in making the pipeline of a controller."""
    hooks = ("make_pipeline", "make_law", "load_law", "make_motor_clamps", "delay_room")
    makers = [c for c in kind.__mro__ if any(name in vars(c) for name in hooks)]
    return all(c.__module__.partition(".")[0] == "mjrig" for c in makers)
