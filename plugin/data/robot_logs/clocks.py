"""Stamps of several clocks brought onto one: the recorder's, or that of a table.

A sender's clock is even, but has an offset; the recorder's stamps contain the transport. The
sender's time is put where the fastest messages arrive: t = stamp · (1 + drift) + b, b through the
lower envelope of the recorder's stamps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import RecordingError, hint
from mjrig.data.robot_logs.log_columns import TopicData
from mjrig.data.robot_logs.log_map import STAMPS, TimeSource
from mjrig.data.robot_logs.units import TIMES

Order = npt.NDArray[np.intp]
#: LogSamples per stretch of the envelope, and the quantile that is taken of each.
STRETCH, QUANTILE = 250, 0.05
MOST_STRETCHES = 400
#: Clocks of robots and computers go this right; more is another unit.
MOST_DRIFT = 0.01
#: Messages may overtake each other by so much [s]; more is a clock that was set.
OVERTAKING = 0.1
#: Longest log [s]: clocks count nanoseconds in 64 bits.
MAX_SPAN = 2.0**63 * 1e-9
#: More missing samples in a row are a gap.
MOST_MISSING = 3


@dataclass(frozen=True)
class Clock:
    """How the stamps of a topic became times.

    Attributes:
        offset: of the sender's clock against the recorder's at the start, by the fastest messages
            [s]; None: there is only one clock.
        error: of that offset, two standard errors [s]; what the fastest message took is not known.
        drift: of the sender's clock, as a share.
        jitter: standard deviation of the time messages took [s].
    """

    stamp: str
    offset: float | None = None
    error: float = 0.0
    drift: float = 0.0
    jitter: float = 0.0


@dataclass(frozen=True)
class Timed:
    """A topic's samples in time: `rows` of its data, `time` [s] ascending, without doubles.

    Attributes:
        usual: the usual time between samples [s].
        doubled: samples with the stamp of the one before, left out.
        overtaken: samples that arrived after later ones.
        lost: samples that are missing, in `holes` places.
        gaps: rows before which more than a few samples are missing.
    """

    name: str
    rows: Order
    time: FloatArray
    clock: Clock
    usual: float
    doubled: int
    overtaken: int
    lost: int
    holes: int
    gaps: tuple[int, ...]


def origins(
    topics: Mapping[str, TopicData], sources: Mapping[str, TimeSource]
) -> dict[str, int | float]:
    """The zero of each topic's stamps: the least of all that share a clock [ns, or as written]."""
    logs = [int(t.stamps["log"].min()) for t in topics.values() if len(t.stamps.get("log", ()))]
    found: dict[str, int | float] = dict.fromkeys(topics, min(logs, default=0))
    tables: dict[str, list[str]] = {}
    for name, topic in topics.items():
        if topic.times is not None and len(topic.times):
            tables.setdefault(sources[name].unit, []).append(name)
    for names in tables.values():
        firsts = [times[0].item() for n in names if (times := topics[n].times) is not None]
        found |= dict.fromkeys(names, min(firsts))
    return found


def timed(
    topic: TopicData, source: TimeSource | None, origin: int | float, rate: float | None
) -> Timed:
    """Times of a topic's samples.

    Args:
        topic: its data.
        source: which stamps; None: there are none, rows come at `rate`.
        origin: zero of its stamps, see `origins`.
        rate: rows per second of a table without times.

    Raises:
        RecordingError: stamps are missing, run backwards or are in another unit.
    """
    if not len(topic):
        raise RecordingError(f"{topic.name}: has no messages")
    if topic.times is not None and source is not None:
        time, clock = _of_column(topic, source, origin), Clock(source.stamp)
        return _cleaned(topic.name, time, clock, sort=False)
    if not topic.stamps:
        if source is not None and source.stamp not in STAMPS:
            raise RecordingError(f"{topic.name}: has no column {source.stamp!r} for its times")
        if rate is None:
            raise RecordingError(
                f"{topic.name}: has no times; give its rows per second: rate: in log.yaml, or "
                + hint("fps", 50)
            )
        return _cleaned(topic.name, np.arange(len(topic)) / rate, Clock("rate"), sort=False)
    kind = "log" if source is None else source.stamp
    if kind not in topic.stamps:
        known = ", ".join(topic.stamps)
        raise RecordingError(f"{topic.name}: has no stamps of the kind {kind!r}; has: {known}")
    log = np.asarray((topic.stamps["log"] - origin) * 1e-9, dtype=np.float64)
    if kind == "log":
        return _cleaned(topic.name, log, Clock("log"), sort=False)
    unit = TIMES[source.unit] if source is not None else 1e-9
    stamps = topic.stamps[kind]
    own = (stamps - stamps[0]) * unit
    _check_order(topic.name, kind, own)
    time, clock = _on_recorder(topic.name, kind, own, log)
    if kind != "tick":  # a header's zero is that of the recorder, a tick's is not
        clock = Clock(kind, float((stamps[0] - origin) * unit - time[0]), *_rest(clock))
    return _cleaned(topic.name, time, clock, sort=True)


