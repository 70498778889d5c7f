"""Limits of log readers: each is noticed if it is doubled or halved."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.clocks import Clock, _cleaned
from mjrig.data.robot_logs.containers.rosbag2 import SqliteBag
from mjrig.data.robot_logs.field_names import meaning
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
