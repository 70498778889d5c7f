"""PipelineController: base class of controllers with a law: delay → law → clamps."""

import math
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

import numpy as np

from mjrig.components.executions.compiled_run import CompiledRun, why_no_numba
from mjrig.components.executions.native_run import (
    NativeRun,
    limits_of,
    native_form_of,
    why_not_native,
)
from mjrig.components.executions.pipeline_run import EveryTick, PipelineRun
from mjrig.components.executions.python_run import DirectRun, ImplicitRun, PythonRun
from mjrig.components.laws.clamps import Clamp, DCMotor, MaxEffort, TorqueSpeedCurve
from mjrig.components.laws.delay import DELAY_STATE, Delay
from mjrig.components.laws.law import Implicit, Law
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.pipeline_arrays import Operation, PipelineSpace, Precision
from mjrig.core.arrays import FloatArray, read_only
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.efforts import EffortLog
from mjrig.core.control.execution import Execution, Support, is_implicit
from mjrig.core.control.finite_guard import LARGEST
from mjrig.core.control.lowering import Lowered, NativeForm
from mjrig.core.control.setpoints import Source
from mjrig.core.errors import NeedsNewWorld, PropertyError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.properties.hooks import hook_methods, required
from mjrig.core.properties.nested_kinds import Nested, NestedList
from mjrig.core.properties.per_actuator import PerActuator, authored, patch, resolved
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Int
from mjrig.core.scene.motor_file import Motor

# Motor clamps -------------------------------------------------------------------------------------
# Torque-speed limits of the motors that a scene names, as clamps of the controllers on them.


#: Clamps that are a motor's limits: one in the scene comes in place of the motor's own.
OF_MOTORS = (DCMotor, TorqueSpeedCurve)
_CURVE = ("x1", "x2", "y1", "y2")
_LINE = ("saturation_effort", "velocity_limit", "max_effort")


def motor_clamps(bindings: Sequence[ActuatorBinding], own: Iterable[Clamp]) -> dict[str, Clamp]:
    """The clamps that the motors of these actuators need, by name.

    Args:
        bindings: the actuators, with their motors.
        own: the clamps of the controller; one that is a motor's limit leaves no need for another.
    """
    if any(isinstance(clamp, OF_MOTORS) for clamp in own):
        return {}
    motors = [binding.motor for binding in bindings]
    found: dict[str, Clamp] = {}
    if any(m is not None and m.curve is not None for m in motors):
        values = _values(motors, lambda motor: motor.curve, _CURVE)
        found["motor curve"] = TorqueSpeedCurve(**values)
    if any(m is not None and m.curve is None and m.line is not None for m in motors):
        values = _values(motors, lambda motor: None if motor.curve else motor.line, _LINE)
        found["motor line"] = DCMotor(**values)
    return found


def _values(
    motors: Sequence[Motor | None], part: Callable[[Motor], object], names: Iterable[str]
) -> dict[str, list[float]]:
    """One value per actuator; infinite where its motor has no such limit."""
    parts = [None if motor is None else part(motor) for motor in motors]
    return {
        name: [math.inf if p is None else float(getattr(p, name)) for p in parts] for name in names
    }


# Pipeline owner -----------------------------------------------------------------------------------
# PipelineOwner: the properties of the controllers with a law, and the pipeline made of them.


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

    def validate(self) -> None:
        super().validate()
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
            for method in hook_methods(type(self), "load_law"):
                method(self, self._pipe.law)
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


# Pipeline controller ------------------------------------------------------------------------------


