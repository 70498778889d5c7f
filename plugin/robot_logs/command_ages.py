"""When the commands of a table were sent, which says only which one was the latest at each row.

A logger with a clock of its own repeats some commands and misses others, and the one it shows may
be as old as the time between two. Held from row to row, they would come too late by another time in
each row. Where they follow a smooth curve, that shows: each lies on it at the time it was sent. So
the times are found that make the curve smoothest, and what they are multiples of is the period of
the commands; those that were missed are put on the curve.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.robot_logs.resampling import curved_at, derived

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
#: Commands of which one is the latest that a row can show; the cost of one that does not fit at
#: all, and of two in the wrong order.
LAST, WORST, IMPOSSIBLE = 3, 1.0, 1e6
#: So many joints tell enough.
TELLING = 16
#: Youngest ages that are tried, in parts of the period, and what older ones than can be cost.
PHASES, OLD = 6, 0.1
#: What ages cost that drift though nothing asks for it.
DRIFT = 0.01
#: Commands by which the count of all may be wrong at first.
MISCOUNTED = 2
#: The curve must be so much smoother, and ages must differ by this share of the period.
SMOOTHER, VARY = 0.05, 0.05
#: Ages may exceed what they can be by this share, for jitter.
SLACK = 1.6
#: Share of the commands that may be shown before they seem to be sent, by jitter.
YOUNGEST = 0.02
#: So many commands in a row may be missed.
MOST_MISSED = 8
#: Longer tables are left as they are [rows].
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
        jitter: how far from multiples of the period they were sent, rms [s].
        earlier: all may have been sent by up to this much earlier [s].
    """

    time: FloatArray
    values: FloatArray
    shown: FloatArray
    period: float
    missed: int
    jitter: float
    earlier: float


