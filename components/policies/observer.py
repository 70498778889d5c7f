"""Observer: assembles the observation vector from terms and their histories."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_parts import HistoryBy, HistoryFill, HistoryOrder
from mjrig.components.policies.terms.view import Float32, Indices, View
from mjrig.errors import BindingError


class Observer:
    """Builds the observation of every tick.

    `seed` chooses the random numbers of the terms' noise and bias; the same after every reset.

    One buffer holds the frames of the last ticks, oldest first; the observation is a fixed
    selection of it, whatever the order of histories.

    Raises:
        BindingError: a term does not find what it names, or histories do not fit.
    """

    def __init__(self, said: PolicyFile, view: View) -> None:
        assert said.observation is not None
        self.seed = 0
        self._terms, recipe = said.terms, said.observation
        self._kept = kept = recipe.kept
        sizes = [term.connect(view) for term in self._terms]
        for term, size in zip(self._terms, sizes, strict=True):
            term.shape(size)
        ends = np.cumsum([0, *sizes])
        self._frame = np.zeros(int(ends[-1]))
        self._parts = [self._frame[a:b] for a, b in pairwise(ends)]
        lengths = [term.history or kept.length for term in self._terms]
        depth = max(lengths)
        if kept.ticks.size:
            depth = max(depth, int(kept.ticks.max()) + 1)
        self._history: Float32 = np.zeros((depth, self._frame.size), dtype=np.float32)
        self._flat = self._history.reshape(-1)
        self._select = self._selection(ends, lengths)
        self._clip = recipe.clip if not isinstance(recipe.clip, str) else None
        self.vector: Float32 = np.zeros(self._select.size, dtype=np.float32)
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
        depth, width = self._history.shape
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
        """Clear the history."""
        self._history[:] = 0.0
        self._empty = self._kept.fill is HistoryFill.FIRST
        for place, term in enumerate(self._terms):
            term.restart()
            term.restart_sampling((self.seed, place))

    def look(self) -> Float32:
        """The observation of this tick; the same array every time."""
        for term, part in zip(self._terms, self._parts, strict=True):
            term.value(part)
        frame, history = self._frame, self._history
        if self._clip is not None:
            np.clip(frame, *self._clip, out=frame)
        if self._empty:
            history[:] = frame
            self._empty = False
        else:
            if len(history) > 1:
                history[:-1] = history[1:]
            history[-1] = frame
        # With another mode `take` would use a buffer; the places are known to be valid.
        self._flat.take(self._select, out=self.vector, mode="clip")
        return self.vector

    def signature(self) -> object:
        """What must agree for a memory to be restored."""
        return self.vector.size, tuple(term.sampling_signature for term in self._terms)

    def memory(self) -> Any:
        """What `restore` needs, as a copy."""
        terms = [(term.memory(), term.sampling_memory()) for term in self._terms]
        return self._history.copy(), self._empty, self.vector.copy(), terms

    def restore(self, memory: Any) -> None:
        """Restore what `memory` returned."""
        history, self._empty, vector, terms = memory
        self._history[:], self.vector[:] = history, vector
        for term, (own, sampling) in zip(self._terms, terms, strict=True):
            term.restore(own)
            term.restore_sampling(sampling)
