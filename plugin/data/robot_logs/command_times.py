"""When the commands of a table were sent, if its rows hold only the latest command.

A logger with a separate clock repeats some commands and misses others, and the one in a row may
be as old as the time between two. Held from row to row, they would be late by a different time in
each row. If they follow a smooth curve, each lies on it at the time it was sent. The times that
make the curve smoothest are estimated; they are multiples of the period of the commands. Missed
commands are interpolated on the curve.

The table does not show how many commands lie between two rows. A command that is counted wrongly
lies off the curve of those before it, by as much as the motion changes in one period. All counts
are compared: each has a filter that follows its curve, and of the counts that give a command the
same number the likeliest is continued.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, columns_of
from mjrig.data.robot_logs.resampling import curved_at, derived

# Command count ------------------------------------------------------------------------------------
# Which of the commands that were sent evenly each one of a table is, by the smoothest count.
#
# A table that shows some commands twice and misses others does not say how many lie between two.
# But a command that is counted wrongly lies off the curve of those before it, by as much as the
# motion goes on in one period. So all ways to count are compared: each has a filter that follows
# its curve, and of the ways that give a command the same number the likeliest goes on.


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


# Command ages -------------------------------------------------------------------------------------
# When the commands of a table were sent, which says only which one was the latest at each row.
#
# A logger with a clock of its own repeats some commands and misses others, and the one it shows may
# be as old as the time between two. Held from row to row, they would come too late by another
# time in each row. Where they follow a smooth curve, that shows: each lies on it at the time it
# was sent. So the times are found that make the curve smoothest, and what they are multiples of
# is the period of the commands; those that were missed are put on the curve.


#: Commands that are looked at together, and of these the ones at either end that tell less.
BLOCK, EDGE = 64, 8
#: Commands that are taken to have one period and phase.
CHUNK = 1000
#: Commands on each side of one, whose polynomial says where it should lie.
REACH = 3
#: Weight of the assumption that all are of one age, as a share of the commands' own.
RIDGE = 5e-3
#: Commands come no closer to each other than this share of their usual distance.
CLOSEST = 0.05
#: Where commands are off the curve by more than this many times the usual, the curve has a kink.
KINK = 8.0
#: Ages differ by this share of the time between rows either way, and by this one of the period
#: from those of commands that are sent evenly.
OLDER, UNEVEN, UNEVEN_RMS = 0.7, 1.1, 0.15
#: Rounds of the search for ages.
ROUNDS = 16
#: Periods that are tried, as shares of the mean time between commands.
PERIODS = np.geomspace(1.25, 0.15, 400)
#: Steps between commands are multiples of a period: mean cosine of their phase, at least.
IN_STEP = 0.5
#: A period that explains the steps this much as well as a shorter one is the period, or one of so
#: many next to it.
AS_GOOD, NEARBY = 0.95, 12
#: Parts of a period that are tried, if steps are multiples of them by this share as clearly; a
#: curve is as smooth as another one by this share.
PARTS, POSSIBLE, ALIKE = 4, 0.5, 0.6
#: Share of rows that repeat a command from which on periods are this share of a row, at least.
REPEATED, CLOSE = 0.05, 0.9
#: Share of the possible ages that are not taken for the oldest, which is known a little too young.
OLDEST = 0.95
#: A curve that free ages do not make smoother than this is one already, or none.
HOPELESS = 0.6
#: The curve must be so much smoother, and ages must differ by this share of the period.
SMOOTHER, VARY = 0.05, 0.05
#: Ages may exceed what they can be by this share, for jitter.
SLACK = 1.6
#: So many commands in a row may be missed.
MOST_MISSED = 8
#: More commands are left as they are: to look at them would need a copy of the table.
LONGEST = 100_000

_SIDES = np.array([k for k in range(-REACH, REACH + 1) if k])


@dataclass(frozen=True)
class Sent:
    """Commands at the times they were sent.

    Attributes:
        time: (n,) [s], the missed ones included.
        values: (n, joints).
        shown: (n,) when the table shows each [s].
        period: the usual time between two [s].
        missed: how many were put on the curve between others.
        earlier: all may have been sent by up to this much earlier [s].
    """

    time: FloatArray
    values: FloatArray
    shown: FloatArray
    period: float
    missed: int
    earlier: float


def sent_commands(time: FloatArray, values: FloatArray) -> Sent | None:
    """The commands of a table, each once; None: nothing shows when they were sent.

    Args:
        time: (rows,) [s], increasing.
        values: (rows, joints) position setpoints.
    """
    is_new = changes(values)
    if not BLOCK <= int(is_new.sum()) <= LONGEST:
        return None
    shown, curve = time[is_new], np.asarray(values[is_new], np.float64)
    if not np.isfinite(curve).all():
        return None
    rate = float(np.median(np.diff(time)))
    # A row after another one that repeats its command is there before the next one is sent.
    is_repeated = float(1.0 - is_new.mean()) > REPEATED
    found = _in_parts(shown, curve, rate, CLOSE * rate if is_repeated else 0.0)
    if found is None:
        return None
    ages, period, oldest = found.ages, found.period, found.oldest
    # Blocks may disagree about neighbours; no two are sent at once.
    order = CLOSEST * period * np.arange(len(shown))
    sent = np.asarray(np.maximum.accumulate(shown - ages - order) + order, dtype=np.float64)
    times, rows = _with_missed(sent, period)
    seen = np.interp(rows, np.arange(len(sent)), shown)
    between = np.empty((len(times), curve.shape[1]))
    curved_at(sent, curve, derived(sent, curve, ()), times, between)
    earlier = max(min(period, rate) - oldest, 0.0)
    return Sent(times, between, seen, period, len(times) - len(sent), earlier)


def changes(values: FloatArray) -> npt.NDArray[np.bool_]:
    """The rows of a table that differ from the one before; the first does."""
    found = np.ones(len(values), dtype=np.bool_)
    found[1:] = False
    for column in columns_of(values):
        found[1:] |= column[1:] != column[:-1]
    return found


@dataclass(frozen=True)
class _Timed:
    """Ages of some commands, almost the oldest of them, the period [s], and what is left rough."""

    ages: FloatArray
    oldest: float
    period: float
    roughness: float


def _in_parts(shown: FloatArray, curve: FloatArray, rate: float, least: float) -> _Timed | None:
    """Ages of all commands, by parts that have one period and phase; None: most tell nothing."""
    edges = np.linspace(0, len(shown), max(len(shown) // CHUNK, 1) + 1).astype(int)
    spans = [slice(a, b) for a, b in pairwise(edges)]
    parts: list[_Timed | None] = []
    for span in spans:
        period = next((p.period for p in parts if p is not None), None)
        parts.append(_timed(shown[span], curve[span], rate, least, period))
    known = [p for p in parts if p is not None]
    if 2 * len(known) <= len(parts):
        return None
    # Where nothing tells, commands are as old as others.
    typical = float(np.median(np.concatenate([p.ages for p in known])))
    each = [
        np.full(s.stop - s.start, typical) if p is None else p.ages
        for s, p in zip(spans, parts, strict=True)
    ]
    period = float(np.median([p.period for p in known]))
    oldest, roughness = (
        max(v) for v in zip(*((p.oldest, p.roughness) for p in known), strict=True)
    )
    return _Timed(np.concatenate(each), oldest, period, roughness)


def _timed(
    shown: FloatArray, curve: FloatArray, rate: float, least: float, known: float | None
) -> _Timed | None:
    """Ages with which commands are multiples of a period apart; None: there is none.

    Args:
        least: how long the period is, at least [s].
        known: the period, if other commands have told it.
    """
    counting = Counting(shown, curve, rate)
    if known is not None:
        return _told(shown, curve, rate, counting.every(known))
    ages = _ages(shown, curve, np.zeros(len(shown)), OLDER * rate)
    if _roughness(shown - ages, curve) > HOPELESS * _roughness(shown, curve):
        return None
    found = [
        _told(shown, curve, rate, counting.in_all(count))
        for count in _counts(np.diff(shown - ages), least)
    ]
    told = [one for one in found if one is not None]
    if not told:
        return None
    smoothest = min(one.roughness for one in told)
    # The longest period that explains the curve: of its parts they are multiples, too.
    return next(one for one in told if ALIKE * one.roughness <= smoothest)


def _told(shown: FloatArray, curve: FloatArray, rate: float, number: FloatArray) -> _Timed | None:
    """Ages of commands with some numbers; None: these do not make the curve smooth."""
    period, even = evenly(shown, number)
    most = min(period, rate)
    if not VARY * period < float(np.quantile(even, 1.0 - YOUNGEST)) < SLACK * most:
        return None
    before, after = (_roughness(t, curve) for t in (shown, shown - even))
    ages = even
    # Commands that are sent with jitter lie on the curve where they were sent.
    own = _ages(shown, curve, even, UNEVEN * period)
    smoothest = _roughness(shown - own, curve)
    if smoothest < ALIKE * after and float(np.std(own - even)) < UNEVEN_RMS * period:
        ages, after = own, smoothest
    if after >= SMOOTHER * before:
        return None
    # Older ones than can be are behind rows that were lost.
    possible = ages[ages < most * (1.0 + YOUNGEST)]
    oldest = float(np.quantile(possible, OLDEST)) if len(possible) else most
    return _Timed(ages, oldest, period, after)


def _counts(steps: FloatArray, least: float) -> list[int]:
    """How many periods steps between commands are in all; empty: they are multiples of none.

    That of the longest period that they are multiples of, then of its parts.

    Args:
        least: how long a period is, at least [s].
    """
    tried = float(np.mean(steps)) * PERIODS
    scores = np.cos(2.0 * np.pi * steps / tried[:, None]).mean(axis=1)
    if scores.max() < IN_STEP:
        return []
    first = int(np.argmax(scores > AS_GOOD * scores.max()))
    near = slice(first, first + NEARBY)
    period = float(tried[near][np.argmax(scores[near])])
    parts = period / np.arange(1, PARTS + 1)
    parts = parts[parts >= min(least, period)]
    again = np.cos(2.0 * np.pi * steps / parts[:, None]).mean(axis=1)
    return [int(np.round(steps / p).sum()) for p in parts[again > POSSIBLE * again[0]]]


def _ages(shown: FloatArray, curve: FloatArray, expected: FloatArray, reach: float) -> FloatArray:
    """Ages near those expected with which the commands lie on the smoothest curve.

    They differ from those expected by `reach` at most.
    """
    firsts = np.unique([*range(0, len(shown) - BLOCK, BLOCK - 2 * EDGE), len(shown) - BLOCK])
    rows = firsts[:, None] + np.arange(BLOCK)
    shift, usual = np.zeros(rows.shape), float(np.median(np.diff(shown)))
    for k in range(ROUNDS):
        time = shown[rows] - expected[rows] - shift
        slopes = np.stack(
            [np.gradient(c, t, axis=0) for c, t in zip(curve[rows], time, strict=True)]
        )
        off, changes = _off_curve(time, curve[rows], slopes)
        miss = np.sqrt((off**2).mean(axis=2))
        far = KINK * float(np.median(miss)) + 1e-300 if k >= ROUNDS // 2 else np.inf
        trust = 1.0 / np.hypot(1.0, miss / far)[..., None]
        off, changes = trust * off, trust[..., None] * changes
        square = np.einsum("bkjn,bkjm->bnm", changes, changes, optimize=True)
        ridge = RIDGE**2 * (slopes**2).sum(axis=(1, 2)) / BLOCK + 1e-300
        square[:, range(BLOCK), range(BLOCK)] += ridge[:, None]
        right = -np.einsum("bkjn,bkj->bn", changes, off, optimize=True) - ridge[:, None] * shift
        move = np.linalg.solve(square, right[..., None])[..., 0]
        move = np.clip(shift + move, -reach, reach) - shift
        shift = shift + _in_order(time, move, CLOSEST * usual)
    found = expected.copy()
    for first, own in zip(firsts, shift, strict=True):
        inner = slice(0 if first == 0 else EDGE, BLOCK)  # the next block overwrites its end
        found[first : first + BLOCK][inner] = (expected[first : first + BLOCK] + own)[inner]
    return found


def _in_order(time: FloatArray, move: FloatArray, least: float) -> FloatArray:
    """Moves of (blocks, n) times back, shortened where commands would overtake each other."""
    steps = np.diff(time, axis=1)
    closer = np.diff(move, axis=1)
    room = np.where(closer > 0.0, np.maximum(steps - least, 0.0) / np.maximum(closer, 1e-300), 1.0)
    share = np.minimum(room, 1.0)
    # The share of a command is the least of both its neighbours.
    padded = np.pad(share, ((0, 0), (1, 1)), constant_values=1.0)
    return move * np.minimum(padded[:, :-1], padded[:, 1:])


def _weights(time: FloatArray) -> FloatArray:
    """(…, n − 2 REACH, 2 REACH) Lagrange's weights of the commands around each."""
    count = time.shape[-1]
    centres = np.arange(REACH, count - REACH)
    here, around = time[..., centres], time[..., centres[:, None] + _SIDES]
    found = np.ones(around.shape)
    for i in range(len(_SIDES)):
        for j in range(len(_SIDES)):
            if i != j:
                found[..., i] *= (here - around[..., j]) / (around[..., i] - around[..., j])
    return found


