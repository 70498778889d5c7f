"""Suite files: what they may say, and how mistakes are told."""

from pathlib import Path

import numpy as np
import pytest

from mjrig.core.control.policy import CommandSpace
from mjrig.core.errors import MjrigError
from mjrig.lab.bench.suite import BenchSuite, BenchTask, bundled_suites, schedule
from tests.wording import regex

RANGES = np.array([[-0.4, 0.8], [-0.25, 0.25], [-0.8, 0.8]])
SPACE = CommandSpace(("vx", "vy", "wz"), np.array([0.5, 0.0, 0.0]), RANGES)


def parsed(text: str) -> BenchSuite:
    return BenchSuite.parse(text, Path("my.yaml"))


@pytest.mark.parametrize("name", bundled_suites())
def test_bundled_suites_can_be_read_and_written(name: str) -> None:
    suite = BenchSuite.load(name)
    assert suite.levels()
    assert BenchSuite(**suite.to_data()).to_data() == suite.to_data()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: []", "must have at least …"),
        ("tasks: [{name: a b}]", "my.yaml:1:…tasks[0].name: must be letters"),
        ("tasks:\n- {name: a}\n- {name: a}", "my.yaml:3:…'a' is taken by"),
        ("tasks: [{name: a, settle: 9}]", "my.yaml:1:…settle: must be below the …"),
        ("tasks: [{name: a, vary: kick}]", "levels: must be given with …"),
        ("tasks: [{name: a, randomise: kik=1}]", "kik…cannot be randomised…kick"),
        ("tasks: [{name: a, comand: grid}]", "comand…command"),
        ("tasks: [{name: a, command: gird}]", "1:28: tasks[0].command: must be one of …'grid'"),
        ("tasks: [{name: a, duration: -1}]", "1:29: tasks[0].duration: must be > 0 s"),
        ("seeds: 0", "1:8: seeds: must be"),
        ("[]", "must be a mapping"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, said: str) -> None:
    with pytest.raises(MjrigError, match=regex(said)):
        parsed(text)


def test_a_missing_suite_names_the_bundled_ones() -> None:
    with pytest.raises(MjrigError, match="quick"):
        BenchSuite.load("quik")


def test_levels_become_tasks() -> None:
    suite = parsed("tasks: [{name: slip, randomise: start=0.1, vary: friction, levels: [1, 0.5]}]")
    found = [(level.name, level.level, level.randomise) for level in suite.levels()]
    assert found == [
        ("slip_1", 1.0, "start=0.1,friction=1:1"),
        ("slip_0.5", 0.5, "start=0.1,friction=0.5:0.5"),
    ]
    assert [level.name for level in suite.levels(("slip_0.5",))] == ["slip_0.5"]


def test_a_grid_is_covered_once_by_as_many_seeds() -> None:
    task = BenchTask(name="walk", command="grid", speed=1.0)
    found = {tuple(schedule(task, SPACE, seed)[0][1]) for seed in range(45)}
    assert len(found) == 45
    for column, (low, high) in enumerate(RANGES):
        assert {min(f[column] for f in found), max(f[column] for f in found)} == {low, high}


def test_commands_are_within_the_ranges_and_drawn_alike_for_all_policies() -> None:
    other = CommandSpace(("vx", "vy", "wz"), SPACE.default, 2.0 * RANGES)
    for kind in ("grid", "steps", "flips", "forward", "stand"):
        task = BenchTask(name=kind, command=kind, speed=0.7, duration=9.0)
        for seed in range(20):
            mine, theirs = (
                np.array([c for _, c in schedule(task, s, seed)]) for s in (SPACE, other)
            )
            assert np.all(mine >= RANGES[:, 0]) and np.all(mine <= RANGES[:, 1])
            np.testing.assert_allclose(theirs, 2.0 * mine)


def test_flips_end_at_rest_and_turn_around() -> None:
    task = BenchTask(name="flips", command="flips", duration=8.0)
    commands = np.array([c for _, c in schedule(task, SPACE, 3)])
    assert not commands[-1].any()
    signs = np.sign(commands[:-1].sum(axis=1))
    assert np.all(signs[1:] == -signs[:-1])
