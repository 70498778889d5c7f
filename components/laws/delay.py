"""Delay: commands reach the law after a number of steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.laws.equations import arriving_row
from mjrig.components.laws.pipeline_arrays import Array, PipelineSpace, State
from mjrig.components.laws.tracing import Symbol, TracedProgram, UpdateStage
from mjrig.core.errors import PropertyError
from mjrig.core.properties.collection_kinds import Vector
from mjrig.core.properties.component import Component
from mjrig.core.properties.per_actuator import PerActuator, PerActuatorInput
from mjrig.core.properties.scalar_kinds import Int

#: No step has computed the lags yet.
UNSETTLED = object()
MAX_STEPS = 10_000
#: Arrays of a pipeline's state that belong to its delay.
DELAY_STATE = ("delay_ring", "delay_count", "delay_head", "delay_lags", "delay_random")


class Delay(Component):
    """The law at step t receives the command of step t − N; before there is one, the oldest.

    N per actuator: `steps`, or `seconds` rounded to steps, or drawn from `random` = [least, most]
    at every reset. Position, velocity and feedforward are delayed together.
    """

    steps = PerActuator(
        constant=0.0, min=0.0, max=MAX_STEPS, finite=True, whole=True, unit="steps",
        category="Delay",
        doc="Delay in control steps.",
    )  # fmt: skip
    seconds = PerActuator(
        constant=0.0, min=0.0, finite=True, unit="s", category="Delay",
        doc="Delay in seconds instead of steps; rounded to control steps.",
    )  # fmt: skip
    random = Vector(
        [0.0, 0.0], min=0.0, max=MAX_STEPS, unit="steps", category="Delay",
        doc="Minimum and maximum steps of a delay drawn at every reset, instead of steps.",
    )  # fmt: skip
    seed = Int(0, min=0, category="Delay", doc="Random seed of the drawn delays.")
    max_steps = Int(
        0, min=0, max=MAX_STEPS, unit="steps", category="Delay",
        doc="Longest delay to reserve memory for, so that steps may grow live; 0: as needed.",
    )  # fmt: skip

    def __init__(
        self,
        steps: PerActuatorInput = None,
        *,
        seconds: PerActuatorInput = None,
        random: Sequence[int] | None = None,
        seed: int = 0,
        max_steps: int | None = None,
    ) -> None:
        given = {"steps": steps, "seconds": seconds, "random": random, "max_steps": max_steps}
        super().__init__(seed=seed, **{n: v for n, v in given.items() if v is not None})

    def prepare(self) -> None:
        self._space: PipelineSpace | None = None
        self._settled: object = UNSETTLED
        self._in_seconds = self._is_random = False
        self._arrived: Array = np.zeros((3, 0))

    def validate(self) -> None:
        ways = [n for n in ("steps", "seconds", "random") if self.is_authored(n)]
        if len(ways) > 1:
            raise PropertyError(f"{self.label}: has {' and '.join(ways)}; give one", (ways[1],))
        low, high = self.random
        if low > high or low != int(low) or high != int(high):
            raise PropertyError(
                f"{self.label}.random: must be whole numbers, least first, got [{low:g}, {high:g}]",
                ("random",),
            )

    def on_change(self, names: tuple[str, ...]) -> None:
        self._in_seconds = self.is_authored("seconds")
        self._is_random = self.is_authored("random")
        self._settled = UNSETTLED  # the lags are computed again with the next step

    # Lags ---------------------------------------------------------------------------------------

    def check_dt(self, dt: float | None) -> None:
        """Refuse to run without the dt it needs.

        Raises:
            ValueError: the delay is in seconds and there is no dt.
        """
        if self._in_seconds and (dt is None or not dt > 0.0):
            raise ValueError(f"a delay in seconds needs dt, the time of a step [s]; got {dt}")

    def lags(self, dt: float | None, state: State | None = None) -> npt.NDArray[np.int64]:
        """Delay of each actuator in steps of dt; random ones are those of a state.

        Raises:
            ValueError: the delay is in seconds and there is no dt.
        """
        self.check_dt(dt)
        if self._is_random and state is not None:
            return state.delay_lags.astype(np.int64)
        if self._in_seconds:
            # Half a step is rounded up, whatever the last bit of the quotient.
            steps = np.floor(self.seconds / (dt or 1.0) + 0.5 + 1e-9)
            if steps.max(initial=0.0) > MAX_STEPS:
                raise PropertyError(
                    f"{self.label}.seconds: must be at most {MAX_STEPS} steps, got "
                    f"{steps.max():g} of {dt:g} s",
                    ("seconds",),
                )
            return steps.astype(np.int64)
        return self.steps.astype(np.int64)

    def depth(self, dt: float | None) -> int:
        """The longest possible delay in steps."""
        if self._is_random:
            longest = int(self.random[1])
        elif self._in_seconds and dt is None:
            longest = 0
        else:
            longest = int(self.lags(dt).max(initial=0))
        if self.max_steps and longest > self.max_steps:
            raise PropertyError(
                f"{self.label}: a delay of {longest} steps is above max_steps {self.max_steps}",
                ("max_steps",),
            )
        return max(longest, self.max_steps)

    # Memory -------------------------------------------------------------------------------------

    def remember(self, state: State, space: PipelineSpace, dt: float | None) -> None:
        """Register the ring of past commands, empty."""
        self._space = space
        self._rows = self.depth(dt) + 1
        self._settled = UNSETTLED
        self._arrived = np.zeros((3, *space.shape), space.dtype)
        state.fit = self.fitted
        state.add("delay_ring", np.zeros((self._rows, 3, *space.shape), space.dtype))
        state.add("delay_count", np.zeros(space.shape, np.int64))
        state.add("delay_head", np.zeros(1, np.int64), kept=True)
        state.add("delay_lags", np.zeros(space.shape, np.int64))
        state.add("delay_random", np.zeros(1, np.uint64), kept=True)
        self.draw(state, None)

    def draw(self, state: State, mask: npt.ArrayLike | None) -> None:
        """Draw new random delays for the actuators of a mask."""
        if not self._is_random:
            return
        chosen = state.mask(mask)
        count = int(state.delay_random[0])
        generator = np.random.default_rng([self.seed, count])
        low, high = (int(v) for v in self.random)
        drawn = generator.integers(low, high + 1, size=chosen.shape)
        np.copyto(state.delay_lags, drawn, where=chosen)
        state.delay_random[0] = count + 1
        self._settled = UNSETTLED

    def grow(self, state: State, dt: float | None) -> None:
        """Make room for longer delays, keeping the past commands."""
        self._make_room(state, self.depth(dt) + 1)

    def _make_room(self, state: State, rows: int) -> None:
        if rows <= self._rows:
            return
        ring = _resized(state.delay_ring, int(state.delay_head[0]), rows)
        state.add("delay_ring", ring)
        np.minimum(state.delay_count, self._rows, out=state.delay_count)
        self._rows = rows

    def take_over(self, state: State, other: "Delay", past: State) -> None:
        """Keep the past commands of a delay that this one replaces, as an edit of it would."""
        self._make_room(state, len(past.delay_ring))
        names = ["delay_ring", "delay_count", "delay_head"]
        if self._is_random and other._is_random:
            names += ["delay_lags", "delay_random"]
        for name, values in self.fitted({name: getattr(past, name) for name in names}).items():
            getattr(state, name)[...] = values
        self._settled = UNSETTLED

    def recall(self, state: State, pasts: Sequence[Array], *, started: bool) -> None:
        """Take over past commands that were kept elsewhere: (count, 3) each, oldest first."""
        ring, head = state.delay_ring, int(state.delay_head[0])
        for i, past in enumerate(pasts):
            ages = np.arange(self._rows)
            ring[(head - ages) % self._rows, :, i] = past[np.maximum(len(past) - 1 - ages, 0)]
        state.delay_count[:] = self._rows - 1 if started else 0
        self._settled = UNSETTLED

    def past(self, state: State, actuator: int, count: int) -> Array:
        """The last commands of one actuator, (count, 3), oldest first; the reverse of `recall`."""
        oldest = max(int(state.delay_count[actuator]) - 1, 0)
        ages = np.minimum(np.arange(count)[::-1], oldest)
        ring: Array = state.delay_ring[(int(state.delay_head[0]) - ages) % self._rows, :, actuator]
        return ring

    def fitted(self, saved: Mapping[str, npt.NDArray[Any]]) -> Mapping[str, npt.NDArray[Any]]:
        """A saved state with a ring of the present length, which may have changed since then."""
        if "delay_ring" not in saved or len(saved["delay_ring"]) == self._rows:
            return saved
        old, head = saved["delay_ring"], int(saved["delay_head"][0])
        count = np.minimum(saved["delay_count"], min(len(old), self._rows) - 1)
        return {**saved, "delay_ring": _resized(old, head, self._rows), "delay_count": count}

    # Run ----------------------------------------------------------------------------------------

    @property
    def arriving(self) -> tuple[Array, Array, Array]:
        """The last position, velocity and feedforward to arrive: always the same arrays."""
        return self._arrived[0], self._arrived[1], self._arrived[2]

    def pass_on(
        self, target_q: Array, target_qd: Array, feedforward: Array, state: State, dt: float | None
    ) -> None:
        """Push a command and output the one that is due."""
        if self._settled != (dt, state.version):
            self._settle(state, dt)
        ring, rows = state.delay_ring, self._rows
        head = (int(state.delay_head[0]) + 1) % rows
        state.delay_head[0] = head
        newest = ring[head]
        newest[0], newest[1], newest[2] = target_q, target_qd, feedforward
        if self._common_lag is not None:
            self._arrived[...] = ring[arriving_row(head, self._common_lag, rows)]
            return
        for operation in self._find_entries:
            operation()
        ring.reshape(-1).take(self._entries, None, self._arrived, "clip")
        if self._is_filling:
            count = state.delay_count
            np.minimum(count + 1, rows - 1, out=count)
            if (count == rows - 1).all():
                self._settled = UNSETTLED

    def _settle(self, state: State, dt: float | None) -> None:
        """Prepare what holds until a delay, the tick or the memory changes, or the ring is full."""
        self.grow(state, dt)
        rows, count, head = self._rows, state.delay_count, state.delay_head
        lags = np.broadcast_to(self.lags(dt, state), count.shape)
        self._is_filling = bool((count < rows - 1).any())
        first = int(lags.flat[0]) if lags.size else 0
        is_common = not self._is_filling and bool((lags == first).all())
        self._common_lag = first if is_common else None
        # While actuators have fewer commands than their delay, they take their oldest one.
        oldest: Any = Symbol.of(count)
        reached = np.minimum(lags, oldest) if self._is_filling else lags
        size = 3 * count.size
        entries = arriving_row(Symbol.of(head), reached, rows) * size
        calls, (self._entries,) = TracedProgram(
            [entries + np.arange(size).reshape(3, *count.shape)]
        ).bind({})
        self._find_entries = calls[UpdateStage.STEP]
        self._settled = (dt, state.version)

    def why_not_compiled(self) -> str:
        """Why the delay has no compiled form; empty if it has."""
        return ""

    def why_not_native(self) -> str:
        """Why the delay has no MuJoCo form; empty if it has."""
        return "a random delay is drawn in Python" if self._is_random else ""


def _resized(old: npt.NDArray[Any], head: int, rows: int) -> npt.NDArray[Any]:
    """Another ring with the newest commands: row `head − age` holds the one `age` steps old."""
    ring = np.zeros((rows, *old.shape[1:]), old.dtype)
    for age in range(min(len(old), rows)):
        ring[(head - age) % rows] = old[(head - age) % len(old)]
    return ring
