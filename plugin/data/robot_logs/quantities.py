"""Quantities of a log's joints: in SI units, in the scene's signs, at their recorded times."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray, columns_of, large_empty, large_rows, let_go
from mjrig.core.errors import RecordingError
from mjrig.core.names import listed
from mjrig.data.robot_logs.clocks import Timed
from mjrig.data.robot_logs.field_names import NO_POSITION
from mjrig.data.robot_logs.log_columns import TopicData
from mjrig.data.robot_logs.log_map import LogMap, LogSource
from mjrig.data.robot_logs.resampling import MOST_LAG, at_steps, derived, lag_of
from mjrig.data.robot_logs.spikes import Moved, Spiked
from mjrig.data.robot_logs.survey import DUE, POINTS
from mjrig.data.robot_logs.units import kind_by_unit
from mjrig.data.robot_logs.velocity_setpoints import Spans, rates_within

# Trajectories -------------------------------------------------------------------------------------
# Trajectories as commands: points to be reached, interpolated from the message on.


def unrolled(
    time: FloatArray,
    rows: npt.NDArray[np.intp],
    columns: Mapping[str, npt.NDArray[Any]],
    paths: Sequence[str],
    factors: Sequence[tuple[float, float]],
    period: float,
) -> tuple[FloatArray, FloatArray]:
    """Setpoints at times (n,), (n, joints), between which they change evenly.

    Each message's points until the next message comes; where setpoints jump, two rows have the same
    time.

    Args:
        time: of the messages [s]; rows: theirs in the columns.
        columns: by path, `points[k].…` among them.
        paths: of each joint inside a point.
        factors: (factor, offset) of each joint.
        period: the longest between rows of a motion [s].
    """
    count = 1
    while f"points[{count}].{paths[0]}" in columns:
        count += 1
    times: list[FloatArray] = []
    values: list[FloatArray] = []
    for k, (begin, row) in enumerate(zip(time.tolist(), rows.tolist(), strict=True)):
        until = float(time[k + 1]) if k + 1 < len(time) else np.inf
        at, goals = _points(columns, paths, factors, count, row)
        if not len(at):
            continue
        at = at + begin
        last = values[-1][-1:] if values else goals[:1]
        if values and times[-1][-1] < begin:  # held until now
            times.append(np.array([begin]))
            values.append(last)
        if at[0] > begin:
            at, goals = np.concatenate([[begin], at]), np.vstack([last, goals])
        at, goals = _until(until, at, goals)
        at, goals = _filled(at, goals, period)
        times.append(at)
        values.append(goals)
    if not times:
        return time[:0], np.zeros((0, len(paths)))
    return np.concatenate(times), np.vstack(values)


def _until(until: float, at: FloatArray, goals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points before a time, and where the setpoints are by then."""
    if at[-1] <= until:
        return at, goals
    kept = at < until
    there = [np.interp(until, at, column) for column in goals.T]
    return np.append(at[kept], until), np.vstack([goals[kept], there])


def _filled(at: FloatArray, goals: FloatArray, period: float) -> tuple[FloatArray, FloatArray]:
    """Points with others between them, evenly, that are at most a period apart."""
    parts = np.maximum(np.ceil(np.diff(at) / period), 1.0)
    place = np.concatenate([[0.0], np.cumsum(parts)])
    every = np.arange(place[-1] + 1.0)
    table = np.stack([np.interp(every, place, column) for column in goals.T], axis=1)
    return np.interp(every, place, at), table


def _points(
    columns: Mapping[str, npt.NDArray[Any]],
    paths: Sequence[str],
    factors: Sequence[tuple[float, float]],
    count: int,
    row: int,
) -> tuple[FloatArray, FloatArray]:
    """The points of one message that hold numbers."""
    at, goals = [], []
    for k in range(count):
        goal = [float(columns[f"points[{k}].{path}"][row]) for path in paths]
        if not np.isfinite(goal).all():
            continue
        seconds = [float(columns[f"points[{k}].{name}"][row]) for name in DUE]
        at.append(seconds[0] + 1e-9 * seconds[1])
        goals.append([g * f + o for g, (f, o) in zip(goal, factors, strict=True)])
    return np.array(at), np.array(goals).reshape(len(at), len(paths))


# Quantities ---------------------------------------------------------------------------------------