def sent_commands(time: FloatArray, values: FloatArray) -> Sent | None:
    """The commands of a table, each once; None: nothing shows when they were sent.

    Args:
        time: (rows,) [s], increasing.
        values: (rows, joints) position setpoints.
    """
    is_new = np.concatenate([[True], (np.diff(values, axis=0) != 0.0).any(axis=1)])
    shown, curve = time[is_new], np.asarray(values[is_new], np.float64)
    if not BLOCK <= len(shown) <= LONGEST or not np.isfinite(curve).all():
        return None
    rate = float(np.median(np.diff(time)))
    edges = np.linspace(0, len(shown), max(len(shown) // CHUNK, 1) + 1).astype(int)
    spans = [slice(a, b) for a, b in pairwise(edges)]
    parts: list[_Timed | None] = []
    for span in spans:
        period = next((p.period for p in parts if p is not None), None)
        parts.append(_timed(shown[span], curve[span], rate, period))
    known = [p for p in parts if p is not None]
    if 2 * len(known) <= len(parts):
        return None
    # Where nothing tells, commands are as old as others.
    typical = float(np.median(np.concatenate([p.ages for p in known])))
    ages = np.concatenate(
        [
            np.full(s.stop - s.start, typical) if p is None else p.ages
            for s, p in zip(spans, parts, strict=True)
        ]
    )
    period = float(np.median([p.period for p in known]))
    # Blocks may disagree about neighbours; no two are sent at once.
    order = CLOSEST * period * np.arange(len(shown))
    sent = np.asarray(np.maximum.accumulate(shown - ages - order) + order, dtype=np.float64)
    jitter = float(np.sqrt(np.mean(np.concatenate([p.jitter for p in known]) ** 2)))
    times, rows = _with_missed(sent, period)
    seen = np.interp(rows, np.arange(len(sent)), shown)
    values = np.empty((len(times), curve.shape[1]))
    curved_at(sent, curve, derived(sent, curve, ()), times, values)
    widest = max(float(np.quantile(p.ages, 1.0 - YOUNGEST)) for p in known)
    earlier = max(min(period, rate) - widest, 0.0)
    return Sent(times, values, seen, period, len(times) - len(sent), jitter, earlier)


@dataclass(frozen=True)
class _Timed:
    """Ages of some commands, how far they are off those of even commands, and the period [s]."""

    ages: FloatArray
    jitter: FloatArray
    period: float


def _timed(shown: FloatArray, curve: FloatArray, rate: float, known: float | None) -> _Timed | None:
    """Ages with which commands are multiples of a period apart; None: there is none.

    Args:
        known: the period, if other commands have told it.
    """
    if known is None:
        ages = _ages(shown, curve, np.zeros(len(shown)), OLDER * rate)
        periods = _periods(np.diff(shown - ages))
    else:
        periods = np.array([known])
    if not len(periods):
        return None
    number = _numbers(shown, curve, periods, rate)
    period, even = _evenly(shown, number)
    ages = _ages(shown, curve, even, UNEVEN * period)
    spread = float(np.quantile(even, 1.0 - YOUNGEST))
    before, after = (_roughness(t, curve) for t in (shown, shown - ages))
    is_told = after < SMOOTHER * before and VARY * period < spread < SLACK * min(period, rate)
    is_even = float(np.std(ages - even)) < UNEVEN_RMS * period
    return _Timed(ages, ages - even, period) if is_told and is_even else None


def _periods(steps: FloatArray) -> FloatArray:
    """The longest time that steps between commands are multiples of, and others that count one
    command more or less in all; empty: there is none."""
    tried = float(np.mean(steps)) * PERIODS
    scores = np.cos(2.0 * np.pi * steps / tried[:, None]).mean(axis=1)
    if scores.max() < IN_STEP:
        return np.zeros(0)
    first = int(np.argmax(scores > AS_GOOD * scores.max()))
    near = slice(first, first + NEARBY)
    period = float(tried[near][np.argmax(scores[near])])
    count = np.round(steps / period).sum() + np.arange(-MISCOUNTED, MISCOUNTED + 1)
    found: FloatArray = float(steps.sum()) / count[count > 0.0]
    return found


def _numbers(shown: FloatArray, curve: FloatArray, periods: FloatArray, rate: float) -> FloatArray:
    """Which command each is, counted from any one, so that they lie on the smoothest curve.

    The smoothest of all ways to count, by dynamic programming: each is one of the last `LAST`
    commands that may have been sent by then, and later than the one before. Four in a row tell how
    rough a way is there: how far the last lies off the parabola of the others.

    Args:
        periods: of the commands that are tried.
    """
    ways = np.stack(np.meshgrid(*[np.arange(LAST)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    fastest = np.argsort((np.diff(curve, axis=0) ** 2).sum(axis=0))[-TELLING:]
    curve = curve[:, fastest]
    found = []
    for period in periods:
        for youngest in np.arange(PHASES) / PHASES:
            # Ages in periods, from the youngest command that a row may show.
            age = (shown - shown[0]) / period - youngest
            latest = np.floor(age + 0.5)
            late = (age - latest)[:, None] + np.arange(LAST)
            oldest = min(1.0, rate / period)
            beyond = np.maximum(-late, 0.0) + np.maximum(late - oldest, 0.0)
            odd = OLD * beyond**2 + DRIFT * (late - 0.5 * oldest) ** 2
            costs = _way_costs(latest, curve, ways).reshape(-1, *[LAST] * 4)
            found.append(_least_way(costs, odd, latest))
    return min(found, key=lambda one: one[0])[1]


def _evenly(shown: FloatArray, number: FloatArray) -> tuple[float, FloatArray]:
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


def _least_way(costs: FloatArray, old: FloatArray, latest: FloatArray) -> tuple[float, FloatArray]:
    """The cost of the best way to count, and the numbers of it."""
    total = old[0][:, None, None] + old[1][:, None] + old[2]
    before = []
    for cost, own in zip(costs, old[3:], strict=True):
        every = total[..., None] + cost + own
        before.append(np.argmin(every, axis=0))
        total = np.min(every, axis=0)
    found = [int(k) for k in np.unravel_index(int(np.argmin(total)), total.shape)]
    for came in reversed(before):
        found.insert(0, int(came[tuple(found[:3])]))
    return float(total.min()), latest - np.array(found)


def _way_costs(latest: FloatArray, curve: FloatArray, ways: Any) -> FloatArray:
    """(n − 3, ways) how rough it is to count four commands in a row in some ways."""
    rows = np.arange(len(latest) - 3)[:, None] + np.arange(4)
    number = latest[rows][:, None, :] - ways
    speed = np.gradient(curve, axis=0)
    a, b, c, d = np.moveaxis(number, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.stack(
            [
                (d - b) * (d - c) / ((a - b) * (a - c)),
                (d - a) * (d - c) / ((b - a) * (b - c)),
                (d - a) * (d - b) / ((c - a) * (c - b)),
            ],
            axis=-1,
        )
    is_order = (np.diff(number, axis=-1) > 0.0).all(axis=-1)
    weights[~is_order] = 0.0
    values = curve[rows]
    off = values[:, 3, None] - np.einsum("kwi,kij->kwj", weights, values[:, :3])
    size = (speed[rows] ** 2).sum(axis=(1, 2)) / 4.0 + 1e-30
    cost = (off**2).sum(axis=2) / (1.0 + (weights**2).sum(axis=2)) / size[:, None]
    return np.where(is_order, np.minimum(cost, WORST), IMPOSSIBLE)


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
