"""ObservationTerm: one part of an observation, with noise, bias, interval and delay."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mjrig.components.policies.terms.property_kinds import Limits
from mjrig.components.policies.terms.view import View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError
from mjrig.core.names import suggestion
from mjrig.core.properties.collection_kinds import Numbers
from mjrig.core.properties.component import Component
from mjrig.core.properties.hooks import default_hook, fills, required
from mjrig.core.properties.memory import DeclaredMemory, memory_of, restore_memory
from mjrig.core.properties.scalar_kinds import Choice, Int, Text

# Sampling -----------------------------------------------------------------------------------------


class NoiseKind(StrEnum):
    """Distribution of noise."""

    UNIFORM = "uniform"
    GAUSSIAN = "gaussian"


#: Numbers that are drawn at a time, about: a call of the generator costs as much as some hundred.
_DRAWN = 512


class Sampling(DeclaredMemory):
    """Takes measurements as an imperfect sensor does: measured + bias + noise, held, delayed.

    A new sample is taken every `interval` ticks and held in between; what is given is the sample
    of `delay` ticks ago, or the first one as long as there is none so old.

    Args:
        view: whose worlds they are; each has random numbers and a memory of its own.
        noise: amplitude of each value, of the noise of every sample.
        bias: amplitude of each value; drawn uniformly from ± at every reset.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_lines",)

    def __init__(
        self,
        view: View,
        noise: FloatArray,
        kind: NoiseKind,
        bias: FloatArray,
        interval: int,
        delay: int,
    ) -> None:
        self._view = view
        self._lines = [_Line(noise, kind, bias, interval, delay) for _ in range(view.count)]

    def reset(self, keys: Sequence[tuple[int, ...]]) -> None:
        """Start over in the worlds that are reset; keys choose the random stream of each world."""
        for world in self._view.ticking:
            self._lines[world].reset(keys[world])

    def take(self, measure: Callable[[FloatArray], None], out: FloatArray) -> None:
        """Write what the policy gets in this tick."""
        view, lines = self._view, self._lines
        if not view.worlds:
            if lines[0].samples:
                measure(out)
            lines[0].pass_on(out)
            return
        sampled = [world for world in view.ticking if lines[world].samples]
        if sampled:
            with view.only(sampled):
                measure(out)
        for world in view.ticking:
            lines[world].pass_on(out[world])


