"""The quantities of a log's joints: in SI units, in the scene's signs, at their own times."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.large_arrays import columns_of, large_empty, large_rows, let_go
from mjrig.names import listed
from mjrig.robot_logs.clocks import Timed
from mjrig.robot_logs.loading import POINTS, TopicData, label_of
from mjrig.robot_logs.mapping.guessing import NO_POSITION
from mjrig.robot_logs.mapping.log_map import LogMap, LogSource
from mjrig.robot_logs.resampling import MOST_LAG, at_steps, derived, lag_of
from mjrig.robot_logs.trajectories import unrolled
from mjrig.robot_logs.velocity_setpoints import Spans, rates_within

#: A vendor's word for "no velocity".
NO_VELOCITY = 1e4
VELOCITY = "command_velocity"
#: Quantities that are asked for once.
STATES = ("position", "velocity", "effort")
#: Samples that show how late velocities are.
ENOUGH = 20_000
#: Commands of trajectories are interpolated at this period [s].
PERIOD = 0.002


@dataclass(frozen=True)
class JointTable:
    """A quantity of some joints: (n, joints) at times (n,).

    `shown` (n,) is when the log shows each row; None: at its own time.
    """

    time: FloatArray
    values: FloatArray
    joints: tuple[str, ...]
    timed: Timed
    shown: FloatArray | None = None


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
        self._uses = Counter(
            (source.topic, source.field.replace("{}", label))
            for sources in mapping.sources.values()
            for source in sources
            for name, joint in mapping.joints.items()
            if (label := label_of(source, name, joint)) is not None
        )

    def has(self, quantity: str) -> bool:
        """Whether the log has it."""
        return quantity in self._map.sources

    def tables(self, quantity: str) -> list[JointTable]:
        """A quantity of each topic that has it; states can be asked for once."""
        found: list[JointTable] = []
        done: set[str] = set()
        for source in self._map.sources.get(quantity, ()):
            data, when = self._data[source.topic], self._timed[source.topic]
            places: dict[str, str] = {}
            for name, joint in self._map.joints.items():
                label = label_of(source, name, joint)
                path = source.field.replace("{}", label) if label is not None else ""
                if name not in done and path in data.columns:
                    places[name] = path
            names = list(places)
            table = self._table(quantity, source, places)
            done |= set(names)
            if names:
                found.append(_cleared(when, table, tuple(names)))
        return found

    def _table(self, quantity: str, source: LogSource, places: Mapping[str, str]) -> FloatArray:
        """(n, joints) in SI units; single numbers stay so, as large logs would not fit."""
        data, when = self._data[source.topic], self._timed[source.topic]
        factors = [self._map.factor(quantity, source, self._map.joints[n]) for n in places]
        offsets = [self._map.joints[n].offset for n in places]
        is_placed = quantity in ("position", "command")
        single = all(data.columns[p].dtype == np.float32 for p in places.values())
        as_it_is = set(factors) <= {1.0} and (not is_placed or not any(offsets))
        kind = np.float32 if single and as_it_is else np.float64
        table: npt.NDArray[Any] = large_empty((len(when.rows), len(places)), kind)
        for k, path in enumerate(places.values()):
            table[:, k] = data.columns[path][when.rows]
            if quantity in STATES and self._uses[source.topic, path] == 1:
                data.columns.pop(path)  # nobody asks for it again
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
            rolled = stated.timed.name in self._trajectories()
            table = self._unrolled(stated) if rolled else stated
            never = np.array([not np.isfinite(c).any() for c in columns_of(table.values)])
            if never.any():
                names = [table.joints[k] for k in np.flatnonzero(never)]
                self._notes.append(f"{listed(names)}: never commanded to a position; left out")
            keep = np.flatnonzero(~never)
            joints = tuple(table.joints[k] for k in keep)
            if joints:
                values = _held(table.values if len(keep) == len(never) else table.values[:, keep])
                found.append(JointTable(table.time, values, joints, table.timed))
        return found

    def _trajectories(self) -> set[str]:
        return {s.topic for s in self._map.sources.get("command", ()) if s.field.startswith(POINTS)}

    def _unrolled(self, table: JointTable) -> JointTable:
        source = next(s for s in self._map.sources["command"] if s.topic == table.timed.name)
        data, joints = self._data[source.topic], self._map.joints
        factors, paths = [], []
        for name in table.joints:
            label = label_of(source, name, joints[name])
            assert label is not None  # it is a joint of this table
            paths.append(source.field.removeprefix(POINTS).replace("{}", label))
            factors.append((self._map.factor("command", source, joints[name]), joints[name].offset))
        time, values = unrolled(table.time, table.timed.rows, data.columns, paths, factors, PERIOD)
        return JointTable(time, values, table.joints, table.timed)

    def velocities(self, positions: Sequence[JointTable]) -> list[JointTable]:
        """Recorded velocities where they fit the positions, derived ones elsewhere."""
        recorded = {
            name: (t, k) for t in self.tables("velocity") for k, name in enumerate(t.joints)
        }
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
                    lag = lag_of(own[rows, None], slopes[:, k : k + 1])
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


def _cleared(when: Timed, values: FloatArray, joints: tuple[str, ...]) -> JointTable:
    """Rows that hold anything: tables of several topics have empty ones."""
    full = np.zeros(len(values), dtype=np.bool_)
    for column in columns_of(values):
        full |= np.isfinite(column)
    let_go()
    if full.all():
        return JointTable(when.time, values, joints, when)
    kept = np.flatnonzero(full)
    time = when.time[kept]
    steps = np.diff(time)
    usual = float(np.median(steps)) if len(steps) else 0.0
    gaps = tuple((np.flatnonzero(steps > 4.5 * usual) + 1).tolist()) if usual > 0.0 else ()
    cleared = replace(when, rows=when.rows[kept], time=time, gaps=gaps, usual=usual)
    return JointTable(time, large_rows(values, kept), joints, cleared)


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
    let_go()
    return found