def _rest(clock: Clock) -> tuple[float, float, float]:
    return clock.error, clock.drift, clock.jitter


def _of_column(topic: TopicData, source: TimeSource, origin: int | float) -> FloatArray:
    assert topic.times is not None
    odd = np.flatnonzero(~np.isfinite(topic.times))
    if len(odd):
        raise RecordingError(f"{topic.name}: {source.stamp} is no number in row {odd[0] + 1}")
    times = topic.times
    if times.dtype.kind not in "fiu":
        raise RecordingError(f"{topic.name}: {source.stamp} holds {times.dtype}, not times")
    time = np.asarray((times - origin) * TIMES[source.unit], dtype=np.float64)
    back = np.flatnonzero(np.diff(time) < 0.0)
    if len(back):
        raise RecordingError(
            f"{topic.name}: the times in {source.stamp} run backwards, by "
            f"{time[back[0]] - time[back[0] + 1]:.4g} s in row {back[0] + 2}"
        )
    return time


def _check_order(name: str, kind: str, own: FloatArray) -> None:
    """Refuse a clock that was set back; messages that overtook others are put in order."""
    ahead = np.maximum.accumulate(own)
    behind = np.flatnonzero(own < ahead - OVERTAKING)
    if len(behind):
        k = int(behind[0])
        raise RecordingError(
            f"{name}: its {kind} stamps run backwards, by {ahead[k] - own[k]:.4g} s at message "
            f"{k + 1}: a clock was set or the robot restarted; use another stamp in log.yaml "
            f"(time: {{{name}: log}}), or a part of the log: "
            + hint("span", f"[0, {ahead[k]:.3g}]")
        )


def _on_recorder(
    name: str, kind: str, own: FloatArray, log: FloatArray
) -> tuple[FloatArray, Clock]:
    """A sender's times on the recorder's clock."""
    late = log - own
    count = min(max(1, len(own) // STRETCH), MOST_STRETCHES)
    parts = np.array_split(np.arange(len(own)), count)
    at = np.array([own[part].mean() for part in parts])
    low = np.array([np.quantile(late[part], QUANTILE) for part in parts])
    drift, zero, error = 0.0, float(np.median(low)), 0.0
    if count >= 4:
        i, j = np.triu_indices(count, 1)
        drift = float(np.median((low[j] - low[i]) / (at[j] - at[i])))
        left = low - drift * at
        zero = float(np.median(left))
        error = float(2.0 * 1.2533 * 1.4826 * np.median(np.abs(left - zero)) / np.sqrt(count))
    span, passed = float(np.ptp(own)), float(np.ptp(log))
    if abs(drift) > MOST_DRIFT or (passed > 1.0 and abs(span / passed - 1.0) > 10 * MOST_DRIFT):
        raise RecordingError(
            f"{name}: its {kind} stamps run at {span / passed:.4g} times the recorder's clock: "
            f"their unit is another one; or use the recorder's (time: {{{name}: log}})"
        )
    time = own * (1.0 + drift) + zero
    jitter = float(np.std(log - time))
    return time, Clock(kind, None, error, drift, jitter)


def _cleaned(name: str, time: FloatArray, clock: Clock, *, sort: bool) -> Timed:
    with np.errstate(over="ignore"):  # such a span is infinite
        span = float(time.max() - time.min())
    if not span <= MAX_SPAN:
        raise RecordingError(
            f"{name}: its times span {span:.3g} s, more than a clock counts; a time is damaged, "
            "or its unit is wrong"
        )
    rows = np.argsort(time, kind="stable") if sort else np.arange(len(time))
    overtaken = int((np.diff(time) < 0.0).sum())
    if not sort and overtaken:
        rows = np.argsort(time, kind="stable")
    ordered = time[rows]
    fresh = np.concatenate([[True], np.diff(ordered) > 0.0])
    rows, ordered = rows[fresh], ordered[fresh]
    steps = np.diff(ordered)
    usual = float(np.median(steps)) if len(steps) else 0.0
    missing = np.round(steps / usual).astype(np.int64) - 1 if usual > 0.0 else np.zeros(0, np.int64)
    holes = np.flatnonzero(missing > 0)
    gaps = tuple(int(k) + 1 for k in np.flatnonzero(missing > MOST_MISSING))
    return Timed(
        name=name,
        rows=rows,
        time=ordered,
        clock=clock,
        usual=usual,
        doubled=int((~fresh).sum()),
        overtaken=overtaken,
        lost=int(missing[holes].sum()),
        holes=len(holes),
        gaps=gaps,
    )


def within(when: Timed, span: tuple[float, float]) -> Timed:
    """The samples of some seconds."""
    inside = np.flatnonzero((when.time >= span[0]) & (when.time <= span[1]))
    if not len(inside):
        raise RecordingError(
            f"{when.name}: has no messages from {span[0]:g} to {span[1]:g} s; it lasts from "
            f"{when.time[0]:.4g} to {when.time[-1]:.4g} s"
        )
    first = int(inside[0])
    gaps = tuple(g - first for g in when.gaps if first < g <= inside[-1])
    return replace(when, rows=when.rows[inside], time=when.time[inside], gaps=gaps)
