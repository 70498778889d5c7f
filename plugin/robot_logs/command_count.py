"""Which of the commands that were sent evenly each one of a table is, by the smoothest count.

A table that shows some commands twice and misses others does not say how many lie between two. But
a command that is counted wrongly lies off the curve of those before it, by as much as the motion
goes on in one period. So all ways to count are compared: each has a filter that follows its curve,
and of the ways that give a command the same number the likeliest goes on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import factorial

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray

#: Commands that a row can show: one that seems to be sent only afterwards, and the last few.
YOUNGER, CANDIDATES = 1, 4
#: Youngest ages that are tried, in parts of the period.
PHASES = 6
#: What ages cost that cannot be, by their square in periods, at most; and any that differ.
ODD, ODDEST, DRIFT = 20.0, 15.0, 0.02
#: What a command costs at most that lies on no curve.
WORST = 100.0
#: How far from multiples of the period commands are sent, as a share of it, and how much the motion
#: changes, as a share of its speed per period: of these the likeliest.
JITTERS, CHANGES = (0.03, 0.1), (2e-3, 1e-2, 5e-2, 0.2)
#: Derivatives of the curve that a filter follows, its position included.
STATES = 4
#: What is known of them at first, as shares of the speed per period.
AT_FIRST = (0.1, 2.0, 0.7, 0.3)
#: Steps between two commands that are told apart.
FARTHEST = 64
#: So many joints tell enough.
TELLING = 16
#: Counts of all commands that are tried on either side of the best at first, and further on.
MISCOUNTED, FURTHER = 2, 8
#: Share of the commands that may be shown before they seem to be sent, by jitter.
YOUNGEST = 0.02
#: Commands in a row about which counting forwards and backwards must agree.
AGREED = 10

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """Commands are `period` apart [s]; the first of the table was shown `youngest` periods after
    the youngest that it could have shown."""

    period: float
    youngest: float


@dataclass(frozen=True)
class Evenness:
    """How even commands are sent, and how fast their curve changes (`JITTERS`, `CHANGES`)."""

    jitter: float
    change: float


@dataclass(frozen=True)
class _Way:
    """A way to count: its cost, and the number of each command."""

    grid: Grid
    cost: float
    numbers: FloatArray


USUAL = tuple(Evenness(JITTERS[-1], change) for change in CHANGES)


class Counting:
    """Counts the commands of a table.

    Args:
        shown: (n,) when each is first shown [s].
        curve: (n, joints) their values.
        rate: time between rows [s].
    """

    def __init__(self, shown: FloatArray, curve: FloatArray, rate: float) -> None:
        fastest = np.argsort((np.diff(curve, axis=0) ** 2).sum(axis=0))[-TELLING:]
        self._since, self._rate = shown - shown[0], rate
        self._curve = curve[:, fastest]
        squares = (np.gradient(self._curve, shown, axis=0) ** 2).sum(axis=1)
        around = np.convolve(np.pad(squares, 4, mode="edge"), np.ones(9) / 9.0, mode="valid")
        #: (n,) squared speed around each command.
        self._speed = around + 1e-9 * around.max() + 1e-300

    def in_all(self, count: float) -> FloatArray:
        """(n,) numbers, if there are about so many periods from the first to the last."""
        near = round(count) + np.arange(-MISCOUNTED, MISCOUNTED + 1.0)
        tried = self._likeliest(near[near > 0.0].tolist())
        for _ in range(FURTHER):
            best = min(tried, key=lambda c: tried[c].cost)
            if min(tried) < best < max(tried) or best <= 1.0:
                break
            tried |= self._likeliest([best - 1.0 if best == min(tried) else best + 1.0])
        return self._refined(min(tried.values(), key=lambda way: way.cost))

    def every(self, period: float) -> FloatArray:
        """(n,) numbers of commands that are sent with a period [s]."""
        (way,) = self._likeliest([float(self._since[-1]) / period]).values()
        return self._refined(way)

    def _likeliest(self, counts: Iterable[float]) -> dict[float, _Way]:
        """Periods from the first to the last → the likeliest way to count with so many."""
        lasts, found = float(self._since[-1]), {}
        tried = [(c, phase / PHASES, e) for c in counts for phase in range(PHASES) for e in USUAL]
        grids = [Grid(lasts / c, youngest) for c, youngest, _ in tried]
        costs, numbers = self._ways(grids, [e for *_, e in tried])
        for k in np.argsort(-costs).tolist():
            found[float(tried[k][0])] = _Way(grids[k], float(costs[k]), numbers[k])
        return found

    def _refined(self, way: _Way) -> FloatArray:
        """The likeliest numbers, forwards and backwards: at its first commands a filter errs."""
        period, ages = evenly(self._since, way.numbers)
        better = [way.grid, Grid(period, -float(ages[0]) / period)]
        tried = [(g, Evenness(j, c)) for g in better for j in JITTERS for c in CHANGES]
        costs, forwards = self._ways([g for g, _ in tried], [m for _, m in tried])
        best = int(np.argmin(costs))
        _, backwards = self._ways([tried[best][0]], [tried[best][1]], backwards=True)
        return _joined(backwards[0], forwards[best])

    def _ways(
        self, grids: list[Grid], motions: list[Evenness], *, backwards: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """(b,) costs and (b, n) numbers of the likeliest ways to count, one for each grid."""
        numbers, odd = self._candidates(grids)
        order = slice(None, None, -1) if backwards else slice(None)
        sign = -1.0 if backwards else 1.0
        period = np.array([g.period for g in grids])
        speed = self._speed[order, None] * period**2
        filters = _Filters(self._curve[order], speed, motions)
        costs, found = filters.least((sign * numbers)[order], odd[order])
        return costs, sign * found[:, order]

    def _candidates(self, grids: list[Grid]) -> tuple[FloatArray, FloatArray]:
        """(n, b, candidates) numbers, and what they cost by themselves."""
        period = np.array([g.period for g in grids])
        age = self._since[:, None] / period - np.array([g.youngest for g in grids])
        latest = np.floor(age + 0.5)
        back = np.arange(CANDIDATES) - YOUNGER
        late = (age - latest)[..., None] + back
        oldest = np.minimum(1.0, self._rate / period)[:, None]
        beyond = np.maximum(-late, 0.0) + np.maximum(late - oldest, 0.0)
        odd = np.minimum(ODD * beyond**2, ODDEST) + DRIFT * (late - 0.5 * oldest) ** 2
        return latest[..., None] - back, odd


class _Filters:
    """Kalman filters of a curve's derivatives, one for each candidate of each of b grids.

    All joints have one covariance (b, candidates, states, states), as a share of the squared speed.

    Args:
        curve: (n, joints).
        speed: (n, b) squared, per period.
    """

    def __init__(self, curve: FloatArray, speed: FloatArray, motions: list[Evenness]) -> None:
        self._curve, self._speed = curve, speed
        self._jitter = np.array([m.jitter for m in motions]) ** 2
        self._change = np.array([m.change for m in motions]) ** 2
        places = (len(motions), CANDIDATES)
        self._state = np.zeros((*places, STATES, curve.shape[1]))
        self._state[..., 0, :] = curve[0]
        self._spread = np.zeros((*places, STATES, STATES))
        self._spread[...] = np.diag(np.square(AT_FIRST[:STATES]))

    def least(self, numbers: FloatArray, odd: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(b,) least costs, and (b, n) the numbers that have them.

        Args:
            numbers: (n, b, candidates).
            odd: what each costs by itself.
        """
        every = np.arange(len(self._jitter))
        total, before = odd[0], []
        for k in range(1, len(numbers)):
            steps = numbers[k][:, None, :] - numbers[k - 1][:, :, None]
            total, came = self._follow(k, steps, total)
            total = total + odd[k]
            before.append(came)
        at = np.argmin(total, axis=1)
        costs: FloatArray = total[every, at]
        found = [numbers[-1][every, at]]
        for came, own in zip(reversed(before), numbers[-2::-1], strict=True):
            at = came[every, at]
            found.append(own[every, at])
        return costs, np.array(found[::-1]).T

    def _follow(self, k: int, steps: FloatArray, total: FloatArray) -> tuple[FloatArray, Ints]:
        """Costs up to command k, and from which candidate of the one before each comes.

        Args:
            steps: (b, from, to) periods since then.
            total: (b, from) costs so far.
        """
        onward, noise = _moves()
        far = np.clip(steps, 1, FARTHEST).astype(np.int64)
        moves = onward[far]
        ahead = np.einsum("bftij,bfjk->bftik", moves, self._spread, optimize=True)
        spread = (
            ahead @ moves.swapaxes(-1, -2) + self._change[:, None, None, None, None] * noise[far]
        )
        place = moves[..., 0, :] @ self._state
        off = self._curve[k] - place
        sure = spread[..., 0, 0] + self._jitter[:, None, None]
        miss = (off**2).sum(axis=-1) / (sure * self._speed[k][:, None, None])
        cost = total[..., None] + np.minimum(miss, WORST) + np.log(sure)
        cost = np.where(steps > 0.0, cost, np.inf)
        came = np.argmin(cost, axis=1)
        at = (np.arange(len(came))[:, None], came, np.arange(CANDIDATES))
        gain = spread[at][..., 0] / sure[at][..., None]
        state = moves[at] @ self._state[at[0], came]
        self._state = state + gain[..., None] * off[at][..., None, :]
        self._spread = spread[at] - gain[..., None] * spread[at][..., None, 0, :]
        return cost[at], came


