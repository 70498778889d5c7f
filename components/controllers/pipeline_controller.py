"""What the controllers with a law share: delay → law → clamps on the actuators they own."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.executions.compiled import CompiledStep, why_no_numba
from mjrig.components.executions.native import (
    NativeEfforts,
    limits_of,
    native_effort_of,
    native_form_of,
    take_memory,
    why_not_native,
)
from mjrig.components.laws.clamp import Clamp, MaxEffort
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.gather import Buffer, Operation, as_slice, gather, merge, scaled
from mjrig.components.laws.law import Law
from mjrig.components.laws.pipeline import Pipeline
from mjrig.components.laws.space import Precision, Space
from mjrig.control.controller import ArticulationController
from mjrig.control.effort_log import EffortLog, LiveEfforts, SeenEfforts
from mjrig.control.execution import Execution, Support, is_rk4
from mjrig.control.lowering import Lowered, NativeForm
from mjrig.control.setpoints import FEEDFORWARD, POSITION, VELOCITY, Source
from mjrig.errors import PropertyError
from mjrig.properties.nested_kinds import Nested, NestedList
from mjrig.properties.per_actuator import PerActuator, patch, resolved
from mjrig.properties.scalar_kinds import Bool, Choice, Float, Int

#: Raw effort and effort of the last step, joint units; no effort: there was no step yet.
NativeTelemetry = tuple[FloatArray, FloatArray | None]


class EffortMode(StrEnum):
    """At which end of the step the effort is computed."""

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"


class PipelineController(ArticulationController):
    """Runs a pipeline on the owned actuators.

    With g = gear·gain the law is evaluated in actuator space: q, v, q* and v* times g, feedforward
    and limits divided by g, gains by g². Its value is the ctrl, and the joint effort is g times it.
    Only this form has the engine's bits for any gear. A law or clamp that knows nothing of spaces
    makes the whole pipeline run in joint space.
    """

    default_torque_limit = Float(
        200.0,
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Limits",
        doc="Effort limit of the actuators torque_limit does not name.",
    )
    torque_limit = PerActuator(
        fallback="default_torque_limit",
        min=0.0,
        soft_max=400.0,
        unit="N·m",
        category="Limits",
        doc="Largest effort per actuator, at the joint, after all clamps; inf: none.",
    )
    delay = Nested(Delay, structural=True, category="Actuation", doc="Holds commands back.")
    clamps = NestedList(
        Clamp,
        structural=True,
        category="Actuation",
        doc="What the motors can give, applied in this order, before torque_limit.",
    )
    law = Nested(
        Law,
        polymorphic=True,
        structural=True,
        category="Actuation",
        doc="A law instead of the controller's own.",
    )
    decimation = Int(
        1,
        min=1,
        soft_max=20,
        unit="steps",
        structural=True,
        category="Actuation",
        doc="Runs every so many physics steps and holds its effort in between.",
    )
    effort = Choice(
        EffortMode.EXPLICIT,
        structural=True,
        category="Numerics",
        doc="implicit: the effort of the end of the step, so that stiff gains stay stable.",
    )
    count_clamps = Bool(
        False,
        category="Telemetry",
        doc="Look at a native law after every step, so that no clamp is missed; costs speed.",
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

    #: The gains of the controller's own law, which a `law` does without.
    own_gains: ClassVar[tuple[str, ...]] = ()

    _pipe: Pipeline
    _tick: float
    _run: Callable[[], None]
    _native_write: list[Operation]
    _looked_at: float
    _looked: NativeTelemetry

    def _own_validate(self) -> None:
        super()._own_validate()
        if self.law is not None:
            own = [n for n in self.own_gains if self.is_authored(n)]
            if own:
                raise PropertyError(
                    f"{self.label}.{own[0]}: means nothing beside law; give it to the law, "
                    "or leave law out",
                    (own[0],),
                )

    def _own_prepare(self) -> None:
        super()._own_prepare()
        self._factor = np.zeros(0)
        self._never_ticked = True
        self._version = -1
        self._custom: dict[str, FloatArray] = {}
        self._compiled: CompiledStep | None = None
        self._ran_on: list[int] | None = None
        self._forget_native()
        self._run = self._tick_explicit  # unbound, its first look at the setpoints says so

    # Hooks --------------------------------------------------------------------------------------

    def make_law(self) -> Law:
        """Hook: the controller's own law."""
        raise NotImplementedError

    def load_law(self, law: Any) -> None:
        """Hook: the gains were handed to the controller's own law; hand it more."""

    def _own_load_law(self, law: Any) -> None:
        """The base classes' own part of `load_law`."""

    def gains(self) -> dict[str, FloatArray]:
        if self.law is None:
            return super().gains()
        # Those of its own law are not in use.
        return {"torque_limit": self.torque_limit} | resolved(self.law)

    def patch(self, **values: object) -> None:
        """Merge values into what was authored, all or nothing: `patch(kp={"FL_hip": 80})`.

        Raises:
            PropertyError: a name is unknown or a value does not fit; nothing was changed.
        """
        patch(self, values)

    # Bind: everything that can be decided is decided here ----------------------------------------

    def _own_on_bind(self, model: Any, data: Any) -> None:
        before = self._bring_pipeline_home()
        lowered, self._lowered = self._lowered, None
        self._model, self._data = model, data
        self._factor = np.array([b.factor for b in self.bindings])
        self._tick = self.decimation * float(model.opt.timestep)
        law = self.law or self.make_law()
        self._limit = MaxEffort()
        for part in (law, self._limit):
            part.spread_over(self._slots)
        parts: list[Law | Clamp] = [law, *self.clamps]
        anywhere = all(part.any_space for part in parts)
        size = self.num_bindings
        factor = self._factor if anywhere else np.ones(size)
        space = Space(size, None, self._dtype(), factor)
        clamps = [*self.clamps, self._limit]
        self._check_parts(space)
        try:
            self._pipe = Pipeline.of_parts(space, law, self.delay, clamps, self._tick)
            law.check_dt(self._tick)
        except PropertyError as error:
            raise (error if self.law is None else error.below("law")) from error
        except ValueError as error:
            raise PropertyError(f"{self.label}: {error}") from error
        self._keep_memory(before)
        self._ran_on = [b.actuator_id for b in self.bindings]
        self._custom = {name: np.zeros(size) for name in law.custom_names}
        law._custom = self._custom
        self._compiled = None
        self._plan(data)
        self._load()
        self._never_ticked = True
        # Bound again after a structural change:
        if lowered is not None:
            self._leave_native(lowered, "its structure changed while it ran")
        elif self._execution.name == "compiled":
            compiled = self.supports()["compiled"]
            fallback = Execution("python", f"not compiled: {compiled.reason}")
            self.run_as(self._execution if compiled.available else fallback)

    def _bring_pipeline_home(self) -> tuple[Any, Pipeline] | None:
        """The pipeline there was, with its memory, and the actuators it ran on."""
        if self._ran_on is None:
            return None
        if self._compiled is not None:
            self._compiled.write_back()
        if self._lowered is not None:
            take_memory(self, self._lowered)
        return self._ran_on, self._pipe

    def _keep_memory(self, before: tuple[Any, Pipeline] | None) -> None:
        """After a structural change, remember what still has the same meaning and shape."""
        ids = [b.actuator_id for b in self.bindings]
        if before is None or before[0] != ids:
            return
        old, new = before[1], self._pipe
        if type(old.law) is not type(new.law) or old.space.dtype != new.space.dtype:
            return
        saved, fresh = old.state.save(), new.state.save()
        same = {n for n in fresh if n in saved and saved[n].shape == fresh[n].shape}
        new.state.restore({n: saved[n] if n in same else fresh[n] for n in fresh})

    def _check_parts(self, space: Space) -> None:
        """Refuse clamps and a delay that do not fit the actuators, and say where they are."""
        for i, clamp in enumerate(self.clamps):
            try:
                clamp.use_space(space)
            except PropertyError as error:
                raise error.below("clamps", i) from None
        self.delay_room()

    def _dtype(self) -> Any:
        return np.float32 if self.precision is Precision.FLOAT32 else np.float64

    def _plan(self, data: Any) -> None:
        """Prepare the operations that read the state, read the setpoints and write ctrl."""
        factor = self._pipe.space.factor
        q = self._state(data.qpos, data.actuator_length, "qpos_address")
        qd = self._state(data.qvel, data.actuator_velocity, "dof_address")
        rows = [self._row(POSITION), self._row(VELOCITY), self._row(FEEDFORWARD)]
        if self.clamp_targets:
            rows[POSITION] = self._inside_joint_range(*rows[POSITION])
        state = [scaled(*q, factor), scaled(*qd, factor)]
        targets = [
            scaled(*rows[POSITION], factor),
            scaled(*rows[VELOCITY], factor),
            scaled(*rows[FEEDFORWARD], factor, divide=True),
        ]
        q_, qd_, target_q, target_qd, feedforward = (buffer for buffer, _ in (*state, *targets))
        self._inputs = (q_, qd_, target_q, target_qd, feedforward)
        self._read_state = tuple(op for _, operations in state for op in operations)
        self._read_targets = tuple(op for _, operations in targets for op in operations)
        self._write = tuple(self._writers(data.ctrl))
        implicit = self.effort is EffortMode.IMPLICIT
        self._tick_once = self._tick_implicit if implicit else self._tick_explicit
        self._run = self._tick_once if self.decimation == 1 else self._run_decimated
        self._version = -1

    def _state(
        self, joint: FloatArray, actuator: FloatArray, address: str
    ) -> tuple[Buffer, list[Operation]]:
        on_joint = [i for i, b in enumerate(self.bindings) if b.on_joint]
        dtype = self._dtype()
        joints = gather(joint, [getattr(self.bindings[i], address) for i in on_joint], dtype)
        if len(on_joint) == self.num_bindings:
            return joints
        others = [i for i, b in enumerate(self.bindings) if not b.on_joint]
        lengths = gather(actuator, [self.bindings[i].output_address for i in others], dtype)
        parts = [(np.array(on_joint), *joints), (np.array(others), *lengths)]
        return merge([p for p in parts if len(p[0])], self.num_bindings)

    def _row(self, row: int) -> tuple[Buffer, list[Operation]]:
        return gather(self.setpoints.values[row], self.columns.tolist(), self._dtype())

    def _inside_joint_range(
        self, target: Buffer, operations: list[Operation]
    ) -> tuple[Buffer, list[Operation]]:
        low, high = self._target_range(target.dtype)
        inside = np.zeros_like(target)
        return inside, [
            *operations,
            partial(np.maximum, target, low, out=inside),
            partial(np.minimum, inside, high, out=inside),
        ]

    def _target_range(self, dtype: Any = np.float64) -> tuple[Buffer, Buffer]:
        """The range position targets are held in, joint units."""
        unlimited = (-np.inf, np.inf)
        ranges = [b.joint_range if self.clamp_targets else None for b in self.bindings]
        table = np.array([r or unlimited for r in ranges], dtype).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()

    def _writers(self, ctrl: FloatArray) -> list[Operation]:
        value: Buffer = self._pipe._effort
        operations: list[Operation] = []
        if not np.array_equal(self._pipe.space.factor, self._factor):  # ran in joint space
            value, operations = scaled(value, [], self._factor, divide=True)
        addresses = [b.ctrl_address for b in self.bindings]
        where: Any = as_slice(addresses)
        if where is not None:
            return [*operations, partial(np.copyto, ctrl[where], value)]
        index = np.array(addresses, dtype=np.intp)
        return [*operations, partial(ctrl.__setitem__, index, value)]

    def _load(self) -> None:
        """Hand the resolved values to the parts."""
        self._outgrow_native(self.delay_room())
        if self._lowered is not None:
            self._look_back(self._lowered)
        elif self._compiled is not None:
            self._compiled.write_back()
        if self.law is None:
            self._own_load_law(self._pipe.law)
            self.load_law(self._pipe.law)
        self._limit.load_limits(-self.torque_limit, self.torque_limit)
        self._version = -1  # what the law precomputed from the setpoints holds gains too
        if self._compiled is not None:
            self._compiled.refresh()
        self._leave_native_if_unfit()
        if self._lowered is not None and self.enabled:
            self._lowered.load(self.native_form())

    def _leave_native_if_unfit(self) -> None:
        """A live edit may ask for what MuJoCo's actuator cannot do."""
        lowered = self._lowered
        if lowered is None:
            return
        native = self.supports()["native"]
        if not native.available:
            take_memory(self, lowered)
            self._leave_native(lowered, native.reason)

    def _outgrow_native(self, steps: int) -> None:
        """MuJoCo's history of commands has a fixed length: a longer delay has to run here."""
        lowered = self._lowered
        if lowered is None or self.delay is None:
            return
        if not lowered.room_for(self.delay.lags(self._tick).tolist()):
            take_memory(self, lowered)
            self._leave_native(lowered, f"it has no room for a delay of {steps} steps")

    def _leave_native(self, lowered: Lowered, why: str) -> None:
        """Run the law here from now on; the actuators pass on what they are given."""
        supports = self.supports()
        if not supports["python"].available:
            raise PropertyError(f"{self.label}: {supports['python'].reason}, and {why}")
        lowered.drive_directly()
        self._lowered = None
        name = "compiled" if supports["compiled"].available else "python"
        self.run_as(Execution(name, f"no longer native: {why}"))

    # Run ----------------------------------------------------------------------------------------

    def compute_and_apply(self, model: Any, data: Any, source: Source) -> None:
        self._run()

    def stepper(self, model: Any, data: Any) -> Callable[[], object]:
        ours = type(self).compute_and_apply is PipelineController.compute_and_apply
        return self._run if ours else super().stepper(model, data)

    def _tick_explicit(self) -> None:
        fresh = self._bound_to.setpoints.version != self._version and self._take_targets()
        for read in self._read_state:
            read()
        self._pipe.advance(*self._inputs, self._tick, fresh)
        for write in self._write:
            write()

    def _tick_implicit(self) -> None:
        self._take_targets()
        for read in self._read_state:
            read()
        self._pipe.advance_implicit(*self._inputs, self._tick, self._inverse_mass())
        for write in self._write:
            write()

    def _run_decimated(self) -> None:
        """Tick on steps 0, k, 2k after a reset; hold the effort in between."""
        step = round(self._data.time / self._model.opt.timestep)
        if self._never_ticked or step % self.decimation == 0:
            self._never_ticked = False
            self._tick_once()
        else:
            for write in self._write:
                write()

    def _take_targets(self) -> bool:
        self._version = self._bound_to.setpoints.version
        for read in self._read_targets:
            read()
        return True

    def _inverse_mass(self) -> FloatArray:
        """The block of M⁻¹ of the owned joints, in the pipeline's space."""
        dofs = np.array([b.dof_address for b in self.bindings], dtype=np.intp)
        unit = np.zeros((len(dofs), self._model.nv))
        unit[np.arange(len(dofs)), dofs] = 1.0
        solved = np.zeros_like(unit)
        mujoco.mj_solveM(self._model, self._data, solved, unit)
        factor = self._pipe.space.factor
        block: FloatArray = solved[:, dofs] * factor[:, None] * factor[None, :]
        return block

    @property
    def _own_needs_position_stage(self) -> bool:
        implicit = self.effort is EffortMode.IMPLICIT
        return implicit or super()._own_needs_position_stage

    def _own_on_change(self, names: tuple[str, ...]) -> None:
        super()._own_on_change(names)
        if self.is_bound:
            self._load()

    # Telemetry ----------------------------------------------------------------------------------

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline it runs; in actuator space where `pipeline.space.factor` is not one."""
        self._bring_memory_home()
        return self._pipe

    def _bring_memory_home(self) -> None:
        """Whoever runs the law, what it remembers is in the pipeline's state afterwards."""
        if self._compiled is not None:
            self._compiled.write_back()
        if self._lowered is not None:
            take_memory(self, self._lowered)

    @property
    def custom_inputs(self) -> dict[str, FloatArray]:
        """Extra inputs of the law by name, one value per binding: write into them."""
        return self._custom

    @property
    def raw_effort(self) -> FloatArray:
        if not self.is_bound:
            return np.zeros(0)
        if self._lowered is not None:
            return self._look(self._lowered)[0]
        raw: FloatArray = self._pipe.space.factor * self._pipe._raw
        return raw

    def effort_log(self) -> EffortLog | None:
        lowered = self._lowered
        if lowered is None:
            return LiveEfforts(self.columns, self._pipe._raw, self._pipe.space.factor)
        if is_rk4(self._model):  # its telemetry is of the last stage, which no row shows
            return SeenEfforts(self, self.columns)
        return NativeEfforts(self, lowered)

    @property
    def clamp_names(self) -> tuple[str, ...]:
        """The clamps in order, `torque_limit` last."""
        return (*(c._role for c in self.clamps), "torque_limit")

    @property
    def clamp_counts(self) -> dict[str, Any]:
        """For each clamp, in how many ticks since the reset it acted, per binding.

        Of a law MuJoCo runs, all steps count with `count_clamps`; else only those after which
        somebody looked at its telemetry.
        """
        if self._compiled is not None:
            self._compiled.write_back()
        if self._lowered is not None and self.enabled:
            self._look(self._lowered)
        return dict(zip(self.clamp_names, self._pipe.clamp_counts, strict=True))

    # Other ways to run --------------------------------------------------------------------------

    def watcher(self) -> Callable[[float], object] | None:
        if self._lowered is None or not self.count_clamps:
            return None
        lowered = self._lowered
        return lambda time: self._look(lowered)

    def supports(self) -> dict[str, Support]:
        found = self._pipe.executions if self.is_bound else super().supports()
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

    def run_as(self, execution: Execution) -> None:
        super().run_as(execution)
        if execution.name == "compiled":
            self._compiled = CompiledStep(self, self._pipe, self._data)
            self._tick_once = self._compiled
            self._write = tuple(self._writers(self._data.ctrl))  # between ticks, from its buffers
            self._run = self._tick_once if self.decimation == 1 else self._run_decimated

    @property
    def guards_ctrl(self) -> bool:
        return self._compiled is not None and self.decimation == 1

    def native_form(self) -> NativeForm:
        return native_form_of(self)

    def clamp_limits(self) -> tuple[FloatArray, FloatArray]:
        low, high, _ = limits_of(self.clamps, self.num_bindings)
        return low, high

    def delay_room(self) -> int:
        try:
            return self.delay.depth(self._tick) if self.delay is not None else 0
        except PropertyError as error:
            raise error.below("delay") from None

    def lower(self, lowered: Lowered) -> None:
        super().lower(lowered)
        ctrl = self._data.ctrl
        self._native_write = [
            *self._read_targets,
            *(
                partial(ctrl.__setitem__, lowered.inputs[:, k].copy(), row)
                for k, row in enumerate(self._inputs[2:])
            ),
        ]

    def native_writers(self) -> list[Operation]:
        return self._native_write

    @property
    def native_effort(self) -> FloatArray | None:
        if self._lowered is None:
            return None
        return self._look(self._lowered)[1]

    def _look(self, lowered: Lowered) -> NativeTelemetry:
        """What MuJoCo's actuators did in the last step; counts the clamps that acted in it."""
        now = float(self._data.time)
        if now != self._looked_at:
            raw, effort, acted = native_effort_of(self, lowered)
            self._looked_at, self._looked = now, (raw, effort)
            for count, one in zip(self._pipe._acted, acted, strict=True):
                np.add(count, one, out=count)
        return self._looked

    def _look_back(self, lowered: Lowered) -> None:
        """Before anything changes: the last step was taken with the numbers as they are."""
        if lowered.aside is None:
            self._look(lowered)
        elif self.enabled:  # switched on again; meanwhile there was nothing to see
            self._looked_at = float(self._data.time)

    def _forget_native(self) -> None:
        self._looked_at = 0.0  # the time after a reset
        self._looked = (np.zeros(self.num_bindings), None)

    # Memory -------------------------------------------------------------------------------------

    def _own_reset(self) -> None:
        if self.is_bound:
            self._pipe.reset()
        if self._compiled is not None:
            self._compiled.refresh()
        if self._lowered is not None:
            self._lowered.start_over()
            self._forget_native()
        self._never_ticked = True
        self._version = -1

    def _own_memory_signature(self) -> object:
        if not self.is_bound:
            return None
        law, clamps = type(self._pipe.law).__name__, self.clamp_names
        delayed = self.delay is not None
        return law, clamps, delayed, self.decimation, str(self.precision), self.clamp_targets

    def _own_memory(self) -> Any:
        if not self.is_bound:
            return None
        self._bring_memory_home()
        pipe, native = self._pipe, None
        if (lowered := self._lowered) is not None:
            if lowered.aside is None:
                self._look(lowered)
            native = lowered.memory(), lowered.aside is not None, lowered.awaits_command
        seen = self._looked_at, self._looked
        buffers = (pipe._raw.copy(), pipe._effort.copy())
        return pipe.state.save(), buffers, pipe.clamp_counts, self._never_ticked, native, seen

    def _own_restore(self, memory: Any) -> None:
        if memory is None:
            return
        state, (raw, effort), counts, self._never_ticked, native, seen = memory
        self._pipe.state.restore(state)
        if self._lowered is None or native is not None:
            self._looked_at, self._looked = seen
        if self._lowered is not None and native is not None:
            law_memory, was_aside, self._lowered.awaits_command = native
            self._lowered.recall(law_memory, was_aside)
        self._pipe._raw[:], self._pipe._effort[:] = raw, effort
        for mine, saved in zip(self._pipe._acted, counts, strict=True):
            mine[:] = saved
        self._version = -1
        if self._compiled is not None:
            self._compiled.refresh()
