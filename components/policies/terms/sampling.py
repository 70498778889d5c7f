"""Sampling: noise, bias, interval and delay of what a term measures."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.view import View
from mjrig.properties.declared_memory import DeclaredMemory


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
