"""Several policies on one robot: who is in charge, and what the others keep."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController, PolicySwitch
from tests.components.policies.small import constants, counting, linear, write
from tests.wording import regex
from tests.worlds import arm, make_robot


def fixed(folder: Path, name: str, *values: float, **said: Any) -> str:
    """A policy that commands these positions."""
    (folder / name).mkdir()
    linear(folder / name / "policy.onnx", [list(values)])
    return str(write(folder / name, observation=constants(1.0), **said))


def made(*options: dict[str, Any], **more: Any) -> tuple[mjrig.World, Any, PolicySwitch]:
    switch = PolicySwitch(options=list(options), **more)
    world, robot = make_robot(arm(), PDController(kp=10, kv=1), switch)
    found = robot.components[-1]
    assert isinstance(found, PolicySwitch)
    return world, robot, found


def targets(robot: Any) -> list[float]:
    found: list[float] = robot.setpoints.values[0].round(6).tolist()
    return found


def pair(folder: Path, **more: Any) -> tuple[mjrig.World, Any, PolicySwitch]:
    a, b = fixed(folder, "a", 1.0, 2.0), fixed(folder, "b", -1.0, 0.5)
    return made({"name": "a", "file": a}, {"name": "b", "file": b}, **more)


def test_the_choice_is_in_charge(tmp_path: Path) -> None:
    world, robot, switch = pair(tmp_path)
    world.step()
    assert targets(robot) == [1.0, 2.0] and switch.current == "a"
    switch.choice = "b"
    world.step()
    assert targets(robot) == [-1.0, 0.5] and switch.current == "b"
    assert switch.observation.tolist() == [1.0, 1.0] and switch.action.tolist() == [-1.0, 0.5]
    switch.choice = ""
    world.step()
    assert targets(robot) == [1.0, 2.0]


def test_targets_go_over_in_a_straight_line(tmp_path: Path) -> None:
    world, robot, switch = pair(tmp_path, blend=0.01)
    world.step()
    switch.choice = "b"
    start = world.data.time
    for _ in range(20):
        now = world.data.time
        world.step()
        share = min((now - start) / 0.01, 1.0)
        wanted = (1 - share) * np.array([1.0, 2.0]) + share * np.array([-1.0, 0.5])
        assert targets(robot) == pytest.approx(wanted.tolist(), abs=1e-6)
    assert share == 1.0


def test_time_decides(tmp_path: Path) -> None:
    a, b = fixed(tmp_path, "a", 1.0, 2.0), fixed(tmp_path, "b", -1.0, 0.5)
    world, _, switch = made({"name": "a", "file": a}, {"name": "b", "file": b, "after": 0.01})
    names = []
    for _ in range(10):
        world.step()
        names.append(switch.current)
    dt = world.model.opt.timestep
    assert names == ["a" if i * dt < 0.01 - 1e-9 else "b" for i in range(10)]


def test_the_command_decides(tmp_path: Path) -> None:
    command = {"names": ["vx"], "default": [0.0]}
    walk = fixed(tmp_path, "walk", 1.0, 2.0, command=command, default=[0.25, 0.5],
                 action={"offset": 0.0})  # fmt: skip
    world, robot, switch = made(
        {"name": "walk", "file": walk}, {"name": "stand", "when": "still", "limit": 0.2}
    )
    world.step()
    assert switch.current == "stand" and targets(robot) == [0.25, 0.5]
    switch.command = [0.5]
    world.step()
    assert switch.current == "walk" and targets(robot) == [1.0, 2.0]
    switch.command = [0.1]
    world.step()
    assert switch.current == "stand" and targets(robot) == [0.25, 0.5]


def test_each_keeps_its_state_and_a_rewound_run_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "count").mkdir()
    counting(tmp_path / "count" / "policy.onnx", 1)
    count = str(write(tmp_path / "count", observation=constants(1.0)))
    other = fixed(tmp_path, "b", -1.0, 0.5)
    world, robot, switch = made({"name": "count", "file": count}, {"name": "b", "file": other})
    world.step(3)
    assert targets(robot) == [2.0, 2.0]
    switch.choice = "b"
    world.step(4)
    switch.choice = "count"
    world.step()
    assert targets(robot) == [3.0, 3.0]  # as if it had not been away
    kept = world.snapshot()
    world.step(2)
    later = targets(robot)
    world.restore(kept)
    world.step(2)
    assert targets(robot) == later == [5.0, 5.0]
    world.reset()
    world.step()
    assert targets(robot) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "more", "problem"),
    [
        ([], {}, "options: needs a policy with …"),
        ([{"name": "hold"}], {}, "options: needs a policy with …"),
        ([{"name": "a"}, {"name": "a"}], {}, "'a' is there twice"),
        ([{"name": ""}], {}, "needs a name"),
        ([{"name": "walk"}], {"choice": "wak"}, "no option 'wak'; did you … 'walk'"),
    ],
)
def test_what_cannot_be_switched_is_refused(options: Any, more: Any, problem: str) -> None:
    with pytest.raises(mjrig.MjrigError, match=regex(problem)):
        made(*options, **more)


def test_other_joints_are_refused(tmp_path: Path) -> None:
    a = fixed(tmp_path, "a", 1.0, 2.0)
    b = fixed(tmp_path, "b", 1.0, joints=["elbow"])
    with pytest.raises(mjrig.BindingError, match=regex("b: commands other joints than …")):
        made({"name": "a", "file": a}, {"name": "b", "file": b})


def test_a_recording_says_who_was_in_charge(tmp_path: Path) -> None:
    world, _, switch = pair(tmp_path)
    with mjrig.Recorder(world, tmp_path / "run.h5"):
        world.step(2)
        switch.choice = "b"
        world.step(3)
    ticks = mjrig.read_recording(tmp_path / "run.h5").actors["robot"].policy
    assert ticks is not None
    assert ticks.observation[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert ticks.action[:, 0].tolist() == [1, 1, -1, -1, -1]