def _off_curve(
    time: FloatArray, values: FloatArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """How far commands lie off the curve of those around them, and its derivatives by ages.

    Shapes: (blocks, n − 2 REACH, joints), and with the ages as last axis.
    """
    weights = _weights(time)
    blocks, count, joints = values.shape
    centres = np.arange(REACH, count - REACH)
    around = centres[:, None] + _SIDES
    off = values[:, centres] - np.einsum("bki,bkij->bkj", weights, values[:, around])
    changes = np.zeros((blocks, len(centres), joints, count))
    place = np.arange(len(centres))
    changes[:, place, :, centres] = slopes[:, centres].swapaxes(0, 1)
    for i, side in enumerate(_SIDES):
        own = weights[..., i, None] * slopes[:, centres + side]
        changes[:, place, :, centres + side] -= own.swapaxes(0, 1)
    return off, changes


def _roughness(time: FloatArray, values: FloatArray) -> float:
    """How far commands lie off the curve of those around them, rms."""
    around = np.arange(REACH, len(time) - REACH)[:, None] + _SIDES
    curve = np.einsum("ki,kij->kj", _weights(time), values[around])
    return float(np.sqrt(np.mean((values[REACH:-REACH] - curve) ** 2)))


def _with_missed(sent: FloatArray, period: float) -> tuple[FloatArray, FloatArray]:
    """Times, also of those that the table misses, and their places among those that it shows."""
    counts = np.round(np.diff(sent) / period).astype(int)
    counts = np.where(counts > MOST_MISSED, 1, np.maximum(counts, 1))
    rows = np.concatenate([k + np.arange(n) / n for k, n in enumerate(counts)] + [[len(sent) - 1]])
    return np.interp(rows, np.arange(len(sent)), sent), rows


def said_of(sent: Sent, topic: str) -> str:
    """What was done to the commands of a topic, for a note."""
    earlier = missed = ""
    if sent.earlier > 0.1 * sent.period:
        earlier = f" (all may have been sent up to {sent.earlier * 1e3:.2g} ms earlier)"
    if sent.missed:
        missed = f"; {sent.missed} that no row shows are interpolated"
    return (
        f"{topic}: its rows show commands of another clock, sent about every "
        f"{sent.period * 1e3:.3g} ms: each is taken to be sent when it lies on the smooth curve of "
        f"the others{earlier}{missed}"
    )
