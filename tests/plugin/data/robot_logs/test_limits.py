"""Limits of log readers: each is noticed if it is doubled or halved."""

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.clocks import Clock, _cleaned
from mjrig.data.robot_logs.containers.rosbag2 import SqliteBag
from mjrig.data.robot_logs.field_names import meaning
from mjrig.data.robot_logs.quantities import Quantities
from mjrig.data.robot_logs.units import unit_of
from tests.wording import regex


def test_a_unit_is_sought_in_the_last_200_letters() -> None:
    unit = unit_of("q" + "_" * 500 + "rad")
    assert unit is not None
    assert unit.length == 200


def test_names_of_more_than_1000_letters_have_no_meaning() -> None:
    assert meaning("joints", "a" * 996 + "_pos") is not None
    assert meaning("joints", "a" * 997 + "_pos") is None


def test_times_span_as_much_as_64_bits_of_nanoseconds() -> None:
    span = 2**63 / 1e9
    for share in (0.6, 0.99):
        _cleaned("joints", np.array([0.0, share * span]), Clock("log"), sort=True)
    for share in (1.01, 1.9):
        with pytest.raises(RecordingError, match=regex("more than a clock …")):
            _cleaned("joints", np.array([0.0, share * span]), Clock("log"), sort=True)


#: Instructions that SQLite may take for a small file.
INSTRUCTIONS = 20_000_000


def counted(rows: int) -> str:
    numbers = f"SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {rows}"
    return f"WITH RECURSIVE n(x) AS ({numbers}) SELECT COUNT(*) FROM n"


def test_queries_of_a_small_bag_take_20_million_instructions(tmp_path: Path) -> None:
    path = tmp_path / "a.db3"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        database.execute("CREATE TABLE messages (id, topic_id, timestamp, data)")
        database.commit()
        looks = []
        database.set_progress_handler(lambda: looks.append(1), 100)
        database.execute(counted(10_000)).fetchall()
        per_row = 100 * len(looks) / 10_000
    bag = SqliteBag(path)
    with bag._opened() as database:
        assert database.execute(counted(int(0.8 * INSTRUCTIONS / per_row))).fetchall()
    with bag._opened() as database, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        database.execute(counted(int(1.3 * INSTRUCTIONS / per_row))).fetchall()


def empty_bag(path: Path, size: int = 0) -> SqliteBag:
    """A bag without messages, of at least some bytes."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        database.execute("CREATE TABLE messages (id, topic_id, timestamp, data)")
        database.execute("CREATE TABLE filler AS SELECT zeroblob(?) AS data", (size,))
        database.commit()
    return SqliteBag(path)


@pytest.mark.parametrize(("more", "is_run"), [(30_000_000, True), (54_000_000, False)])
def test_each_byte_of_a_bag_is_worth_20_instructions(
    tmp_path: Path, more: int, is_run: bool
) -> None:
    """Those of a small bag, and 40 million for 2 MB."""
    bag = empty_bag(tmp_path / "a.db3", 2_000_000)
    with bag._opened() as database:
        looks: list[int] = []
        with closing(sqlite3.connect(":memory:")) as scratch:
            scratch.set_progress_handler(lambda: looks.append(1), 100)
            scratch.execute(counted(10_000)).fetchall()
        rows = int((INSTRUCTIONS + more) / (100 * len(looks) / 10_000))
        if is_run:
            assert database.execute(counted(rows)).fetchall()
        else:
            with pytest.raises(sqlite3.OperationalError, match="interrupted"):
                database.execute(counted(rows)).fetchall()


@pytest.mark.parametrize(("size", "expected"), [(0, 64 << 20), (1_000_000, 100_000_000)])
def test_a_value_of_a_bag_has_64_mib_or_a_hundred_times_the_file(
    tmp_path: Path, size: int, expected: int
) -> None:
    bag = empty_bag(tmp_path / "a.db3", size)
    with bag._opened() as database:
        query = "SELECT length(zeroblob(?))"
        assert database.execute(query, (int(0.8 * expected),)).fetchall()
        with pytest.raises(sqlite3.DataError, match="too big"):
            database.execute(query, (int(1.3 * expected),)).fetchall()


@pytest.mark.parametrize(("value", "is_missing"), [(0.8e12, False), (1.25e12, True)])
def test_numbers_beyond_1e12_are_missing(value: float, is_missing: bool) -> None:
    mapping: Any = SimpleNamespace(
        sources={}, factor=lambda *_: 1.0, joints={"knee": SimpleNamespace(offset=0.0)}
    )
    data: Any = {"states": SimpleNamespace(columns={"tau": np.array([1.0, value, -value])})}
    times: Any = {"states": SimpleNamespace(rows=np.arange(3))}
    source: Any = SimpleNamespace(topic="states")
    quantities = Quantities(mapping, data, times, [])
    table = quantities._table("effort", {"knee": (source, "tau")})[:, 0]
    assert np.isnan(table).tolist() == [False, is_missing, is_missing]
