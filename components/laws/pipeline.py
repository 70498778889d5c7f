"""Pipeline: delay → law → clamps, on arrays of shape (n,) or (batch, n)."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.clamps import Clamp, DCMotor, acted_counter, count_acted
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.implicit_effort import implicit_effort, slopes_behind
from mjrig.components.laws.law import Law, Slopes
from mjrig.components.laws.pipeline_arrays import Array, Operation, PipelineSpace, State
from mjrig.core.arrays import read_only
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.execution import Support
from mjrig.core.names import listed
from mjrig.core.patterns import Slots
from mjrig.core.properties.hooks import check_filled
from mjrig.core.properties.memory import DeclaredMemory

# Support ------------------------------------------------------------------------------------------
# Execution modes that can run a pipeline of these parts, and why not the others.


def supports(
    space: PipelineSpace, law: Law, delay: Delay | None, clamps: Sequence[Clamp]
) -> dict[str, Support]:
    """Whether python, compiled and native can run these parts, with the reason."""
    parts: list[Any] = [law, *([delay] if delay else []), *clamps]
    compiled = [why for p in parts if (why := p.why_not_compiled())]
    native = [why for p in parts if (why := p.why_not_native())]
    native = native or _why_not_native_together(law, clamps)[:1]
    if space.dtype == np.float32:
        native.append("MuJoCo computes in float64")
        compiled.append("the kernel computes in float64")
    return {
        "python": Support(True, "the reference; runs anything"),
        "compiled": Support(not compiled, "; ".join(compiled) or "every part has a kernel"),
        "native": Support(
            not native,
            "; ".join(native) or "every part has a MuJoCo form",
            exact=not any(isinstance(clamp, DCMotor) for clamp in clamps),
        ),
    }


def _why_not_native_together(law: Law, clamps: Sequence[Clamp]) -> list[str]:
    """Why parts that each have a MuJoCo form have none in combination."""
    motors = [c for c in clamps if isinstance(c, DCMotor)]
    rules = (
        (
            isinstance(law, PD) and bool(law._gains.constant.any()),
            "a constant effort is not part of a MuJoCo actuator",
        ),
        (len(motors) > 1, "it has more than one DCMotor"),
        (
            bool(motors) and clamps[0] is not motors[0],
            "something is clamped before the DCMotor",
        ),
        (
            bool(motors) and isinstance(law, PID),
            "a dcmotor actuator uses its integral before it is updated",
        ),
        (
            any(not np.isfinite(m._line.velocity_limit).all() for m in motors),
            "its DCMotor has no velocity limit",
        ),
        (
            any((m._line.saturation <= 0.0).any() for m in motors),
            "its DCMotor has no saturation effort",
        ),
    )
    return [reason for holds, reason in rules if holds]


# Inputs -------------------------------------------------------------------------------------------
# Inputs of a pipeline step: checked, and copied into preallocated arrays.


Input = npt.ArrayLike | None
#: q, qd, target_q, target_qd, feedforward.
Inputs = tuple[Array, Array, Array, Array, Array]
#: target_q, target_qd, feedforward.
Targets = tuple[Array, Array, Array]
_NAMES = ("q", "qd", "target_q", "target_qd", "feedforward")


class InputRows:
    """Rows for q, qd, target_q, target_qd and feedforward, each of a pipeline's shape."""

    def __init__(self, space: PipelineSpace) -> None:
        self._space = space
        self._block = np.zeros((5, *space.shape), space.dtype)
        a, b, c, d, e = self._block
        self.rows: Inputs = (a, b, c, d, e)

    def take(
        self,
        given: tuple[npt.ArrayLike, npt.ArrayLike, Input, Input, Input],
        law: Law,
        delay: Delay | None,
        dt: float | None,
        custom: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Inputs:
        """Check inputs and copy them into the rows.

        Raises:
            ValueError: a shape is wrong, a value is not finite, a target is missing that a gain
                needs, or dt is missing.
        """
        law.check_dt(dt)
        if delay is not None:
            delay.check_dt(dt)
        for name, gain in law.needs().items():
            if given[_NAMES.index(name)] is None:
                raise ValueError(f"{name} is None but {gain} is not zero; give {name}")
        if custom or law.custom_names:
            self._take_custom(law, custom or {})
        shape = self._space.shape
        for row, value, name in zip(self.rows, given, _NAMES, strict=True):
            if value is None:
                row[...] = 0.0
            elif getattr(value, "shape", None) == shape:
                row[...] = value
            else:
                row[...] = self._array(name, value)
        block = self._block
        if not isfinite(np.vdot(block, block)):
            for row, name in zip(self.rows, _NAMES, strict=True):
                _refuse_non_finite(name, row)
        return self.rows

    def _take_custom(self, law: Law, inputs: Mapping[str, npt.ArrayLike]) -> None:
        names = law.custom_names
        missing, unknown = set(names) - set(inputs), set(inputs) - set(names)
        if missing:
            raise ValueError(f"custom_inputs must give {listed(sorted(missing))}")
        if unknown:
            raise ValueError(
                f"custom_inputs has {listed(sorted(unknown))}; "
                f"{type(law).__name__} takes {listed(names)}"
            )
        custom = {name: self._array(name, inputs[name]) for name in names}
        for name, array in custom.items():
            _refuse_non_finite(name, array)
        law._custom = custom

    def _array(self, name: str, value: npt.ArrayLike) -> Array:
        array = np.asarray(value, dtype=self._space.dtype)
        if array.shape != self._space.shape:
            raise ValueError(f"{name} must have shape {self._space.shape}, got {array.shape}")
        return array


def _refuse_non_finite(name: str, array: Array) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        index = ", ".join(map(str, bad[0]))
        raise ValueError(f"{name}[{index}] is {array[tuple(bad[0])]}; must be finite")


# Scatter ------------------------------------------------------------------------------------------
# Scatter: gathers a pipeline's inputs by index and adds its efforts at indices.


Indices = tuple[npt.ArrayLike | None, ...]
Arrays = tuple[Array | None, ...]


class Scatter:
    """Checked index arrays: positions, velocities, position targets, efforts.

    Raises:
        ValueError: an index is out of range or a list has another length than `size`.
    """

    def __init__(self, size: int, indices: Indices, arrays: Arrays) -> None:
        self._key = indices
        self._shapes = [None if a is None else a.shape for a in arrays]
        pos, vel, target, effort = indices
        self._pos = _index("pos_indices", pos, size)
        self._vel = _index("vel_indices", vel, size)
        self._target = self._pos if target is None else _index("target_indices", target, size)
        self._effort = self._vel if effort is None else _index("effort_indices", effort, size)
        qpos, qvel, target_q, target_qd, feedforward, out = arrays
        for name, index, array, what in (
            ("pos_indices", self._pos, qpos, "qpos"),
            ("vel_indices", self._vel, qvel, "qvel"),
            ("target_indices", self._target, target_q, "target_q"),
            ("vel_indices", self._vel, target_qd, "target_qd"),
            ("vel_indices", self._vel, feedforward, "feedforward"),
            ("effort_indices", self._effort, out, "out"),
        ):
            _check_range(name, index, array, what)
        self._repeated = len(np.unique(self._effort)) < size

    def fits(self, indices: Indices, arrays: Arrays) -> bool:
        """Whether these are the very index arrays, for arrays of the same shapes."""
        same = all(a is b for a, b in zip(indices, self._key, strict=True))
        return same and self._shapes == [None if a is None else a.shape for a in arrays]

    def gather(
        self,
        qpos: Any,
        qvel: Any,
        target_q: Array | None,
        target_qd: Array | None,
        feedforward: Array | None,
    ) -> tuple[Array, Array, Array | None, Array | None, Array | None]:
        """The pipeline's inputs."""
        return (
            qpos[..., self._pos],
            qvel[..., self._vel],
            None if target_q is None else target_q[..., self._target],
            None if target_qd is None else target_qd[..., self._vel],
            None if feedforward is None else feedforward[..., self._vel],
        )

    def add(self, out: Array, effort: Array) -> None:
        """Add efforts; repeated indices add up."""
        if self._repeated:
            where: Any = (..., self._effort)
            np.add.at(out, where, effort)
        else:
            out[..., self._effort] += effort


def _index(name: str, values: npt.ArrayLike | None, size: int) -> npt.NDArray[np.intp]:
    array = np.asarray(values)
    if array.shape != (size,) or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {size} whole numbers, got {array.dtype} {array.shape}")
    return array.astype(np.intp)


def _check_range(name: str, index: npt.NDArray[np.intp], array: Array | None, what: str) -> None:
    if array is None:
        return
    length = array.shape[-1]
    bad = index[(index < 0) | (index >= length)]
    if len(bad):
        raise ValueError(f"{name} has {bad[0]}, but {what} has {length} values")


# Pipeline -----------------------------------------------------------------------------------------


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
                raise ValueError(f"{part!r} is part of another pipeline; use a copy")
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
        self._on_command: tuple[Operation, ...] = ()
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
        law.command(*(targets if delay is None else delay.arriving))
        program = law.program(q, qd, state, dt, raw)
        self._on_command = tuple(law._on_command)
        if delay is not None:
            program.insert(0, _delayed(self.command, delay, targets, state, dt))
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
        for call in self._on_command:
            call()

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
        effort = self.advance_implicit(*inputs, dt, matrix, iterations, tolerance)
        self.command()
        return effort

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
            self.command()

    def _slopes(self, q: Array, qd: Array, targets: Targets, dt: float) -> Slopes:
        if self.delay is not None:
            self.delay.pass_on(*targets, self._state, dt)
            targets = self.delay.arriving
        effort = np.zeros_like(self._raw)
        result = self.law.compute(q, qd, *targets, self._state, dt, effort)
        check_filled(self.law, "compute", result, effort)
        return slopes_behind(self.clamps, self.law.slopes(self._state, dt), effort, q, qd)


def _delayed(
    command: Operation, delay: Delay, targets: Targets, state: State, dt: float
) -> Operation:
    """Push the setpoints; the law takes what arrives, unless that is what it has already."""
    target_q, target_qd, feedforward = targets
    arrived, taken = delay._arrived, b""

    def pass_on() -> None:
        nonlocal taken
        delay.pass_on(target_q, target_qd, feedforward, state, dt)
        now = arrived.tobytes()
        if now != taken:
            taken = now
            command()

    return pass_on