class PipelineController(PipelineOwner, ABC):
    """Runs its pipeline on the owned actuators: in python, compiled or natively."""

    #: The run comes last: it takes over what the pipeline remembers.
    _remembered: ClassVar[tuple[str, ...]] = ("_pipe", "_ticks", "_run")
    _ticks: EveryTick

    def prepare(self) -> None:
        super().prepare()
        self._run: PipelineRun | None = None
        self._custom: dict[str, FloatArray] = {}
        self._ran_on: list[int] = []
        self._drafted = None

    def on_bind(self, model: Any, data: Any) -> None:
        before = self._pipe if self._run is not None else None
        if self._run is not None:
            self._run.bring_home()
        lowered, self._lowered = self._lowered, None
        self._model, self._data = model, data
        timestep, (drafted, self._drafted) = float(model.opt.timestep), (self._drafted, None)
        if drafted is None or drafted != self._made_of(timestep):
            self.make_pipeline(timestep)
        if self.effort is EffortMode.IMPLICIT and self._pipe.law.implicit() is Implicit.NONE:
            law = type(self._pipe.law).__name__
            raise PropertyError(
                f"{self.label}.effort: {law} has no implicit form; use effort: explicit",
                ("effort",),
            )
        ids = [b.actuator_id for b in self.bindings]
        if before is not None and ids == self._ran_on:
            _keep_memory(before, self._pipe)
        self._ran_on = ids
        self._ticks = EveryTick(self, model, data)
        is_lowered_next = lowered is None and self._execution.name == "native"
        self._run = None if is_lowered_next else self._python_run()
        # Bound again after a structural change:
        if lowered is not None:
            self._leave_native(lowered, "its structure changed while it ran")
        elif self._execution.awaits_native:
            self._refuse_if_native("it was not built to run in MuJoCo")
        if lowered is None and self._execution.name == "compiled":
            compiled = self.supports()["compiled"]
            reason, awaits = f"not compiled: {compiled.reason}", self._execution.awaits_native
            fallback = Execution("python", reason, awaits)
            self.run_as(self._execution if compiled.available else fallback)

    def bind_draft(self, actuators: Sequence[ActuatorBinding], owner: str, timestep: float) -> bool:
        if type(self).on_bind is not PipelineController.on_bind:  # it may look at the model
            return False
        self._table = self.select(actuators, owner)
        self.spread_over(self._table.slots(owner))
        self.make_pipeline(timestep)
        self._drafted = self._made_of(timestep)
        return True

    def _python_run(self) -> PipelineRun:
        kind = DirectRun if DirectRun.fits(self) else PythonRun
        if self.effort is EffortMode.IMPLICIT:
            kind = ImplicitRun
        return kind(self, self._model, self._data, self._ticks)

    def on_change(self, names: tuple[str, ...]) -> None:
        super().on_change(names)
        self._reload()

    def _reload(self) -> None:
        """Run with the present values of the properties."""
        if self._run is None:
            return
        if self._execution.awaits_native:
            self._refuse_if_native("it was not built to run in MuJoCo")
        self._outgrow_native(self.delay_room())
        self._run.before_change()
        self._load_parts()
        self._run.refresh()
        self._leave_native_if_unfit()
        if self._lowered is not None and self.enabled:
            self._lowered.load(self.native_form())

    def _leave_native_if_unfit(self) -> None:
        """Leave native execution if a live edit needs what MuJoCo's actuator cannot do."""
        lowered = self._lowered
        if lowered is None:
            return
        native = self.supports()["native"]
        if not native.available:
            self._leave_native(lowered, native.reason)

    def _outgrow_native(self, steps: int) -> None:
        """MuJoCo's command history has a fixed length: a longer delay must run here."""
        lowered = self._lowered
        if lowered is None or self.delay is None:
            return
        if not lowered.room_for(self.delay.lags(self._tick).tolist()):
            self._leave_native(lowered, f"it has no room for a delay of {steps} steps")

    def _leave_native(self, lowered: Lowered, why: str) -> None:
        """Run the law here; the lowered actuators then pass their input through.

        Raises:
            NeedsNewWorld: a new world would run it in MuJoCo, with other results.
        """
        supports = self.supports()
        is_other = is_implicit(self._model.opt)
        if is_other:
            self._refuse_if_native(why)
        if not supports["python"].available:
            raise PropertyError(f"{self.label}: {supports['python'].reason}, and {why}")
        if isinstance(self._run, NativeRun):
            self._run.bring_home()
        lowered.drive_directly()
        self._lowered = None
        name = "compiled" if supports["compiled"].available else "python"
        self.run_as(Execution(name, f"no longer native: {why}", is_other))

    def _refuse_if_native(self, why: str) -> None:
        """Refuse an edit after which a new world would run the law in MuJoCo, with other results.

        Raises:
            NeedsNewWorld: it would.
        """
        native = self.supports()["native"]
        if native.available and native.exact:
            raise NeedsNewWorld(
                f"{self.label}: {why}, and MuJoCo integrates its gains implicitly "
                "(sim.actuation: implicit), which no other execution does; edit the scene and "
                "build a new World"
            )

    def run_as(self, execution: Execution) -> None:
        super().run_as(execution)
        if execution.name == "compiled":
            self._run = CompiledRun(self, self._model, self._data, self._ticks)
        elif execution.name == "python":
            self._run = self._python_run()

    def lower(self, lowered: Lowered) -> None:
        super().lower(lowered)
        self._run = NativeRun(self, self._model, self._data, lowered)

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        self._running().stepper()()

    @property
    def _computes_itself(self) -> bool:
        """Whether a subclass overrides `compute_and_apply`."""
        return type(self).compute_and_apply is not PipelineController.compute_and_apply

    def stepper(self, model: Any, data: Any) -> Callable[[], object]:
        if self._computes_itself:
            return super().stepper(model, data)
        return self._running().stepper()

    def step_calls(self, model: Any, data: Any) -> Sequence[Operation]:
        if self._computes_itself:
            return super().step_calls(model, data)
        return self._running().calls()

    def setpoint_calls(self) -> Sequence[Operation]:
        return self._running().setpoint_calls()

    def native_writers(self) -> list[Operation]:
        return self._run.writers() if isinstance(self._run, NativeRun) else []

    def _running(self) -> PipelineRun:
        if self._run is None:
            _ = self.setpoints  # raises if unbound
            raise AssertionError
        return self._run

    @property
    def guards_ctrl(self) -> bool:
        return self._run is not None and self._run.guards_ctrl and not self._computes_itself

    @property
    def between_stages(self) -> bool:
        return self.effort is EffortMode.IMPLICIT or super().between_stages

    def supports(self) -> dict[str, Support]:
        if not self.is_bound:
            nothing = Support(False, "it owns no actuator")
            return super().supports() | {"compiled": nothing, "native": nothing}
        found = self._pipe.executions
        reason = "effort: implicit solves in Python" if self.effort is EffortMode.IMPLICIT else ""
        if type(self).compute_and_apply is not PipelineController.compute_and_apply:
            reason = f"{type(self).__name__} has a compute_and_apply in Python"
        elsewhere = [b.actuator for b in self.bindings if not b.on_joint]
        if elsewhere:
            reason = f"{elsewhere[0]!r} is not on a joint"
        if reason:
            return found | dict.fromkeys(("compiled", "native"), Support(False, reason))
        if found["compiled"].available and why_no_numba():
            found["compiled"] = Support(False, why_no_numba())
        if found["native"].available and (why := why_not_native(self)):
            found["native"] = Support(False, why)
        return found

    def native_form(self) -> NativeForm:
        return native_form_of(self)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline it runs; in actuator space where `pipeline.space.factor` is not one."""
        if self._run is not None:
            self._run.bring_home()
        return self._pipe

    @property
    def raw_effort(self) -> FloatArray:
        return read_only(np.zeros(0) if self._run is None else self._run.raw_effort())

    @property
    def native_effort(self) -> FloatArray | None:
        effort = None if self._run is None else self._run.effort()
        return None if effort is None else read_only(effort)

    def effort_log(self) -> EffortLog | None:
        return None if self._run is None else self._run.effort_log()

    def watcher(self) -> Callable[[float], object] | None:
        return None if self._run is None else self._run.watcher()

    @property
    def clamp_counts(self) -> dict[str, Any]:
        """Number of ticks since the reset in which each clamp acted, per binding.

        For a native law, all steps count with `count_clamps`; else only those after which
        its telemetry was read.
        """
        if self._run is not None:
            self._run.count_clamps()
        return dict(zip(self.clamp_names, self._pipe.clamp_counts, strict=True))

    def reset(self) -> None:
        if self._run is not None:
            self._pipe.reset()
            self._ticks.is_due = True
            self._run.reset()

    def memory_signature(self) -> object:
        if self._run is None:
            return None
        law, clamps = type(self._pipe.law).__name__, self.clamp_names
        delayed = self.delay is not None
        return law, clamps, delayed, self.decimation, str(self.precision), self.clamp_targets

    def remembers(self) -> bool:
        is_stateful = self._run is not None and (self._pipe.is_stateful or self.decimation > 1)
        return is_stateful or self.has_memory()

    def full_memory(self) -> tuple[Any, Any]:
        if self._run is None:
            return None, self.memory()
        self._run.count_clamps()
        self._run.bring_home()
        return super().full_memory()


def _keep_memory(before: Pipeline, now: Pipeline) -> None:
    """After a structural change, keep the memory that has the same meaning and shape."""
    one, two = before.space, now.space
    if one.dtype != two.dtype or not np.array_equal(one.factor, two.factor):
        return
    if type(before.law) is type(now.law):
        saved, fresh = before.state.memory(), now.state.memory()
        same = {n for n in fresh if n in saved and saved[n].shape == fresh[n].shape}
        same -= set(DELAY_STATE)
        now.state.restore({n: saved[n] if n in same else fresh[n] for n in fresh})
    if before.delay is not None and now.delay is not None:
        now.delay.take_over(now.state, before.delay, before.state)


# Law controller -----------------------------------------------------------------------------------
# LawController: a controller for any registered law.


class LawController(PipelineController):
    """τ = the law given as `law`, clamped  [N·m or N]."""

    def make_law(self) -> Law:
        raise PropertyError(
            f"{self.label}.law: needs a law, as in law: {{type: PD, kp: 40}}", ("law",)
        )
