"""Randomisation: seeded draws of poses and scalars before the build, and of gains once bound."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.per_actuator import PerActuator
from mjrig.core.properties.scalar_kinds import Int
from mjrig.core.scene.scene_sections import Distribution, Operation, Randomise


@dataclass(frozen=True)
class Draw:
    """One random entry for one actor; drawing again gives the same numbers."""

    entry: Randomise
    rest: str
    seed: tuple[int, ...]
    #: Turns errors about it into SceneErrors with their place in the file.
    locating: Callable[[], AbstractContextManager[None]] = nullcontext

    def find(self, actor: HasProperties) -> tuple[HasProperties, str]:
        """The object and property it is about.

        Raises:
            PropertyError: there is none.
        """
        *parts, name = self.rest.split(".")
        for part in parts:
            actor = actor.part(part)
        actor.property_named(name)
        return actor, name

    def apply(self, actor: HasProperties) -> None:
        """Draw and assign.

        Raises:
            PropertyError: there is no such property, or it refuses the drawn value.
        """
        try:
            self._apply(actor)
        except PropertyError as error:
            raise PropertyError(f"{self.entry.path}: {error}", ("path",)) from error

    def _apply(self, actor: HasProperties) -> None:
        target, name = self.find(actor)
        prop, value = target.property_named(name), target.__dict__[name]
        random = np.random.default_rng(self.seed)
        if isinstance(value, Mapping) and value:
            drawn: Any = {key: float(self._drawn(random, v)) for key, v in value.items()}
        else:
            try:
                array = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                array = np.array(np.nan)
            if not array.size or not np.isfinite(array).all():
                raise PropertyError(
                    f"{target.label}.{name} is not numeric and cannot be drawn, got {value!r}"
                )
            drawn = self._drawn(random, array).tolist()
            drawn = round(drawn) if isinstance(prop, Int) else drawn
        prop.assign(target, drawn)

    def _drawn(self, random: np.random.Generator, now: Any) -> FloatArray:
        entry = self.entry
        value: FloatArray = np.asarray(now, dtype=float)
        sample: FloatArray
        try:
            if entry.distribution is Distribution.NORMAL:
                sample = np.asarray(random.normal(entry.mean, entry.deviation, value.shape))
            else:
                sample = np.asarray(random.uniform(entry.low, entry.high, value.shape))
        except ValueError:
            sizes = {np.size(v) for v in (entry.low, entry.high, entry.mean, entry.deviation)}
            raise PropertyError(
                f"{entry.label}: gives {max(sizes)} numbers for {value.size} values"
            ) from None
        if entry.operation is Operation.SET:
            return sample
        return value * sample if entry.operation is Operation.SCALE else value + sample


def draws(entry: Randomise, names: Sequence[str], seed: tuple[int, ...]) -> list[tuple[int, Draw]]:
    """(index, draw) of every actor an entry matches.

    Raises:
        PropertyError: its path does not begin with a pattern that matches an actor.
    """
    return [(k, Draw(entry, rest, (*seed, k))) for k, rest in _matches(entry, names)]


@pattern_budget()
def _matches(entry: Randomise, names: Sequence[str]) -> list[tuple[int, str]]:
    """(actor index, rest of the path) of an entry; its actor pattern may have dots itself."""
    parts = entry.path.split(".")
    for cut in range(1, len(parts)):
        pattern, rest = ".".join(parts[:cut]), ".".join(parts[cut:])
        try:
            fullmatch = compile_pattern(pattern).fullmatch
        except ValueError:
            continue
        found = [(k, rest) for k, name in enumerate(names) if fullmatch(name)]
        if found:
            return found
    raise PropertyError(
        f"{entry.label}.path: {entry.path!r} names no actor; "
        f"write actor.component.property; {suggestion(parts[0], names)}",
        ("path",),
    )


def is_for_bound(draw: Draw, actor: HasProperties) -> bool:
    """Whether a draw is per actuator and must wait until the actuators are known.

    Raises:
        PropertyError: the actor has no such property.
    """
    try:
        target, name = draw.find(actor)
    except PropertyError as error:
        raise PropertyError(f"{draw.entry.path}: {error}", ("path",)) from error
    return isinstance(target.property_named(name), PerActuator)
