"""Blocks of a fit: what moves together and meets nothing else, such as a leg of a held robot.

Costs, steps and variances are of blocks: a joint that fits badly neither keeps joints of other
blocks from converging nor widens their intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.tuning.least_squares.points import Point, Unknown
from mjrig.tuning.simulated.fit_data import Places

#: A point, and its residuals per window.
Trial = tuple[Point, list[FloatArray]]


@dataclass(frozen=True)
class Block:
    """Unknowns by index, and columns of positions and velocities, of residuals as of states."""

    unknowns: Places
    columns: Places

    def among(self, measured: int) -> Places:
        """Its columns that are among the first so many."""
        return self.columns[self.columns < measured]

    def cost(self, residuals: Sequence[FloatArray], weights: Sequence[FloatArray]) -> float:
        """Sum of squares in units of the noise; infinite for a simulation that diverged."""
        total = 0.0
        for r, w in zip(residuals, weights, strict=True):
            own = self.among(r.shape[1])
            total += float(np.square(r[:, own] * w[own]).sum())
        return total if np.isfinite(total) else np.inf


class Blocks:
    """All blocks of a problem.

    Args:
        unknowns: of the problem.
        trees: (dofs,) the block of each degree of freedom, by any number.
        own: likewise of each unknown.
        shapes: samples and measured columns of each window.
        precision, centre: (unknowns,) what is assumed of them beforehand.

    Attributes:
        of_unknown: (unknowns,) the block of each.
        sizes: (blocks,) the number of residuals of each.
    """

    def __init__(
        self,
        unknowns: Sequence[Unknown],
        trees: Any,
        own: Sequence[int],
        shapes: Sequence[tuple[int, int]],
        precision: FloatArray,
        centre: FloatArray,
    ) -> None:
        self._unknowns, self._precision, self._centre = unknowns, precision, centre
        half, found = len(trees), []
        for tree in dict.fromkeys(trees.tolist()):
            dofs = np.flatnonzero(trees == tree)
            members = np.flatnonzero(np.array(own) == tree)
            found.append(Block(members, np.concatenate([dofs, dofs + half])))
        self._blocks = tuple(found)
        self.of_unknown = np.zeros(len(unknowns), dtype=np.intp)
        for k, block in enumerate(found):
            self.of_unknown[block.unknowns] = k
        counts = [sum(n * len(b.among(m)) for n, m in shapes) for b in found]
        self.sizes = np.array(counts, dtype=np.float64)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Block:
        return self._blocks[index]

    def of_dof(self, dof: int) -> int:
        """The block of a degree of freedom."""
        return next(k for k, block in enumerate(self._blocks) if dof in block.columns)

    def costs(
        self, point: Point, residuals: Sequence[FloatArray], weights: Sequence[FloatArray]
    ) -> FloatArray:
        """(blocks,) sums of squares in units of the noise, and what priors add."""
        away = point.get(self._unknowns) - self._centre
        assumed = self._precision * away**2 if len(away) else away
        found = [b.cost(residuals, weights) + assumed[b.unknowns].sum() for b in self._blocks]
        return np.array(found)

    def merged(
        self,
        point: Point,
        residuals: list[FloatArray],
        trials: Sequence[Trial],
        picks: Sequence[int | None],
    ) -> Trial:
        """Every block from the trial that is picked for it; None: as it is at `point`."""
        if len(set(picks)) == 1:
            return (point, residuals) if picks[0] is None else trials[picks[0]]
        moves, left = point.moves.copy(), [r.copy() for r in residuals]
        for block, pick in zip(self._blocks, picks, strict=True):
            if pick is None:
                continue
            other, found = trials[pick]
            own = [self._unknowns[i] for i in block.unknowns]
            point = point.put(own, other.get(own))
            moves[:, block.columns] = other.moves[:, block.columns]
            for mine, theirs in zip(left, found, strict=True):
                columns = block.among(mine.shape[1])
                mine[:, columns] = theirs[:, columns]
        return replace(point, moves=moves), left

    def best_starts(self, ways: Sequence[Trial], weights: Sequence[FloatArray]) -> Trial:
        """Of trials that differ in initial states, the best one for each window and block."""
        point, residuals = ways[0]
        moves, left = point.moves.copy(), [r.copy() for r in residuals]
        for w, weight in enumerate(weights):
            for block in self._blocks:
                costs = [block.cost([r[w]], [weight]) for _, r in ways]
                other, found = ways[int(np.argmin(costs))]
                columns = block.among(left[w].shape[1])
                moves[w, block.columns] = other.moves[w, block.columns]
                left[w][:, columns] = found[w][:, columns]
        return replace(point, moves=moves), left