#: A vendor's word for "no velocity".
NO_VELOCITY = 1e4
#: Larger values are damaged bytes, in whatever unit: they count as missing.
NO_NUMBER = 1e12
VELOCITY = "command_velocity"
#: Quantities that are asked for once.
STATES = ("position", "velocity", "effort")
#: Samples that show how late velocities are.
ENOUGH = 20_000
#: The longest between rows of a trajectory [s].
PERIOD = 0.001


@dataclass(frozen=True)
class JointTable:
    """A quantity of some joints: (n, joints) at times (n,).

    `shown` (n,) is when the log shows each row; None: at its own time. All times may be by up to
    `earlier` earlier [s]. `moves`: values are not held from row to row but change evenly; where two
    rows have the same time, they jump.
    """

    time: FloatArray
    values: FloatArray
    joints: tuple[str, ...]
    timed: Timed
    shown: FloatArray | None = None
    earlier: float = 0.0
    moves: bool = False

    def held(self) -> "JointTable":
        """The same with values that are held from row to row: the means between them."""
        if not self.moves:
            return self
        lasts = np.append(np.diff(self.time) > 0.0, True)
        means = np.vstack([0.5 * (self.values[:-1] + self.values[1:]), self.values[-1:]])
        return replace(self, time=self.time[lasts], values=means[lasts], moves=False)

    def around(self, at: FloatArray) -> "JointTable":
        """The rows from the one before some ascending times to the one after them."""
        first = max(int(np.searchsorted(self.time, at[0], side="right")) - 1, 0)
        rows = slice(first, int(np.searchsorted(self.time, at[-1])) + 1)
        shown = None if self.shown is None else self.shown[rows]
        return replace(self, time=self.time[rows], values=self.values[rows], shown=shown)

    def spiked(self, zero: float) -> Spiked:
        """For the repair of its wrong samples; `zero` is the time that is said as 0 [s]."""
        return Spiked(self.time, self.values, self.joints, zero)