@cache
def _moves() -> tuple[FloatArray, FloatArray]:
    """(steps, states, states): how derivatives go on, and the spread that white changes cause."""
    steps = np.arange(FARTHEST + 1.0)
    onward = np.zeros((len(steps), STATES, STATES))
    noise = np.zeros_like(onward)
    for i in range(STATES):
        for j in range(i, STATES):
            onward[:, i, j] = steps ** (j - i) / factorial(j - i)
    for i in range(STATES):
        for j in range(STATES):
            a, b = STATES - 1 - i, STATES - 1 - j
            noise[:, i, j] = steps ** (a + b + 1) / (factorial(a) * factorial(b) * (a + b + 1))
    return onward, noise


def _joined(first: FloatArray, last: FloatArray) -> FloatArray:
    """One count up to the middle, another one after it: where both agree for a while."""
    agreed = np.convolve(first == last, np.ones(AGREED), mode="same") > AGREED - 0.5
    where = np.flatnonzero(agreed)
    if not len(where):
        return last
    cut = int(where[np.argmin(np.abs(where - len(last) // 2))])
    return np.concatenate([first[:cut], last[cut:]])


def evenly(shown: FloatArray, number: FloatArray) -> tuple[float, FloatArray]:
    """The period of commands with some numbers, and their ages, from the youngest.

    Of a line through all, ages would be deviations; but they fill a band above it: that with which
    the band is narrowest.
    """
    count = number[-1] - number[0]
    slope = float(np.polyfit(number, shown, 1)[0])
    tried = slope * (1.0 + np.linspace(-1.0, 1.0, 401) / count)
    ages = shown - shown[0] - tried[:, None] * (number - number[0])
    low, high = np.quantile(ages, [YOUNGEST, 1.0 - YOUNGEST], axis=1)
    best = int(np.argmin(high - low))
    found: FloatArray = ages[best] - low[best]
    return float(tried[best]), found