class _Line(DeclaredMemory):
    """The samples of one world."""

    _remembered: ClassVar[tuple[str, ...]] = ("_ticks", "_ring", "_bias", "_stream")

    def __init__(
        self, noise: FloatArray, kind: NoiseKind, bias: FloatArray, interval: int, delay: int
    ) -> None:
        self._noise, self._kind, self._amplitude = noise, kind, bias
        self._noisy, self._biased = bool(noise.any()), bool(bias.any())
        self._interval = interval
        self._ring = np.zeros((delay + 1, noise.size))
        self._bias = np.zeros(noise.size)
        self._block = max(1, _DRAWN // max(1, noise.size))
        self.reset((0,))

    def reset(self, key: tuple[int, ...]) -> None:
        """Start over: the random stream from its beginning, and a new bias from it."""
        self._random = np.random.default_rng(key)
        self._ticks = 0
        if self._biased:
            self._bias[:] = self._random.uniform(-self._amplitude, self._amplitude)
        #: Noise drawn ahead, how much of it was given, and the generator in front of it.
        self._drawn: FloatArray = np.zeros((0, self._noise.size))
        self._used, self._state = 0, self._random.bit_generator.state

    @property
    def samples(self) -> bool:
        """Whether a sample is taken in this tick."""
        return self._ticks % self._interval == 0

    def pass_on(self, out: FloatArray) -> None:
        """Replace what was measured, if a sample is taken, by what the policy gets."""
        ring, newest = self._ring, self._ticks % len(self._ring)
        if self.samples:
            if self._biased:
                out += self._bias
            if self._noisy:
                out += self._next_noise()
            if self._ticks == 0:
                ring[:] = out
            ring[newest] = out
        else:
            ring[newest] = ring[newest - 1]
        self._ticks += 1
        out[:] = ring[self._ticks % len(ring)]

    def _next_noise(self) -> FloatArray:
        if self._used == len(self._drawn):
            self._draw()
        self._used += 1
        noise: FloatArray = self._drawn[self._used - 1]
        return noise

    def _draw(self) -> None:
        """Draw for some samples, with the numbers that one by one would give."""
        random, size = self._random, (self._block, self._noise.size)
        self._state, self._used = random.bit_generator.state, 0
        if self._kind is NoiseKind.UNIFORM:
            self._drawn = random.uniform(-self._noise, self._noise, size)
        else:
            self._drawn = random.normal(0.0, self._noise, size)

    @property
    def _stream(self) -> tuple[Any, int]:
        """The generator before the noise that was drawn ahead, and how much of that was used."""
        return self._state, self._used

    @_stream.setter
    def _stream(self, stream: tuple[Any, int]) -> None:
        self._state, used = stream
        self._random.bit_generator.state = self._state
        self._drawn, self._used = self._drawn[:0], 0
        if used:
            self._draw()
            self._used = used


# Term ---------------------------------------------------------------------------------------------


class Order(StrEnum):
    """Order of scale and clip."""

    SCALE_FIRST = "scale_then_clip"
    CLIP_FIRST = "clip_then_scale"


class Shaping(NamedTuple):
    """What happens to the values of a term after sampling, one number per value."""

    scale: FloatArray
    low: FloatArray
    high: FloatArray
    clips_first: bool


class ObservationTerm(Component):
    """One part of an observation: `value = clip(scale · sampled)`, or clip first.

    A subclass returns its size and writes its measurement. The rest is applied in this order:
    bias and noise, interval, delay, scale and clip, history.
    """

    scale = Numbers(1.0, doc="Factor: one number, or one per value.")
    clip = Limits(each=True, doc="Clip bound: c for ±c, or [low, high].")
    order = Choice(Order.SCALE_FIRST, doc="Order of scale and clip.")
    input = Text("", doc="Network input that takes it; empty: that of the observation.")
    history = Int(0, min=0, max=1000, doc="Values kept, this one included; 0: as the observation.")
    noise = Numbers(
        0.0,
        category="Sampling",
        doc="Noise of every sample, before scale and clip: ± this, or its standard deviation; "
        "one number, or one per value.",
    )
    noise_kind = Choice(
        NoiseKind.UNIFORM,
        category="Sampling",
        doc="uniform: evenly in ±noise; gaussian: noise is the standard deviation.",
    )
    bias = Numbers(
        0.0,
        category="Sampling",
        doc="A constant error, drawn evenly from ± this at every reset; one number, or one per "
        "value.",
    )
    interval = Int(
        1,
        min=1,
        max=100_000,
        unit="ticks",
        category="Sampling",
        doc="Ticks from one sample to the next; held in between.",
    )
    delay = Int(
        0, min=0, max=1000, unit="ticks", category="Sampling", doc="Age of the sample it gives."
    )

    #: Private attributes that change from tick to tick; without them `memory` must be written.
    _remembered: ClassVar[tuple[str, ...]] = ()
    #: Whether it reads what MuJoCo derives from the state: frames, lengths.
    needs_position_stage: ClassVar[bool] = False
    #: Whether it measures the worlds of a batch at once, indexing from the end (`[..., i]`); else
    #: a batch has a copy of it for each world, one after the other.
    over_worlds: ClassVar[bool] = False

    @required()
    def connect(self, view: View) -> int:
        """Resolve names in the model, keep `view`, and return how many values it has.

        Raises:
            BindingError: a name is not in the model.
        """
        raise NotImplementedError

    @required()
    @fills("out")
    def measure(self, out: FloatArray) -> None:
        """Write the values of this tick, in SI units, before scale and clip: (…, values)."""
        raise NotImplementedError

    def image_size(self) -> tuple[int, int] | None:
        """Hook: rows and columns of what it gives, row by row; None: it is no image."""
        return None

    def restart(self) -> None:
        """Hook: the world was reset; clear all memory."""

    def rays(self) -> FloatArray:
        """Hook: rays of the last measurement, for pictures: (n, 2, 3), start and end [m]."""
        return np.zeros((0, 2, 3))

    @default_hook
    def memory(self) -> Any:
        """Hook: what `restore` needs to continue bit-exactly, as a copy."""
        return memory_of(self)

    @default_hook
    def restore(self, memory: Any) -> None:
        """Hook: restore what `memory` returned."""
        restore_memory(self, memory)

    def validate(self) -> None:
        for name in ("noise", "bias"):
            if np.any(getattr(self, name) < 0.0):
                raise self.property_named(name).error(self, "must be >= 0: it is an amplitude")

    # Sampling -----------------------------------------------------------------------------------

    @property
    def sampling_signature(self) -> tuple[object, ...]:
        """What must agree for `sampling_memory` to be restored."""
        return self.interval, self.delay, self._sampling is None

    def restart_sampling(self, keys: Sequence[tuple[int, ...]]) -> None:
        """Start noise, bias and delay over, from the random streams of the worlds' `keys`."""
        if self._sampling is not None:
            self._sampling.reset(keys)

    @property
    def sampling(self) -> Sampling | None:
        """Noise, bias, interval and delay; None: measurements are used as they are."""
        return self._sampling

    def _made_sampling(self, size: int, view: View) -> Sampling | None:
        """The sampling, or None where measurements are taken as they are."""
        noise = self._spread_over_values("noise", self.noise, size)
        bias = self._spread_over_values("bias", self.bias, size)
        if self.interval == 1 and self.delay == 0 and not noise.any() and not bias.any():
            return None
        return Sampling(view, noise, self.noise_kind, bias, self.interval, self.delay)

    # Scale and clip -----------------------------------------------------------------------------

    def shape(self, size: int, view: View) -> Shaping:
        """Spread scale, clip, noise and bias over the values.

        Raises:
            BindingError: a list of the wrong length.
        """
        self._sampling = self._made_sampling(size, view)
        scale = self._spread_over_values("scale", self.scale, size)
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        if self.clip is not None and not isinstance(self.clip, str):
            low = self._spread_over_values("clip", self.clip[0], size)
            high = self._spread_over_values("clip", self.clip[1], size)
        return Shaping(scale, low, high, self.order is Order.CLIP_FIRST)

    def _spread_over_values(self, name: str, values: FloatArray, size: int) -> FloatArray:
        if values.ndim and values.size != size:
            raise BindingError(
                f"{self.label}.{name}: must have {size} values, one per value of the term, "
                f"got {values.size}"
            )
        return np.broadcast_to(values, (size,)).astype(np.float64)

    def sampled(self, measure: Callable[[FloatArray], None]) -> Callable[[FloatArray], None]:
        """A measurement with noise, bias, interval and delay; itself where there are none."""
        sampling = self._sampling
        return measure if sampling is None else partial(sampling.take, measure)


def missing(term: ObservationTerm, what: str, name: str, names: Any) -> BindingError:
    """The error for a name the model does not have."""
    return BindingError(f"{term.label}: there is no {what} {name!r}; {suggestion(name, names)}")