class Quantities:
    """Tables of the mapped quantities; what was done to them is added to `notes`."""

    def __init__(
        self,
        mapping: LogMap,
        data: Mapping[str, TopicData],
        times: Mapping[str, Timed],
        notes: list[str],
    ) -> None:
        self._map, self._data, self._timed, self._notes = mapping, data, times, notes
        self._unrecorded: Spans = ()
        self._units: dict[str, str] = {}
        self._uses = Counter(
            (source.topic, path)
            for quantity in mapping.sources
            for places in mapping.places(quantity).values()
            for source, path in places
        )

    def has(self, quantity: str) -> bool:
        """Whether the log has it."""
        return quantity in self._map.sources

    def kind(self, name: str) -> tuple[str, str]:
        """Whether a joint is a hinge or a slide, and the unit that says so; empty: the map does."""
        unit = self._units.get(name, "")
        by_unit = kind_by_unit(unit)
        return (by_unit, unit) if by_unit else (self._map.joints[name].kind, "")

    def tables(self, quantity: str) -> list[JointTable]:
        """A quantity of each topic that has it; states can be asked for once.

        Joints of one topic whose numbers come in other messages or rows are tables of their own.
        """
        found: list[JointTable] = []
        for topic, places in self._places(quantity).items():
            table = self._table(quantity, places)
            found += _cleared(self._timed[topic], table, tuple(places))
        empty = [name for t in found if not len(t.time) for name in t.joints]
        if empty and quantity == "position":
            raise RecordingError(f"the positions of {listed(empty)} hold no numbers")
        return [t for t in found if len(t.time) or quantity == "command"]

    def _places(self, quantity: str) -> dict[str, dict[str, tuple[LogSource, str]]]:
        """Topic → joint → where the quantity is in it."""
        topics = dict.fromkeys(s.topic for s in self._map.sources.get(quantity, ()))
        found: dict[str, dict[str, tuple[LogSource, str]]] = {topic: {} for topic in topics}
        for name, places in self._map.places(quantity).items():
            for source, path in places:
                if path in self._data[source.topic].columns:
                    found[source.topic][name] = source, path
                    break
        return {topic: places for topic, places in found.items() if places}

    def _table(self, quantity: str, places: Mapping[str, tuple[LogSource, str]]) -> FloatArray:
        """(n, joints) in SI units; single numbers stay so, as large logs would not fit."""
        topic = next(iter(places.values()))[0].topic
        data, when = self._data[topic], self._timed[topic]
        factors = [self._map.factor(quantity, s, name) for name, (s, _) in places.items()]
        if quantity == "position":
            self._units |= {n: self._map.unit(quantity, s, n) for n, (s, _) in places.items()}
        offsets = [self._map.joints[n].offset for n in places]
        is_placed = quantity in ("position", "command")
        single = all(data.columns[path].dtype == np.float32 for _, path in places.values())
        as_it_is = set(factors) <= {1.0} and (not is_placed or not any(offsets))
        kind = np.float32 if single and as_it_is else np.float64
        table: npt.NDArray[Any] = large_empty((len(when.rows), len(places)), kind)
        for k, (_, path) in enumerate(places.values()):
            table[:, k] = data.columns[path][when.rows]
            if quantity in STATES and self._uses[topic, path] == 1:
                data.columns.pop(path)  # nobody asks for it again
            table[np.abs(table[:, k]) > NO_NUMBER, k] = np.nan
            if not as_it_is:
                table[:, k] *= factors[k]
            if is_placed:
                table[np.abs(table[:, k]) > NO_POSITION * abs(factors[k]), k] = np.nan
                table[:, k] += offsets[k]
            let_go()
        return table

    def commands(self) -> list[JointTable]:
        """Commands of each topic: (n, 3 · joints) positions, velocities, feedforward."""
        found = []
        for source in self._map.sources.get("command", ()):
            if source.field.startswith(POINTS):
                self._notes.append(
                    f"{source.topic}: between the points of a trajectory, commands are interpolated"
                )
        for stated in self.tables("command"):
            rolled = len(stated.time) and stated.timed.name in self._trajectories()
            table = self._unrolled(stated) if rolled else stated
            never = np.array([not np.isfinite(c).any() for c in columns_of(table.values)])
            if never.any():
                names = [table.joints[k] for k in np.flatnonzero(never)]
                self._notes.append(f"{listed(names)}: never commanded to a position; left out")
            keep = np.flatnonzero(~never)
            joints = tuple(table.joints[k] for k in keep)
            if joints:
                values = _held(table.values if len(keep) == len(never) else table.values[:, keep])
                found.append(replace(table, values=values, joints=joints))
        return found

    def _trajectories(self) -> set[str]:
        return {s.topic for s in self._map.sources.get("command", ()) if s.field.startswith(POINTS)}

    def _unrolled(self, table: JointTable) -> JointTable:
        topic = table.timed.name
        places = {name: self._places("command")[topic][name] for name in table.joints}
        paths = [path.removeprefix(POINTS) for _, path in places.values()]
        factors = [
            (self._map.factor("command", source, name), self._map.joints[name].offset)
            for name, (source, _) in places.items()
        ]
        columns = self._data[topic].columns
        time, values = unrolled(table.time, table.timed.rows, columns, paths, factors, PERIOD)
        found = JointTable(time, values, table.joints, table.timed, moves=True)
        changed = (np.diff(values, axis=0) != 0.0).any(axis=1)
        # Points that are due at once are setpoints, which are held.
        return found if (changed & (np.diff(time) > 0.0)).any() else found.held()

    def velocities(self, positions: Sequence[JointTable]) -> list[JointTable]:
        """Recorded velocities where they fit the positions, derived ones elsewhere."""
        tables = self.tables("velocity")
        moved = {
            n: Moved(t.time, t.values[:, k]) for t in positions for k, n in enumerate(t.joints)
        }
        for table in tables:
            self._notes += table.spiked(float(positions[0].time[0])).velocities(moved)
        recorded = {name: (t, k) for t in tables for k, name in enumerate(t.joints)}
        found = []
        for table in positions:
            known = [n for n in table.joints if n in recorded]
            rows = slice(0, ENOUGH)
            gaps = [g for g in table.timed.gaps if g < ENOUGH]
            slopes = derived(table.time[rows], table.values[rows], gaps)
            columns = large_empty(table.values.shape, table.values.dtype)
            late: dict[str, int] = {}
            for k, name in enumerate(table.joints):
                let_go()
                if name in recorded:
                    other, place = recorded[name]
                    own = _at(table.time, other, place)
                    lag = lag_of(np.asarray(own[rows]), slopes[:, k])
                    if lag <= MOST_LAG:
                        columns[:, k] = own
                        continue
                    late[name] = lag
                own = derived(table.time, table.values[:, k : k + 1], table.timed.gaps)[:, 0]
                columns[:, k] = own
            if late:
                worst = max(late.values())
                self._notes.append(
                    f"velocities of {listed(late)} are up to {worst} samples later than the change "
                    "of the positions: derived from the positions instead"
                )
            missing = [n for n in table.joints if n not in known]
            if missing:
                whose = "all joints" if len(missing) == len(table.joints) else listed(missing)
                self._notes.append(f"velocities of {whose} are derived from the positions")
            found.append(JointTable(table.time, columns, table.joints, table.timed))
        return found

    def take_rates(self, spans: Spans) -> None:
        """Velocity setpoints are the rates of positions in some spans of time."""
        self._unrecorded = spans

    def command_column(self, quantity: str, command: JointTable) -> FloatArray:
        """Another quantity of the same commands; 0 where there is none."""
        if quantity == VELOCITY and self._unrecorded:
            return rates_within(command.time, command.values, self._unrecorded)
        if not self.has(quantity):
            return np.broadcast_to(np.zeros(1), command.values.shape)
        found = large_empty(command.values.shape)
        for column in columns_of(found):
            column[:] = 0.0
        at = command.time if command.shown is None else command.shown
        for table in self.tables(quantity):
            held = np.searchsorted(table.time, at + 1e-9, side="right") - 1
            for k, name in enumerate(table.joints):
                if name in command.joints:
                    values = np.nan_to_num(table.values[np.maximum(held, 0), k])
                    if quantity == VELOCITY:
                        values = np.where(np.abs(values) < NO_VELOCITY, values, 0.0)
                    found[:, command.joints.index(name)] = values
        return found


