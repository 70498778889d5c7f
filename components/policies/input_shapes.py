"""Shapes of a network's inputs: vectors, and images of several frames."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.policy_file import PolicyFile


@dataclass(frozen=True)
class Image:
    """What a term gives that is a picture: frames of rows and columns."""

    frames: int
    rows: int
    columns: int

    def __str__(self) -> str:
        frames = f"{self.frames} frames of " if self.frames > 1 else ""
        return f"{frames}{self.rows} rows and {self.columns} columns"


@dataclass(frozen=True)
class InputShape:
    """How the values of an input become its array; `frames_last`: frames are the last axis."""

    sizes: tuple[int, ...]
    frames_last: bool = False

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array that the network takes."""
        if not self.frames_last:
            return values.reshape(self.sizes)
        *_, rows, columns, frames = self.sizes
        turned = np.moveaxis(values.reshape(frames, rows, columns), 0, -1)
        return np.ascontiguousarray(turned).reshape(self.sizes)


def images_of(said: PolicyFile) -> dict[str, Image]:
    """The images of a policy file by the input that each feeds alone."""
    length = 1 if said.observation is None else said.observation.kept.length
    found: dict[str, Image] = {}
    for term in said.terms:
        alone = [other.input for other in said.terms].count(term.input) == 1
        size = term.image_size()
        if size is not None and term.input and alone:
            found[term.input] = Image(term.history or length, *size)
    return found


def input_shape(declared: Sequence[Any], count: int, image: Image | None) -> InputShape | None:
    """How `count` values fill an input; None: they do not.

    Sizes that are not numbers are free: the first stands for one world, another one for whatever
    is left. An image must be given as such, or flat.

    Args:
        declared: shape in the file.
        count: number of values.
        image: what they are, if they are one.
    """
    free = [i for i, size in enumerate(declared) if not isinstance(size, int)]
    for sizes, last in _candidates(declared, count, image, free):
        fits = len(sizes) == len(declared) and prod(sizes) == count
        if fits and all(i in free or declared[i] == size for i, size in enumerate(sizes)):
            return InputShape(sizes, last)
    return None


def _candidates(
    declared: Sequence[Any], count: int, image: Image | None, free: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], bool]]:
    if image is not None:
        frames, rows, columns = image.frames, image.rows, image.columns
        yield (1, frames, rows, columns), False
        yield (frames, rows, columns), False
        yield (1, frames, 1, rows, columns), False
        yield (1, rows, columns, frames), True
        if frames == 1:
            yield (1, rows, columns), False
            yield (rows, columns), False
        yield (1, count), False
        yield (count,), False
        return
    sizes = [1 if i in free else int(size) for i, size in enumerate(declared)]
    yield tuple(sizes), False
    # One size may be inferred: the last free one, since the first is the number of worlds.
    if free and count % max(prod(sizes), 1) == 0 and prod(sizes):
        sizes[free[-1]] = count // prod(sizes)
        yield tuple(sizes), False
