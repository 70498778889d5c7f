"""PipelineController: base class of controllers with a law: delay → law → clamps."""

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from mjrig.arrays import FloatArray, read_only
from mjrig.components.controllers.pipeline_owner import EffortMode, PipelineOwner
from mjrig.components.executions.compiled_run import CompiledRun, why_no_numba
from mjrig.components.executions.native_form import native_form_of, why_not_native
from mjrig.components.executions.native_run import NativeRun
from mjrig.components.executions.python_run import DirectRun, ImplicitRun, PythonRun
from mjrig.components.executions.run import EveryTick, PipelineRun
from mjrig.components.laws.delay import DELAY_STATE
from mjrig.components.laws.gather import Operation
from mjrig.components.laws.law import Implicit
from mjrig.components.laws.pipeline import Pipeline
from mjrig.control.execution import Execution, Support, is_implicit
from mjrig.control.lowering import Lowered, NativeForm
from mjrig.control.setpoints import Source
from mjrig.errors import NeedsNewWorld, PropertyError
from mjrig.model.binding import ActuatorBinding
from mjrig.readings.effort_log import EffortLog


class PipelineController(PipelineOwner, ABC):
    """Runs its pipeline on the owned actuators: in python, compiled or natively."""

    #: The run comes last: it takes over what the pipeline remembers.
    _remembered: ClassVar[tuple[str, ...]] = ("_pipe", "_ticks", "_run")
    _ticks: EveryTick

    def _own_prepare(self) -> None:
        super()._own_prepare()
        self._run: PipelineRun | None = None
        self._custom: dict[str, FloatArray] = {}
        self._ran_on: list[int] = []
        self._drafted = None

    def _own_on_bind(self, model: Any, data: Any) -> None:
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

    def _own_on_change(self, names: tuple[str, ...]) -> None:
        super()._own_on_change(names)
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
    def _own_needs_position_stage(self) -> bool:
        implicit = self.effort is EffortMode.IMPLICIT
        return implicit or super()._own_needs_position_stage

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

    def _own_reset(self) -> None:
        if self._run is not None:
            self._pipe.reset()
            self._ticks.is_due = True
            self._run.reset()

    def _own_memory_signature(self) -> object:
        if self._run is None:
            return None
        law, clamps = type(self._pipe.law).__name__, self.clamp_names
        delayed = self.delay is not None
        return law, clamps, delayed, self.decimation, str(self.precision), self.clamp_targets

    def remembers(self) -> bool:
        is_stateful = self._run is not None and (self._pipe.is_stateful or self.decimation > 1)
        return is_stateful or self.has_memory()

    def _own_memory(self) -> Any:
        if self._run is None:
            return None
        self._run.count_clamps()
        self._run.bring_home()
        return super()._own_memory()

    def _own_restore(self, memory: Any) -> None:
        if self._run is not None:
            super()._own_restore(memory)


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
