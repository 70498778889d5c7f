"""Observer: assembles the observation vector from terms and their histories."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.policy_file import HistoryBy, HistoryFill, HistoryOrder, PolicyFile
from mjrig.components.policies.terms.property_kinds import Range
from mjrig.components.policies.terms.term import ObservationTerm, Shaping
from mjrig.components.policies.terms.view import Float32, Indices, Motion, View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.properties.hooks import check_filled
from mjrig.core.properties.memory import DeclaredMemory

# One world ----------------------------------------------------------------------------------------

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


# Observer -----------------------------------------------------------------------------------------


class Observer(DeclaredMemory):
    """Builds the observation of every tick.

    `seeds` choose the random numbers of the terms' noise and bias, one for each world; the same
    after every reset.

    One buffer holds the frames of the last ticks, oldest first; the observation is a fixed
    selection of it, whatever the order of histories. Without histories it is the frame itself.
    In a batch all of it has the worlds as its first axis.

    Raises:
        BindingError: a term does not find what it names, or histories do not fit.
    """

    _remembered: ClassVar[tuple[str, ...]] = (
        "_history", "_empty", "_some_empty", "vector", "_terms", "_samplings"
    )  # fmt: skip

    def __init__(self, policy: PolicyFile, view: View) -> None:
        assert policy.observation is not None
        self.seeds = [0] * view.count
        self._view = view
        self._terms, recipe = policy.terms, policy.observation
        self._kept = kept = recipe.kept
        one = OneWorld(view) if view.worlds and needs_one_world(self._terms) else None
        calls = [connected(term, view, one) for term in self._terms]
        sizes = [size for size, _, _ in calls]
        self._restarts = [restart for _, _, restart in calls]
        shapings = [t.shape(size, view) for t, size in zip(self._terms, sizes, strict=True)]
        self._samplings = [term.sampling for term in self._terms]
        self._shape = _shape_of(shapings, recipe.clip)
        ends = np.cumsum([0, *sizes])
        self._frame = view.zeros(int(ends[-1]))
        #: How each term measures, and where to.
        self._measures = [
            (term.sampled(measure), self._frame[..., a:b])
            for term, (_, measure, _), (a, b) in zip(
                self._terms, calls, pairwise(ends), strict=True
            )
        ]
        lengths = [term.history or kept.length for term in self._terms]
        depth = max(lengths)
        if kept.ticks.size:
            depth = max(depth, int(kept.ticks.max()) + 1)
        width = int(ends[-1])
        self._depth, self._width = depth, width
        self._history: Float32 = view.zeros(depth, width).astype(np.float32)
        self._flat = self._history.reshape(*self._frame.shape[:-1], depth * width)
        self._select = self._selection(ends, lengths)
        self._is_frame = depth == 1 and np.array_equal(self._select, np.arange(width))
        self.vector: Float32 = view.zeros(self._select.size).astype(np.float32)
        #: Worlds whose first frame fills the history.
        self._empty: npt.NDArray[np.bool_] = np.zeros(view.count, np.bool_)
        self._some_empty = False
        names = [type(term).__name__ for term in self._terms]
        #: The inputs of the network that terms name → places in the observation.
        self.inputs = self._named_inputs(sizes, lengths)
        #: The parts of the observation by name, with the number of values of each.
        self.parts: dict[str, int] = {}
        for name, size, length in zip(names, sizes, lengths, strict=True):
            key = f"{name} {size} × {length} =" if length > 1 else name
            while key in self.parts:
                key = f"and {key}"
            self.parts[key] = size * length
        self.reset()

    def _named_inputs(self, sizes: list[int], lengths: list[int]) -> dict[str, Indices]:
        if not any(term.input for term in self._terms):
            return {}
        found: dict[str, list[Any]] = {}
        start = 0
        for names, own in self._blocks():
            size = sum(sizes[i] * lengths[i] for i in own)
            found.setdefault(names, []).append(np.arange(start, start + size, dtype=np.intp))
            start += size
        return {name: np.concatenate(parts) for name, parts in found.items() if name}

    def _blocks(self) -> list[tuple[str, list[int]]]:
        """Terms whose values lie together, by the input they feed: one each, or frames of all."""
        if self._kept.by is not HistoryBy.FRAME:
            return [(term.input, [i]) for i, term in enumerate(self._terms)]
        found: dict[str, list[int]] = {}
        for i, term in enumerate(self._terms):
            found.setdefault(term.input, []).append(i)
        return list(found.items())

    def _selection(self, ends: Any, lengths: list[int]) -> Indices:
        """Places in the flattened buffer, in the order the network sees them."""
        depth, width = self._depth, self._width
        newest_first = self._kept.order is HistoryOrder.NEWEST_FIRST
        chosen = self._kept.ticks.astype(np.intp)

        def ticks(length: int) -> Iterable[int]:
            if chosen.size and length == chosen.size:
                return [depth - 1 - int(tick) for tick in chosen]
            return range(depth - 1, depth - 1 - length, -1) if newest_first else range(
                depth - length, depth
            )  # fmt: skip

        places = []
        for name, own in self._blocks():
            if len({lengths[i] for i in own}) > 1:
                of = f" of the input {name!r}" if name else ""
                raise BindingError(
                    f"policy.observation.history: by: frame needs one length for all terms{of}, "
                    f"got {', '.join(str(lengths[i]) for i in own)}"
                )
            places += [
                row * width + np.arange(ends[i], ends[i + 1])
                for row in ticks(lengths[own[0]])
                for i in own
            ]
        return np.concatenate(places).astype(np.intp)

    def reset(self) -> None:
        """Clear the history of the worlds that are reset."""
        view = self._view
        self._history[view.due] = 0.0
        self._empty[list(view.ticking)] = self._some_empty = self._kept.fill is HistoryFill.FIRST
        for place, (term, restart) in enumerate(zip(self._terms, self._restarts, strict=True)):
            restart()
            term.restart_sampling([(seed, place) for seed in self.seeds])

    def look(self) -> Float32:
        """The observation of this tick; the same array every time."""
        for measure, part in self._measures:
            measure(part)
        for shape in self._shape:
            shape(self._frame, out=self._frame)
        if self._is_frame:
            self._view.keep(self.vector, self._frame)
            return self.vector
        self._remember()
        # With another mode `take` would use a buffer; the places are known to be valid.
        if self._view.due is ...:
            self._flat.take(self._select, axis=-1, out=self.vector, mode="clip")
        else:
            self._view.keep(self.vector, self._flat.take(self._select, axis=-1))
        return self.vector

    def _remember(self) -> None:
        """Put the frame at the end of the history; the first one fills it."""
        view, history, frame = self._view, self._history, self._frame
        if self._depth > 1:
            if view.due is ...:
                history[..., :-1, :] = history[..., 1:, :]
            else:
                history[view.due, :-1] = history[view.due, 1:]
        view.keep(history[..., -1, :], frame)
        if self._some_empty:
            rows = history.reshape(-1, self._depth, self._width)
            for world in view.ticking:
                if self._empty[world]:
                    rows[world] = rows[world, -1]
                    self._empty[world] = False
            self._some_empty = bool(self._empty.any())

    def signature(self) -> object:
        """What must agree for a memory to be restored."""
        return self.vector.shape, tuple(term.sampling_signature for term in self._terms)


def needs_one_world(terms: Iterable[ObservationTerm]) -> bool:
    """Whether a batch has to show the worlds one by one to some of these terms."""
    return not all(term.over_worlds for term in terms)


def _shape_of(shapings: Sequence[Shaping], limits: Range | str | None) -> list[Callable[..., Any]]:
    """What is applied to a whole frame: clip, scale, clip, and the clip of all, where needed.

    A factor of 1 and infinite limits change nothing, so that one call serves all terms.
    """
    scale = np.concatenate([s.scale for s in shapings])
    found: list[Callable[..., Any]] = []

    def clip(first: bool) -> None:
        own = [s.clips_first is first for s in shapings]
        sides = [
            np.concatenate(
                [getattr(s, side) if mine else np.full(s.scale.size, end)
                 for s, mine in zip(shapings, own, strict=True)]
            )
            for side, end in (("low", -np.inf), ("high", np.inf))
        ]  # fmt: skip
        if np.isfinite(sides).any():
            found.append(partial(np.clip, a_min=sides[0], a_max=sides[1]))

    clip(True)
    if np.any(scale != 1.0):
        found.append(partial(np.multiply, scale))
    clip(False)
    if limits is not None and not isinstance(limits, str):
        found.append(partial(np.clip, a_min=limits[0], a_max=limits[1]))
    return found
