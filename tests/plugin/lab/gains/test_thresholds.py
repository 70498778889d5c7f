"""Where assigned gains change: each case is on one of the two sides of a threshold."""

from pathlib import Path

import pytest

from mjrig.components import PDController
from mjrig.lab.gains.assignment import Wish, _with_mode, assign, twins
from mjrig.lab.gains.gain_rows import rounded
from mjrig.lab.gains.pose_sampling import SampledPoses, Seen
from mjrig.lab.gains.stability_limits import stable_shares
from mjrig.lab.responses.frequency_response import Mode
from mjrig.lab.rollouts.actuator_selection import choose
from tests.plugin.lab.gains.test_coupled import legs
from tests.plugin.lab.scenes import PD, scene
from tests.worlds import hinge, make_world

SEEN = Seen(0.1, 0.1, 0.1, 0.0, 0.0, 0.0)


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