def _at(time: FloatArray, table: JointTable, place: int) -> FloatArray:
    """A column at some times."""
    column = table.values[:, place]
    if len(time) == len(table.time) and (time is table.time or (time == table.time).all()):
        return column
    return at_steps(table.time, column[:, None], time)[:, 0]


def _cleared(when: Timed, values: FloatArray, joints: tuple[str, ...]) -> list[JointTable]:
    """Rows that hold anything: tables of several topics have empty ones, messages lack joints."""
    full = [np.isfinite(column) for column in columns_of(values)]
    if all(own.all() for own in full):
        return [JointTable(when.time, values, joints, when)]
    return [_part(when, values, joints, own, full) for own in _together(full)]


def _together(full: Sequence[npt.NDArray[np.bool_]]) -> list[list[int]]:
    """Columns that mostly have their numbers in the same rows."""
    groups: list[list[int]] = []
    for k, own in enumerate(full):
        for group in groups:
            other = full[group[0]]
            if 2 * np.count_nonzero(own & other) >= np.count_nonzero(own | other):
                group.append(k)
                break
        else:
            groups.append([k])
    return groups


def _part(
    when: Timed,
    values: FloatArray,
    joints: tuple[str, ...],
    own: list[int],
    full: Sequence[npt.NDArray[np.bool_]],
) -> JointTable:
    """Some columns in the rows where they have numbers."""
    names = tuple(joints[k] for k in own)
    kept = np.flatnonzero(np.logical_or.reduce([full[k] for k in own]))
    mine = values if len(own) == len(joints) else values[:, own]
    if len(kept) == len(when.time):
        return JointTable(when.time, mine, names, when)
    time = when.time[kept]
    steps = np.diff(time)
    usual = float(np.median(steps)) if len(steps) else 0.0
    gaps = tuple((np.flatnonzero(steps > 4.5 * usual) + 1).tolist()) if usual > 0.0 else ()
    missing = np.round(steps / usual).astype(np.int64) - 1 if usual > 0.0 else steps[:0]
    counts = {"lost": int(missing[missing > 0].sum()), "holes": int((missing > 0).sum())}
    cleared = replace(when, rows=when.rows[kept], time=time, gaps=gaps, usual=usual, **counts)
    return JointTable(time, large_rows(mine, kept), names, cleared)


def _held(values: FloatArray) -> FloatArray:
    """The last number of each column where there is none; the first before it."""
    found = large_empty(values.shape, values.dtype)
    for own, column in zip(columns_of(found), columns_of(values), strict=True):
        fine = np.isfinite(column)
        if fine.all():
            own[:] = column
            continue
        rows = np.maximum.accumulate(np.where(fine, np.arange(len(column)), 0))
        own[:] = column[np.maximum(rows, np.argmax(fine))]
    return found
