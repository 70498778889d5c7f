"""Pipeline: delay → law → clamps, on arrays of shape (n,) or (batch, n)."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.clamp import Clamp, DCMotor
from mjrig.components.laws.delay import Delay
from mjrig.components.laws.feedback import PD, PID
from mjrig.components.laws.implicit import law_effort, solve_implicit
from mjrig.components.laws.law import Implicit, Law, Slopes
from mjrig.components.laws.scatter import Scatter
from mjrig.components.laws.space import Array, Space
from mjrig.components.laws.state import State
from mjrig.control.execution import Support
from mjrig.names import Slots, listed

Input = npt.ArrayLike | None
Inputs = tuple[Array, Array, Array, Array, Array]
_NAMES = ("q", "qd", "target_q", "target_qd", "feedforward")


class Pipeline:
    """Delay → law → clamps for `size` actuators; no MuJoCo needed.

    Args:
        law: computes the raw effort.
        delay: holds commands back; None: none.
        clamps: applied to the effort in this order.
        size: number of actuators.
        batch: number of worlds; arrays are then (batch, size).
        dtype: float64, or float32 with the operation order of training stacks.

    Raises:
        PropertyError: a per-actuator value does not fit `size`.
    """

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
        space = Space(size, batch, np.dtype(dtype).type)
        self._assemble(space, law, delay, clamps, None)

    @classmethod
    def of_parts(
        cls, space: Space, law: Law, delay: Delay | None, clamps: Sequence[Clamp], dt: float
    ) -> "Pipeline":
        """A pipeline of parts whose values are resolved already, as a controller makes it."""
        made = cls.__new__(cls)
        made._assemble(space, law, delay, tuple(clamps), dt)
        return made

    def _assemble(
        self,
        space: Space,
        law: Law,
        delay: Delay | None,
        clamps: tuple[Clamp, ...],
        dt: float | None,
    ) -> None:
        self.law, self.delay, self.clamps, self.space = law, delay, clamps, space
        law.use_space(space)
        for clamp in clamps:
            clamp.use_space(space)
        self._state = State(space.size, space.batch)
        law.remember(self._state, space)
        self._remembers = bool(self._state.names)
        if delay is not None:
            delay.remember(self._state, space, dt)
        self._raw, self._effort = space.zeros(), space.zeros()
        self._block = np.zeros((5, *space.shape), space.dtype)
        a, b, c, d, e = self._block
        self._rows: Inputs = (a, b, c, d, e)
        self._acted = [np.zeros(space.shape, np.int64) for _ in clamps]
        self.arrange()
        self._scatter: Scatter | None = None

    def arrange(self) -> None:
        """Decide which buffer each clamp writes: in turns, so that the last one is the effort."""
        buffers = (self._effort, self.space.zeros())
        turns = (buffers[(len(self.clamps) - 1 - k) % 2] for k in range(len(self.clamps)))
        applies = [clamp.apply for clamp in self.clamps]
        self._stages = tuple(zip(applies, self._acted, turns, strict=True))

    # What it is ---------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Everything remembered; changed in place."""
        return self._state

    @property
    def is_stateful(self) -> bool:
        """Whether anything is remembered from step to step."""
        return bool(self._state.names)

    @property
    def raw_effort(self) -> Array:
        """The law's effort of the last step, before clamps."""
        return self._raw.copy()

    @property
    def clamp_counts(self) -> list[npt.NDArray[np.int64]]:
        """For each clamp, in how many steps since the last reset it acted, per actuator."""
        return [count.copy() for count in self._acted]

    @property
    def executions(self) -> dict[str, Support]:
        """Which executions can run this, with the reason."""
        parts: list[Any] = [self.law, *([self.delay] if self.delay else []), *self.clamps]
        compiled = [why for p in parts if (why := p.why_not_compiled())]
        native = [why for p in parts if (why := p.why_not_native())]
        native = native or self._why_not_native_together()[:1]
        if self.space.dtype == np.float32:
            native.append("MuJoCo computes in float64")
            compiled.append("the kernel computes in float64")
        return {
            "python": Support(True, "the reference; runs anything"),
            "compiled": Support(not compiled, "; ".join(compiled) or "every part has a kernel"),
            "native": Support(
                not native,
                "; ".join(native) or "every part has a MuJoCo form",
                exact=not any(isinstance(clamp, DCMotor) for clamp in self.clamps),
            ),
        }

    def _why_not_native_together(self) -> list[str]:
        """Why parts that each have a MuJoCo form have none together."""
        motors = [c for c in self.clamps if isinstance(c, DCMotor)]
        rules = (
            (
                isinstance(self.law, PD) and bool(self.law._constant.any()),
                "a constant effort is not part of a MuJoCo actuator",
            ),
            (len(motors) > 1, "it has more than one DCMotor"),
            (
                bool(motors) and self.clamps[0] is not motors[0],
                "something is clamped before the DCMotor",
            ),
            (
                bool(motors) and isinstance(self.law, PID),
                "a dcmotor actuator uses its integral before it is updated",
            ),
            (
                any(not np.isfinite(m._limit).all() for m in motors),
                "its DCMotor has no velocity limit",
            ),
            (
                any((m._saturation <= 0.0).any() for m in motors),
                "its DCMotor has no saturation effort",
            ),
        )
        return [reason for holds, reason in rules if holds]

    def reset(self, mask: npt.ArrayLike | None = None) -> None:
        """Forget everything, or what belongs to the actuators of a bool mask.

        Raises:
            ValueError: the mask is not bool or has another shape.
        """
        self._state.reset(mask)
        if self.delay is not None:
            self.delay.draw(self._state, mask)
        chosen = self._state.mask(mask)
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
        """Effort after delay, law and clamps, shape (n,) or (batch, n), as an own copy.

        Raises:
            ValueError: a shape is wrong, a value is not finite, a target is missing that a gain
                needs, or dt is missing. Nothing was remembered.
        """
        inputs = self._inputs(q, qd, target_q, target_qd, feedforward, dt, custom_inputs)
        self.advance(*inputs, dt if dt is not None else 0.0)
        return self._effort.copy()

    def advance(
        self,
        q: Array,
        qd: Array,
        target_q: Array,
        target_qd: Array,
        feedforward: Array,
        dt: float,
        fresh: bool = True,
    ) -> Array:
        """One unchecked step on arrays of the right shape and type; returns the live buffer.

        `fresh` False: the setpoints are those of the last call. Where an effort is not finite, what
        that actuator remembers stays as it was.
        """
        state, law, raw, effort = self._state, self.law, self._raw, self._effort
        # 1. delay
        if self.delay is not None:
            law.command(*self.delay.pass_on(target_q, target_qd, feedforward, state, dt))
        elif fresh:
            law.command(target_q, target_qd, feedforward)
        # 2. law
        law.respond(q, qd, state, dt, raw)
        if self._remembers:
            law.advance(state, self._finite())
        # 3. clamps
        before = raw
        for apply, count, after in self._stages:
            apply(before, q, qd, after)
            if before.tobytes() != after.tobytes():
                np.add(count, before != after, out=count)
            before = after
        if not self._stages:
            effort[...] = raw
        return effort

    def _finite(self) -> npt.NDArray[np.bool_] | None:
        """Which raw efforts are finite; None: all."""
        raw = self._raw
        return None if isfinite(np.vdot(raw, raw)) else np.isfinite(raw)

    def _inputs(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        target_q: Input,
        target_qd: Input,
        feedforward: Input,
        dt: float | None,
        custom_inputs: Mapping[str, npt.ArrayLike] | None,
    ) -> Inputs:
        """The inputs, checked and copied into buffers of ours."""
        self.law.check_dt(dt)
        if self.delay is not None:
            self.delay.check_dt(dt)
        for name, gain in self.law.needs().items():
            if (target_q if name == "target_q" else target_qd) is None:
                raise ValueError(f"{name} is None but {gain} is not zero; give {name}")
        if custom_inputs or self.law.custom_names:
            self._take_custom(custom_inputs or {})
        given = (q, qd, target_q, target_qd, feedforward)
        shape = self.space.shape
        for row, value, name in zip(self._rows, given, _NAMES, strict=True):
            if value is None:
                row[...] = 0.0
            elif getattr(value, "shape", None) == shape:
                row[...] = value
            else:
                row[...] = self._array(name, value)
        block = self._block
        if not isfinite(np.vdot(block, block)):
            for row, name in zip(self._rows, _NAMES, strict=True):
                self._refuse_non_finite(name, row)
        return self._rows

    def _take_custom(self, inputs: Mapping[str, npt.ArrayLike]) -> None:
        names = self.law.custom_names
        missing, unknown = set(names) - set(inputs), set(inputs) - set(names)
        if missing:
            raise ValueError(f"custom_inputs must give {listed(sorted(missing))}")
        if unknown:
            raise ValueError(
                f"custom_inputs has {listed(sorted(unknown))}; "
                f"{type(self.law).__name__} takes {listed(names)}"
            )
        custom = {name: self._array(name, inputs[name]) for name in names}
        for name, array in custom.items():
            self._refuse_non_finite(name, array)
        self.law._custom = custom

    def _array(self, name: str, value: npt.ArrayLike) -> Array:
        array = np.asarray(value, dtype=self.space.dtype)
        if array.shape != self.space.shape:
            raise ValueError(f"{name} must have shape {self.space.shape}, got {array.shape}")
        return array

    def _refuse_non_finite(self, name: str, array: Array) -> None:
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            index = ", ".join(map(str, bad[0]))
            raise ValueError(f"{name}[{index}] is {array[tuple(bad[0])]}; must be finite")

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
        inputs = self._inputs(q, qd, target_q, target_qd, feedforward, dt, None)
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
        """`step_implicit` without the checks; returns an own array."""
        law, state = self.law, self._state
        if self.delay is not None:
            law.command(*self.delay.pass_on(target_q, target_qd, feedforward, state, dt))
        else:
            law.command(target_q, target_qd, feedforward)
        exact = law.implicit() is Implicit.EXACT
        if exact:
            law.respond(q, qd, state, dt, self._raw)
            law.advance(state, self._finite())
        wide = np.asarray(q, np.float64), np.asarray(qd, np.float64)
        raw, clamped = law_effort(law, state, self.clamps, *wide, dt, inverse_mass)
        if not exact:
            law.respond(q, qd, state, dt, self._raw)
            law.advance(state, self._finite())
        impulse, at_q, at_qd = solve_implicit(
            clamped, *wide, dt, inverse_mass, iterations=iterations, tolerance=tolerance
        )
        effort = self._raw[...] = raw(at_q, at_qd)
        for clamp, count in zip(self.clamps, self._acted, strict=True):
            before = effort.copy()
            clamp.apply(effort, at_q, at_qd, effort)
            np.add(count, before != effort, out=count)
        effort = impulse / dt
        for clamp in self.clamps:
            clamp.apply(effort, at_q, at_qd, effort)
        self._effort[...] = effort
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

        Nothing is remembered. A delayed target has no influence on this step: its slopes are those
        with respect to the command that arrives.

        Raises:
            NotImplementedError: the law or a clamp has no derivative (networks).
        """
        q_, qd_, *targets = self._inputs(q, qd, target_q, target_qd, feedforward, dt, None)
        saved = self._state.save()
        raw, effort = self._raw.copy(), self._effort.copy()
        try:
            return self._slopes(q_, qd_, tuple(targets), dt if dt is not None else 0.0)
        finally:
            self._state.restore(saved)
            self._raw[...], self._effort[...] = raw, effort

    def _slopes(self, q: Array, qd: Array, targets: tuple[Array, ...], dt: float) -> Slopes:
        state = self._state
        target_q, target_qd, feedforward = targets
        if self.delay is not None:
            target_q, target_qd, feedforward = self.delay.pass_on(
                target_q, target_qd, feedforward, state, dt
            )
        effort = np.zeros_like(self._raw)
        self.law.compute(q, qd, target_q, target_qd, feedforward, state, dt, effort)
        slopes = self.law.slopes(state, dt)
        for clamp in self.clamps:
            slopes = _through(clamp, effort, q, qd, slopes)
            clamp.apply(effort, q, qd, effort)
        return slopes


def _through(clamp: Clamp, effort: Array, q: Array, qd: Array, slopes: Slopes) -> Slopes:
    """Slopes behind a clamp: the effort's own inside the bounds, the bound's where it holds."""
    low, high = (np.array(b) for b in clamp.bounds(q, qd))
    low_q, low_qd, high_q, high_qd = clamp.bound_slopes(q, qd)
    # min(max(τ, low), high): the upper bound has the last word.
    at_high, at_low = np.maximum(effort, low) > high, effort < low

    def pick(own: Array, at_lower: Array | float, at_upper: Array | float) -> Array:
        picked: Array = np.where(at_high, at_upper, np.where(at_low, at_lower, own))
        return picked

    return Slopes(
        pick(slopes.q, low_q, high_q),
        pick(slopes.qd, low_qd, high_qd),
        pick(slopes.target_q, 0.0, 0.0),
        pick(slopes.target_qd, 0.0, 0.0),
    )
