"""OneWorld: one world of a batch at a time, for terms that measure a single one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.motion import Motion
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import PropertyError
from mjrig.properties.hooks import check_filled

_MOTION = ("joint_pos", "joint_vel", "anchor_position", "anchor_quaternion")
_ROWS = ("position", "velocity", "target", "last", "command")


class OneWorld:
    """A view of a single world that shows one world of a batch after the other.

    It borrows the MjData of the batch's template, so that everything a term finds there, sensors
    and contacts too, is of the world that is shown. The batch must be persistent.
    """

    def __init__(self, many: View) -> None:
        self._many = many
        motion: Motion | None = None
        if many.motion is not None:
            motion = Motion(many.motion.joint_pos.shape[-1], many.motion.anchor, ())
        self.view = replace(
            many,
            data=many.robot.data,
            command=many.command[0].copy(),
            motion=motion,
            steps=0,
            worlds=0,
        )

    def show(self, world: int) -> None:
        """Make the view that of a world."""
        many, one = self._many, self.view
        many.data.get_data(world, one.data)
        one.steps = int(many.steps[world])
        for name in _ROWS:
            getattr(one, name)[...] = getattr(many, name)[world]
        if one.motion is not None:
            for name in _MOTION:
                getattr(one.motion, name)[...] = getattr(many.motion, name)[world]


class WorldByWorld:
    """Copies of a term, one for each world of a batch, which are measured one after the other."""

    def __init__(self, term: ObservationTerm, many: View, one: OneWorld) -> None:
        self._many, self._one = many, one
        self._terms = [term.copy() for _ in range(many.count)]
        self.size = 0
        parent, role, inside = (term.__dict__[k] for k in ("_parent", "_role", "_inside"))
        for copy in self._terms:
            copy.own(parent, role, inside)  # messages have the label of the original
            self.size = _size(copy, one.view)

    def measure(self, out: FloatArray) -> None:
        """Write the values of the worlds that tick."""
        for world in self._many.ticking:
            self._one.show(world)
            row = out[world]
            result = self._terms[world].measure(row)
            if result is not None:
                check_filled(self._terms[world], "measure", result, row)

    def restart(self) -> None:
        """Clear the memory of the worlds that are reset."""
        for world in self._many.ticking:
            self._terms[world].restart()


#: What the observer calls of a term: its measurement, and the start of another run.
Calls = tuple[int, Callable[[FloatArray], Any], Callable[[], Any]]


def connected(term: ObservationTerm, view: View, one: OneWorld | None) -> Calls:
    """Connect a term: how many values it has, how it measures them, and how it starts over."""
    if view.worlds and not term.over_worlds:
        assert one is not None
        many = WorldByWorld(term, view, one)
        return many.size, many.measure, many.restart

    def measure(out: FloatArray) -> None:
        result = term.measure(out)
        if result is not None:
            check_filled(term, "measure", result, out)

    return _size(term, view), measure, term.restart


def _size(term: ObservationTerm, view: View) -> int:
    """Connect a term; the number of its values."""
    size = term.connect(view)
    if not isinstance(size, int | np.integer):
        raise PropertyError(
            f"{term.label}: {type(term).__name__}.connect returned {size!r}; "
            "return the number of values"
        )
    return int(size)
