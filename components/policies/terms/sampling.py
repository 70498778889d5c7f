"""Sampling: noise, bias, interval and delay of what a term measures."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray


class NoiseKind(StrEnum):
    """Distribution of noise."""

    UNIFORM = "uniform"
    GAUSSIAN = "gaussian"


class Sampling:
    """Takes measurements as an imperfect sensor does: measured + bias + noise, held, delayed.

    A new sample is taken every `interval` ticks and held in between; what is given is the sample
    of `delay` ticks ago, or the first one as long as there is none so old.

    Args:
        noise: amplitude of each value, of the noise of every sample.
        bias: amplitude of each value; drawn uniformly from ± at every reset.
        key: numbers that choose the random stream; the same ones give the same draws.
    """

    def __init__(
        self,
        noise: FloatArray,
        kind: NoiseKind,
        bias: FloatArray,
        interval: int,
        delay: int,
        key: tuple[int, ...],
    ) -> None:
        self._noise, self._kind, self._amplitude = noise, kind, bias
        self._noisy, self._biased = bool(noise.any()), bool(bias.any())
        self._interval = interval
        self._ring = np.zeros((delay + 1, noise.size))
        self._bias = np.zeros(noise.size)
        self.reset(key)

    def reset(self, key: tuple[int, ...]) -> None:
        """Start over: the random stream from its beginning, and a new bias from it."""
        self._random = np.random.default_rng(key)
        self._ticks = 0
        if self._biased:
            self._bias[:] = self._random.uniform(-self._amplitude, self._amplitude)

    def take(self, measure: Callable[[FloatArray], None], out: FloatArray) -> None:
        """Write what the policy gets in this tick."""
        ring, newest = self._ring, self._ticks % len(self._ring)
        if self._ticks % self._interval == 0:
            measure(out)
            self._disturb(out)
            if self._ticks == 0:
                ring[:] = out
            ring[newest] = out
        else:
            ring[newest] = ring[newest - 1]
        self._ticks += 1
        out[:] = ring[self._ticks % len(ring)]

    def _disturb(self, out: FloatArray) -> None:
        out += self._bias
        if not self._noisy:
            return
        if self._kind is NoiseKind.UNIFORM:
            out += self._random.uniform(-self._noise, self._noise)
        else:
            out += self._random.normal(0.0, self._noise)

    def memory(self) -> Any:
        """What `restore` needs, as a copy."""
        state = self._random.bit_generator.state
        return self._ticks, self._ring.copy(), self._bias.copy(), state

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""
        self._ticks, ring, bias, state = memory
        self._ring[:], self._bias[:] = ring, bias
        self._random.bit_generator.state = state
