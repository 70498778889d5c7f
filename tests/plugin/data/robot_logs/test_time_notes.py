"""Sentences about times are true: whose clock is ahead, where commands end, what steps they are."""

import re
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.cli.recording_summary import log_summary
from mjrig.data.robot_logs.clocks import Clock, Timed
from mjrig.data.robot_logs.delay_estimation import Effect
from mjrig.data.robot_logs.log_reader import open_log
from mjrig.data.robot_logs.log_recording import clocks_said, effect_said
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(2.0)


@pytest.mark.parametrize("until", [0.3, 0.9, 1.5, 1.7, 1.85, 2.0])
@pytest.mark.parametrize("every", [1, 4])
def test_commands_that_end_before_the_states_are_said(
    tmp_path: Path, run: sim.Run, until: float, every: int
) -> None:
    """By more than 0.2 s and 20 of their periods; both ends are where they were written."""
    store = sim.ros2()
    messages = sim.joint_messages(run, store)
    first = min(s.log for s in messages if s.topic == "/joint_states")
    commands = [s for s in messages if s.topic != "/joint_states"][::every]
    commands = [s for s in commands if s.log - first < until * 1e9]
    states = [s for s in messages if s.topic == "/joint_states"]
    kept = sorted([*states, *commands], key=lambda sent: sent.log)
    path = sim.write_rosbag2(tmp_path / "bag", kept, store, "SQLITE3")
    notes = mjrig.read_recording(path, {"offset": 0.0}).notes
    logs = np.array([s.log for s in commands], dtype=np.int64)
    end = float(logs[-1] - first) * 1e-9
    last = float(states[-1].log - first) * 1e-9
    period = float(np.median(np.diff(logs))) * 1e-9
    said = [n for n in notes if "the last one is held" in n]
    assert len(said) == (last - end > max(0.2, 20 * period))
    log = open_log(path, None)
    assert log is not None
    assert (mentions(log_summary(log, {}), "the last one is …")) == bool(said)
    for note in said:
        found = re.fullmatch(
            r"commands of (\S+) end at ([\d.]+) s, states at ([\d.]+) s: the last one is held", note
        )
        assert found is not None
        assert found.group(1) == commands[0].topic
        assert float(found.group(2)) == pytest.approx(end, abs=0.02)
        assert float(found.group(3)) == pytest.approx(last, abs=0.02)


def _timed(offset: float | None) -> Timed:
    none = np.zeros(0)
    clock = Clock("header", offset, 1e-5)
    return Timed("/states", np.zeros(0, np.intp), none, clock, 0.01, 0, 0, 0, 0, ())


@pytest.mark.parametrize("offset", [-3.5, -0.00021, 0.0, 0.00021, 1.23407])
def test_a_clock_is_ahead_or_behind(offset: float) -> None:
    (said,) = clocks_said([_timed(offset)])
    where, taken = ("behind", "including") if offset < 0.0 else ("ahead of", "less")
    assert f"{abs(offset) * 1e3:.2f} ± 0.01 ms {where} the recorder's, {taken} what" in said
    assert "is -" not in said
    assert not [*clocks_said([_timed(None)])]


@pytest.mark.parametrize("timestep", [0.0005, 0.001, 0.002, 0.004])
@pytest.mark.parametrize("delay", [0.00363, 0.004, 0.0071])
@pytest.mark.parametrize("error", [0.0002, 0.00113])
def test_whether_commands_are_moved_is_said_of_a_timestep(
    timestep: float, delay: float, error: float
) -> None:
    """The same delay is known well enough for long steps and not for short ones."""
    offset, said = effect_said(Effect(delay, error, 6), timestep)
    assert f"of {timestep * 1e3:g} ms" in said
    assert ("too uncertain" in said) == (error > timestep / 2.0)
    assert (mentions(said, "by which they are …")) == (offset != 0.0)
    if offset:
        whole = (delay - offset) / timestep
        assert whole == pytest.approx(round(whole))
