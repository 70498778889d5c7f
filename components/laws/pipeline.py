"""Pipeline: delay → law → clamps, on arrays of shape (n,) or (batch, n)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from mjrig.arrays import read_only
from mjrig.attributes import CheckedAttributes
from mjrig.components.laws.clamp import Clamp, acted_counter, count_acted
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.gather import Operation
from mjrig.components.laws.implicit import implicit_effort
from mjrig.components.laws.inputs import Input, InputRows, Targets
from mjrig.components.laws.law import Law, Slopes
from mjrig.components.laws.scatter import Scatter
from mjrig.components.laws.slopes import slopes_behind
from mjrig.components.laws.space import Array, PipelineSpace
from mjrig.components.laws.state import State
from mjrig.components.laws.support import supports
from mjrig.control.execution import Support
from mjrig.names import Slots
from mjrig.properties.declared_memory import DeclaredMemory
from mjrig.properties.hooks import check_filled


class Pipeline(CheckedAttributes, DeclaredMemory):
    """Delay → law → clamps for `size` actuators; no MuJoCo needed.

    Args:
        law: computes the raw effort.
        delay: delays commands; None: none.
        clamps: applied to the effort in this order.
        size: number of actuators.
        batch: number of worlds; arrays are then (batch, size).
        dtype: float64, or float32 with the operation order of training stacks.

    Raises:
        PropertyError: a per-actuator value does not fit `size`.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_state", "_raw", "_effort", "_acted")
    # Assigned in `_assemble`, which two constructors call.
    law: Final[Law]  # type: ignore[misc]
    delay: Final[Delay | None]  # type: ignore[misc]
    clamps: Final[tuple[Clamp, ...]]  # type: ignore[misc]
    space: Final[PipelineSpace]  # type: ignore[misc]

    def __init__(
        self,
        law: Law,
        delay: Delay | None = None,
        clamps: Iterable[Clamp] = (),
        *,
        size: int,
        batch: int | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise ValueError(f"dtype must be float64 or float32, got {np.dtype(dtype)}")
        clamps = tuple(clamps)
        slots = Slots([(f"[{i}]",) for i in range(size)])
        parts: list[Any] = [law, *([delay] if delay is not None else []), *clamps]
        for part in parts:
            if part._space is not None:  # it keeps buffers and, a delay, its place in the memory
                raise ValueError(f"{part!r} is part of another pipeline; pass a copy()")
            part.spread_over(slots)
        space = PipelineSpace(size, batch, np.dtype(dtype).type)
        self._assemble(space, law, delay, clamps, None)

    @classmethod
    def of_parts(
        cls, space: PipelineSpace, law: Law, delay: Delay | None, clamps: Sequence[Clamp], dt: float
    ) -> "Pipeline":
        """A pipeline of parts whose values are already resolved, as a controller makes it."""
        made = cls.__new__(cls)
        made._assemble(space, law, delay, tuple(clamps), dt)
        return made

    def _assemble(
        self,
        space: PipelineSpace,
        law: Law,
        delay: Delay | None,
        clamps: tuple[Clamp, ...],
        dt: float | None,
    ) -> None:
        self.law, self.delay = law, delay  # type: ignore[misc]
        self.clamps, self.space = clamps, space  # type: ignore[misc]
        law.use_space(space)
        for clamp in clamps:
            clamp.use_space(space)
        self._state = State(space.size, space.batch)
        law.remember(self._state, space)
        self._remembers = bool(self._state.names)
        if delay is not None:
            delay.remember(self._state, space, dt)
        self._raw, self._effort = space.zeros(), space.zeros()
        self._inputs = InputRows(space)
        self._acted = [np.zeros(space.shape, np.int64) for _ in clamps]
        self._program: tuple[Operation, ...] = ()
        self._unclamped = self._raw
        self._prepared_for: tuple[object, ...] = ()
        self._scatter: Scatter | None = None

    def take_buffers(self, raw: Array, effort: Array) -> None:
        """Use these arrays for the effort; `prepare` must follow."""
        self._raw, self._effort = raw, effort

    # State and telemetry ------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Its memory; changed in place."""
        return self._state

    @property
    def is_stateful(self) -> bool:
        """Whether it has memory from step to step."""
        return bool(self._state.names)

    @property
    def raw_effort(self) -> Array:
        """The law's effort of the last step, before clamps."""
        return read_only(self._raw.copy())

    @property
    def clamp_counts(self) -> list[npt.NDArray[np.int64]]:
        """Number of steps since the last reset in which each clamp acted, per actuator."""
        return [read_only(count.copy()) for count in self._acted]

    @property
    def executions(self) -> dict[str, Support]:
        """Which execution modes can run this, with the reason."""
        return supports(self.space, self.law, self.delay, self.clamps)

    def reset(self, mask: npt.ArrayLike | None = None) -> None:
        """Reset everything, or the actuators of a bool mask.

        Raises:
            ValueError: the mask is not bool or has another shape.
        """
        self._state.reset(mask)
        if self.delay is not None:
            self.delay.draw(self._state, mask)
        chosen = ... if mask is None else self._state.mask(mask)
        for count in self._acted:
            count[chosen] = 0
        self._raw[chosen] = self._effort[chosen] = 0.0

    # One step -----------------------------------------------------------------------------------

    def step(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        target_q: Input = None,
        target_qd: Input = None,
        feedforward: Input = None,
        dt: float | None = None,
        *,
        custom_inputs: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Array:
        """Effort after delay, law and clamps, shape (n,) or (batch, n), as a copy.

        Raises:
            ValueError: a shape is wrong, a value is not finite, a target is missing that a gain
                needs, or dt is missing. The memory is unchanged.
        """
        given = (q, qd, target_q, target_qd, feedforward)
        at_q, at_qd, a, b, c = self._inputs.take(given, self.law, self.delay, dt, custom_inputs)
        revisions = [clamp._revision for clamp in self.clamps]
        ready_for = (dt, self._state.version, self.law._revision, *revisions)
        if ready_for != self._prepared_for:
            self.prepare(at_q, at_qd, (a, b, c), dt if dt is not None else 0.0)
            self._prepared_for = ready_for
        self.advance()
        return self._effort.copy()

    def prepare(
        self, q: Array, qd: Array, targets: Targets, dt: float, out: Array | None = None
    ) -> None:
        """Make the calls of a step on these very arrays, of the right shape and type.

        `advance` runs them. Again after every change of a parameter or of the memory's layout.
        With `out` the effort goes there, and the last clamp is counted by `count_last`.
        """
        law, delay, raw, state = self.law, self.delay, self._raw, self._state
        effort = self._effort if out is None else out
        self._targets = targets if delay is None else delay.arriving
        self.command()
        program: list[Operation] = []
        if delay is not None:
            program.append(_delayed(law, delay, targets, state, dt))
        program += law.program(q, qd, state, dt, raw)
        if self._remembers:
            program.append(self._remember)
        before = raw
        for k, (clamp, count) in enumerate(zip(self.clamps, self._acted, strict=True)):
            is_last = k == len(self.clamps) - 1
            after = effort if is_last else self.space.zeros()
            program += clamp.program(before, q, qd, after)
            if out is None or not is_last:
                program.append(acted_counter(raw, before, after, count))
            before, self._unclamped = after, before
        if not self.clamps:
            program.append(partial(np.copyto, effort, raw))
        self._program = tuple(program)

    @property
    def program(self) -> tuple[Operation, ...]:
        """The calls of one step, as `prepare` made them."""
        return self._program

    @property
    def unclamped(self) -> Array:
        """The effort before the last clamp."""
        return self._unclamped

    def count_last(self, effort: Array) -> None:
        """Count the actuators that the last clamp acted on."""
        count_acted(self._raw, self._unclamped, effort, self._acted[-1])

    def command(self) -> None:
        """Let the law take the setpoints it was prepared for; with a delay, each step does."""
        self.law.command(*self._targets)

    def advance(self) -> None:
        """One unchecked step with the arrays it was prepared for.

        Where an effort is not finite, that actuator's memory stays as it was.
        """
        if self.delay is None:
            self.command()
        for operation in self._program:
            operation()

    def _remember(self) -> None:
        self.law.advance(self._state, self._finite())

    def _finite(self) -> npt.NDArray[np.bool_] | None:
        """Which raw efforts are finite; None: all."""
        raw = self._raw
        return None if isfinite(np.vdot(raw, raw)) else np.isfinite(raw)

    # Other ways to step -------------------------------------------------------------------------

    def step_into(
        self,
        qpos: Array,
        qvel: Array,
        target_q: Array | None,
        target_qd: Array | None,
        feedforward: Array | None,
        out: Array,
        dt: float | None = None,
        *,
        pos_indices: npt.ArrayLike,
        vel_indices: npt.ArrayLike,
        target_indices: npt.ArrayLike | None = None,
        effort_indices: npt.ArrayLike | None = None,
    ) -> None:
        """Gather, step, and *add* the efforts into `out`.

        q is read at `pos_indices`, qd, target_qd and feedforward at `vel_indices`, target_q at
        `target_indices` (default `pos_indices`); efforts go to `effort_indices` (default
        `vel_indices`), where repeated indices add up. Indices are checked once.

        Raises:
            ValueError: an index is out of range or a list has another length than the pipeline.
        """
        indices = (pos_indices, vel_indices, target_indices, effort_indices)
        arrays = (qpos, qvel, target_q, target_qd, feedforward, out)
        if self._scatter is None or not self._scatter.fits(indices, arrays):
            self._scatter = Scatter(self.space.size, indices, arrays)
        inputs = self._scatter.gather(*arrays[:5])
        self._scatter.add(out, self.step(*inputs, dt))

    def step_implicit(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        target_q: Input = None,
        target_qd: Input = None,
        feedforward: Input = None,
        dt: float | None = None,
        inverse_mass: npt.ArrayLike | None = None,
        iterations: int = 4,
        tolerance: float = 1e-5,
    ) -> Array:
        """Effort that holds at the end of the step it acts in: stiff gains stay stable.

        Solves p = h f(q + h w, w), w = qd + A p for the impulse p, with A = `inverse_mass`, the
        (n, n) block of M⁻¹ of these actuators. See `solve_implicit`.

        Raises:
            ValueError: as `step`; also dt ≤ 0, a batch, or an inverse mass of another shape.
        """
        given = (q, qd, target_q, target_qd, feedforward)
        inputs = self._inputs.take(given, self.law, self.delay, dt)
        if dt is None or not dt > 0.0:
            raise ValueError(f"step_implicit needs dt > 0, got {dt}")
        if self.space.batch is not None:
            raise ValueError("step_implicit steps one world; the pipeline has a batch")
        size = self.space.size
        matrix = np.asarray(inverse_mass, dtype=np.float64)
        if matrix.shape != (size, size) or not np.isfinite(matrix).all():
            raise ValueError(f"inverse_mass must be a finite ({size}, {size}) matrix")
        return self.advance_implicit(*inputs, dt, matrix, iterations, tolerance)

    def advance_implicit(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        dt: float,
        inverse_mass: Array,
        iterations: int = 4,
        tolerance: float = 1e-5,
    ) -> Array:
        """`step_implicit` without the checks; returns a new array."""
        law, state, delay = self.law, self._state, self.delay
        if delay is None:
            law.command(target_q, target_qd, feedforward)
        else:
            delay.pass_on(target_q, target_qd, feedforward, state, dt)
            law.command(*delay.arriving)

        def remember() -> None:
            law.respond(q, qd, state, dt, self._raw)
            self._remember()

        solved = implicit_effort(
            law, state, self.clamps, q, qd, dt, inverse_mass, remember, iterations, tolerance
        )
        self._raw[...] = solved.raw
        for count, acted in zip(self._acted, solved.acted, strict=True):
            np.add(count, acted, out=count)
        self._effort[...] = solved.effort
        return self._effort.copy()

    def jacobian(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        target_q: Input = None,
        target_qd: Input = None,
        feedforward: Input = None,
        dt: float | None = None,
    ) -> Slopes:
        """∂τ/∂(q, qd, target_q, target_qd) of the effort after clamps, per actuator.

        Memory is unchanged. A delayed target has no influence on this step: its slopes are those
        with respect to the command that arrives.

        Raises:
            NotImplementedError: the law or a clamp has no derivative (networks).
        """
        given = (q, qd, target_q, target_qd, feedforward)
        q_, qd_, a, b, c = self._inputs.take(given, self.law, self.delay, dt)
        saved = self.memory()
        try:
            return self._slopes(q_, qd_, (a, b, c), dt if dt is not None else 0.0)
        finally:
            self.restore(saved)

    def _slopes(self, q: Array, qd: Array, targets: Targets, dt: float) -> Slopes:
        if self.delay is not None:
            self.delay.pass_on(*targets, self._state, dt)
            targets = self.delay.arriving
        effort = np.zeros_like(self._raw)
        result = self.law.compute(q, qd, *targets, self._state, dt, effort)
        check_filled(self.law, "compute", result, effort)
        return slopes_behind(self.clamps, self.law.slopes(self._state, dt), effort, q, qd)


def _delayed(law: Law, delay: Delay, targets: Targets, state: State, dt: float) -> Operation:
    """Push the setpoints; the law takes what arrives, unless that is what it has already."""
    target_q, target_qd, feedforward = targets
    arriving, arrived, taken = delay.arriving, delay._arrived, b""

    def pass_on() -> None:
        nonlocal taken
        delay.pass_on(target_q, target_qd, feedforward, state, dt)
        now = arrived.tobytes()
        if now != taken:
            taken = now
            law.command(*arriving)

    return pass_on
