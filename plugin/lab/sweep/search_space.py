"""Search space of a sweep: property paths, their values, and the points.

A parameter is named as in `--set`, `dog.PDController.kp`; brackets narrow a per-actuator property
to the actuators a pattern matches, `dog.PDController.kp[.*_calf]`, and leave the others alone.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.core.yaml_text.yaml_document import parse_value

METHODS = ("lhs", "random")
#: Most points; more are taken for a typo.
MAX_POINTS = 1_000_000
Point = dict[str, object]


@dataclass(frozen=True)
class Choices:
    """A parameter that takes each of some values."""

    name: str
    values: tuple[object, ...]

    @classmethod
    def read(cls, text: str) -> "Choices":
        """Read `PATH=a,b,c`, or `PATH=low:high:count[:log]` for evenly spaced numbers.

        Raises:
            PropertyError: it is neither.
        """
        name, said = _sides(text, "PATH=a,b,c or PATH=low:high:count")
        if ":" not in said or any(mark in said for mark in "[{\"'"):
            values = parse_value(f"[{said}]")
            if not isinstance(values, list) or not values:
                raise PropertyError(f"{name}: gives no values; write {name}=a,b,c")
            return cls(name, tuple(values))
        low, high, rest = _ends(name, said)
        log = "log" in rest
        counts = [word for word in rest if word != "log"]
        if len(counts) != 1 or not counts[0].isdigit() or int(counts[0]) < 2:
            raise PropertyError(
                f"{name}: write low:high:count with at least 2 values, or a,b,c; got {said!r}"
            )
        _check_ends(name, low, high, log)
        space = np.geomspace if log else np.linspace
        # Printed and read back, a value is the same: it is a whole part of the table's rows.
        return cls(name, tuple(float(v) for v in space(low, high, int(counts[0]))))


@dataclass(frozen=True)
class Range:
    """A parameter that takes any number of a range; `whole`: integers only."""

    name: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        _check_ends(self.name, self.low, self.high, self.log)
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise PropertyError(f"{self.name}: the ends must be whole numbers too")

    @classmethod
    def read(cls, text: str) -> "Range":
        """Read `PATH=low:high[:log][:int]`.

        Raises:
            PropertyError: it is something else.
        """
        name, said = _sides(text, "PATH=low:high")
        low, high, rest = _ends(name, said)
        for word in rest:
            if word not in ("log", "int"):
                raise PropertyError(
                    f"{name}: {word!r} is no option of a range; {suggestion(word, ('log', 'int'))}"
                )
        return cls(name, low, high, "log" in rest, "int" in rest)

    def at(self, share: float) -> float | int:
        """The value at a fraction of the range, 0 to below 1."""
        if self.whole:  # every whole number gets the same share
            if self.log:
                spread = math.log((self.high + 1.0) / self.low)
                return min(int(self.low * math.exp(share * spread)), int(self.high))
            return int(self.low) + int(share * (self.high - self.low + 1.0))
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + share * (self.high - self.low))


Parameter = Choices | Range


@dataclass(frozen=True)
class Space:
    """Parameters: every combination of the choices, with `samples` samples of the ranges each.

    Attributes:
        choices: parameters whose values are all taken.
        ranges: parameters that are sampled.
        samples: number of samples of the ranges.
        method: `lhs` (Latin hypercube) or `random`.
        seed: random seed for the samples.
    """

    choices: tuple[Choices, ...] = ()
    ranges: tuple[Range, ...] = ()
    samples: int = 0
    method: str = "lhs"
    seed: int = 0
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        parameters: list[Parameter] = [*self.choices, *self.ranges]
        names = tuple(p.name for p in parameters)
        object.__setattr__(self, "names", names)
        for name in names:
            if names.count(name) > 1:
                raise PropertyError(f"{name}: is given twice")
        if self.method not in METHODS:
            hint = suggestion(self.method, METHODS)
            raise PropertyError(f"unknown sampling method {self.method!r}; {hint}")

    def points(self) -> list[Point]:
        """All points, in a reproducible order.

        Raises:
            PropertyError: the space is empty, or too large.
        """
        if self.ranges and self.samples < 1:
            raise PropertyError(f"{self.ranges[0].name}: a range needs a number of samples")
        if self.samples and not self.ranges:
            raise PropertyError(f"{self.samples} samples but no range: give a range too")
        count = math.prod(len(c.values) for c in self.choices) * max(1, self.samples)
        if count > MAX_POINTS:
            raise PropertyError(f"the space has {count} points; at most {MAX_POINTS} are taken")
        combinations = itertools.product(*(c.values for c in self.choices))
        shares = self._shares()
        names = [c.name for c in self.choices]
        return [
            dict(zip(names, values, strict=True))
            | {r.name: r.at(float(s)) for r, s in zip(self.ranges, row, strict=True)}
            for values in combinations
            for row in shares
        ]

    def _shares(self) -> FloatArray:
        """(samples, ranges) numbers of [0, 1)."""
        random = np.random.default_rng(self.seed)
        shape = (max(1, self.samples), len(self.ranges))
        if self.method == "random":
            return random.random(shape)
        # Latin hypercube: one sample in each of n equal slices of every axis.
        slices = np.array([random.permutation(shape[0]) for _ in self.ranges]).reshape(shape[::-1])
        shares: FloatArray = (slices.T + random.random(shape)) / shape[0]
        return np.minimum(shares, np.nextafter(1.0, 0.0))


def _sides(text: str, form: str) -> tuple[str, str]:
    """The name and its value text; a pattern in brackets may contain `=` itself."""
    mark = "]=" if "]=" in text else "="
    name, equals, said = text.partition(mark)
    name = (name + mark[:-1]).strip()
    if not equals or not name or not said.strip():
        raise PropertyError(f"{text!r}: write {form}, as in dog.PDController.kp=20:80:4")
    return name, said.strip()


def _ends(name: str, said: str) -> tuple[float, float, Sequence[str]]:
    words = [word.strip() for word in said.split(":")]
    try:
        return float(words[0]), float(words[1]), words[2:]
    except (ValueError, IndexError):
        raise PropertyError(f"{name}: write low:high with two numbers, got {said!r}") from None


def _check_ends(name: str, low: float, high: float, log: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise PropertyError(
            f"{name}: low must be below high, both finite; got {low:g} and {high:g}"
        )
    if log and low <= 0.0:
        raise PropertyError(f"{name}: a logarithmic range begins above 0, got {low:g}")
