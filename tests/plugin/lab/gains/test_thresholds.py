"""Where assigned gains change: each case is on one of the two sides of a threshold."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mjrig.components import PDController
from mjrig.core.arrays import FloatArray
from mjrig.lab.check.feedback_loops import Group
from mjrig.lab.gains import stability_limits
from mjrig.lab.gains.assignment import Wish, _with_mode, assign, twins
from mjrig.lab.gains.gain_rows import rounded
from mjrig.lab.gains.pose_sampling import SampledPoses, Seen, _along, _PoseSearch
from mjrig.lab.gains.stability_limits import _lower_all, _Search, stable_shares
from mjrig.lab.responses.frequency_response import Mode
from mjrig.lab.rollouts.actuator_selection import choose
from tests.plugin.lab.gains.test_coupled import legs
from tests.plugin.lab.scenes import PD, scene
from tests.worlds import hinge, make_world


def _mirrored(heavier: float, *, larger: float = 1.0) -> bool:
    """Whether the knees are mirror images, the mass and the largest inertia of one given."""
    xml = legs(("left", "right"), (0.4, 0.4 * heavier))
    chosen, _ = choose(make_world(xml, [PDController(kp=20, kv=2)]))
    seen = [
        Seen(0.1, 0.1, 0.1 * (larger if c.binding.joint == "right_knee" else 1.0), 0.0, 0.0, 0.0)
        for c in chosen
    ]
    joints = {c.binding.joint: i for i, c in enumerate(chosen)}
    return twins(chosen, seen).get(joints["left_knee"]) == joints["right_knee"]


@pytest.mark.parametrize(("heavier", "are_alike"), [(1.008, True), (1.0125, False)])
def test_links_whose_masses_differ_by_a_percent_are_alike(heavier: float, are_alike: bool) -> None:
    assert _mirrored(heavier) is are_alike


@pytest.mark.parametrize(("larger", "are_alike"), [(1.04, True), (1.0625, False)])
def test_searched_inertias_of_mirror_images_differ_by_a_twentieth(
    larger: float, are_alike: bool
) -> None:
    assert _mirrored(1.0, larger=larger) is are_alike


@pytest.mark.parametrize(("size", "is_noted"), [(0.4, False), (0.6, True)])
def test_a_second_mode_of_half_the_first_is_noted(
    tmp_path: Path, size: float, is_noted: bool
) -> None:
    (assignment,) = assign(scene(tmp_path, hinge(), PD), Wish(4.0), poses=0).assignments
    modes = [Mode(4.0, 0.7, 0.9), Mode(9.0, 0.2, 0.9 * size)]
    notes = _with_mode(assignment, modes, ["", ""]).notes
    assert any(note.startswith("also 9 Hz") for note in notes) is is_noted


def test_an_edited_gain_has_five_digits() -> None:
    assert [rounded(v) for v in (1.23456789, 123456.7, 0.000123456)] == [1.2346, 123460, 0.00012346]


@pytest.mark.parametrize(("stable", "expected"), [(0.0125, 0.0125), (0.008, 0.0)])
def test_a_frequency_is_lowered_to_a_hundredth_at_most(stable: float, expected: float) -> None:
    """Twice a held kv is stable up to 2·I/h: here at this share of the frequency."""
    world = make_world(hinge(), [PDController(kp=0.0, kv=1.0)])
    chosen, _ = choose(world)
    kv = 0.5 / 0.001 / stable
    shares, _ = stable_shares(
        SampledPoses(world, 0, 0), chosen, lambda i, share: (0.0, kv * share), {}
    )
    assert shares == [pytest.approx(expected, rel=0.006)]


# Searches ---------------------------------------------------------------------------------------


def test_a_joint_is_tried_at_nine_positions_and_twice_at_four_finer_ones() -> None:
    tried: list[float] = []

    def cost(pose: FloatArray) -> float:
        tried.append(float(pose[0]))
        return (float(pose[0]) - 0.3) ** 2

    pose = np.array([1.0])
    _along(cost, pose, 0, -1.0, 1.0, cost(pose))
    assert np.unique(tried[1:10]) == pytest.approx(np.linspace(-1.0, 1.0, 9))
    assert len(tried) == 1 + 9 + 4 + 4
    assert pose[0] == pytest.approx(0.3, abs=2.0 / 64)


@pytest.mark.parametrize(("gain", "rounds"), [(0.8e-4, 1), (1.25e-4, 12)])
def test_a_search_ends_after_twelve_rounds_or_a_gain_of_a_ten_thousandth(
    gain: float, rounds: int
) -> None:
    calls = 0

    def cost(pose: FloatArray) -> float:
        nonlocal calls
        calls += 1
        return float((1.0 - gain) ** (calls / 17.0))

    search: Any = None
    _PoseSearch.best(search, cost, [(0, 0, -1.0, 1.0)], np.zeros(1))
    assert calls == 1 + 17 * rounds


def _chain(joints: int) -> str:
    """Hinges in a row."""
    bodies = ""
    for k in range(joints):
        bodies = f"""<body pos="0 0 -.1"><joint name="j{k}" axis="0 1 0" range="-1 1"/>
        <geom size=".01" mass=".1"/>{bodies}</body>"""
    motors = "".join(f'<motor joint="j{k}"/>' for k in range(joints))
    return f"""<mujoco><compiler angle="radian" autolimits="true"/><worldbody>{bodies}</worldbody>
    <actuator>{motors}</actuator></mujoco>"""


@pytest.mark.parametrize(("joints", "starts"), [(2, 60), (12, 10), (30, 6)])
def test_searches_for_unstable_poses_begin_in_six_or_more(
    monkeypatch: pytest.MonkeyPatch, joints: int, starts: int
) -> None:
    begun: list[FloatArray] = []

    def best(self: object, cost: object, every: object, start: FloatArray, **_: bool) -> Any:
        begun.append(start)
        return 0.0, start

    monkeypatch.setattr(_PoseSearch, "best", best)
    world = make_world(_chain(joints), [PDController(kp=1.0, kv=0.1)])
    chosen, _ = choose(world)
    poses = SampledPoses(world, 100, 0)
    poses.strained(chosen, np.ones(len(chosen)))
    assert len(begun) == 2 * starts  # over whole ranges, and near


def test_extreme_inertias_are_searched_from_the_best_five_poses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[float] = []

    def extreme(self: object, dof: int, sign: float, start: FloatArray) -> Any:
        begun.append(sign)
        return sign, start

    monkeypatch.setattr(_PoseSearch, "extreme", extreme)
    world = make_world(_chain(2), [PDController(kp=1.0, kv=0.1)])
    chosen, _ = choose(world)
    SampledPoses(world, 100, 0).seen(chosen)
    assert begun == [*[1.0] * 5, *[-1.0] * 5] * 2


def test_unstable_poses_are_searched_for_twelve_times() -> None:
    searched: list[object] = []
    search: Any = SimpleNamespace(share=[], lower=lambda: None, add=lambda groups: True)
    poses: Any = SimpleNamespace(
        world=SimpleNamespace(timestep=0.001), strained=lambda *given: searched.append(given)
    )
    _lower_all(search, poses, [], lambda i, share: (0.0, 0.0))
    assert len(searched) == 12


class _Unstable(_Search):
    """A search whose poses stay unstable."""

    def _holds(self, group: Group) -> bool:
        return False

    def _factors(self, group: Group) -> Any:
        return np.ones((3, 2))


@pytest.mark.parametrize(("kv", "lowered"), [(0.992, [0, 1]), (0.9875, [0])])
def test_joints_that_differ_by_a_percent_are_lowered_together_eight_times(
    monkeypatch: pytest.MonkeyPatch, kv: float, lowered: list[int]
) -> None:
    monkeypatch.setattr(stability_limits, "growing_joints", lambda *_: np.ones(2, bool))
    drives = [
        SimpleNamespace(actor="dog", actuator=name, row=row, kv=value)
        for name, row, value in zip("ab", np.eye(2), (1.0, kv), strict=True)
    ]
    group: Any = SimpleNamespace(
        drives=drives, dofs=[0, 1], plant=SimpleNamespace(mass=np.eye(2)), loops=lambda *_: ()
    )
    search = _Unstable([], lambda i, share: (0.0, 0.0), {})
    search._index = {("dog", "a"): 0, ("dog", "b"): 1}
    search.share = [1.0, 1.0]
    search._lower(group)
    expected = [0.995**8 if i in lowered else 1.0 for i in range(2)]
    assert search.share == pytest.approx(expected)
