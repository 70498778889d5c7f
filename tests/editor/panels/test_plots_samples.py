"""Rings that are read while they are written, and curves thinned out for the screen."""

import threading
from collections.abc import Callable
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.panels.plot_model import thinned, value_at
from mjrig.editor.session.ring_buffer import Ring
from mjrig.editor.session.signals import catalogue
from mjrig.editor.text import matches


def filled(ring: Ring, *times: float) -> Ring:
    for time in times:
        ring.add(time, 10.0 * time)
    return ring


def test_the_oldest_sample_goes_first() -> None:
    ring = filled(Ring(4), 1, 2, 3)
    assert ring.ordered().tolist() == [[1, 2, 3], [10, 20, 30]]
    filled(ring, 4, 5, 6)
    assert ring.ordered().tolist() == [[3, 4, 5, 6], [30, 40, 50, 60]]
    assert (ring.count, ring.capacity, ring.latest) == (4, 4, 60.0)


def test_an_empty_ring_has_nothing() -> None:
    ring = Ring(4)
    assert ring.ordered().shape == (2, 0)
    assert ring.since(1.0).shape == (2, 0)
    assert isnan(ring.latest)
    filled(ring, 1, 2)
    ring.clear()
    assert (ring.count, ring.ordered().shape) == (0, (2, 0))
    assert filled(ring, 0.5).ordered().tolist() == [[0.5], [5.0]]


@pytest.mark.parametrize(
    ("begin", "times"),
    [(-1, [3, 4, 5, 6]), (3, [3, 4, 5, 6]), (4.5, [4, 5, 6]), (5, [4, 5, 6]), (9, [6])],
)
def test_samples_since_a_time_begin_with_the_one_before(begin: float, times: list[int]) -> None:
    ring = filled(Ring(4), 1, 2, 3, 4, 5, 6)
    assert ring.since(begin)[0].tolist() == times


def test_what_did_not_happen_after_going_back_is_forgotten() -> None:
    ring = filled(Ring(4), 1, 2, 3, 4, 5, 6)
    filled(ring, 4.5)
    assert ring.ordered().tolist() == [[3, 4, 4.5], [30, 40, 45]]
    filled(ring, 4.5)
    assert ring.ordered()[0].tolist() == [3, 4, 4.5]
    filled(ring, 5, 6)
    assert ring.ordered()[0].tolist() == [4, 4.5, 5, 6]
    filled(ring, 0)
    assert ring.ordered()[0].tolist() == [0]


def test_a_reader_never_sees_a_torn_sample() -> None:
    ring = Ring(64)
    stop = threading.Event()

    def write() -> None:
        number, rounds = 0, 0
        while not stop.is_set():
            number += 1
            ring.add(float(number), -2.0 * number)
            if number == 1000:
                rounds += 1
                number = 0
                if rounds % 3 == 0:
                    ring.clear()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3000):
            time, values = ring.ordered()
            assert np.all(np.diff(time) > 0.0)
            np.testing.assert_array_equal(values, -2.0 * time)
    finally:
        stop.set()
        writer.join()


def test_samples_that_are_overwritten_during_the_copy_are_dropped() -> None:
    class Interrupted(Ring):
        def _copy(self, first: int, end: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            copied = super()._copy(first, end)
            for action in actions:
                action()
            actions.clear()
            return copied

    ring = Interrupted(4)
    actions: list[Callable[[], object]] = []
    filled(ring, 1, 2, 3, 4)
    actions = [lambda: filled(ring, 5, 6)]
    assert ring.ordered()[0].tolist() == [3, 4]
    actions = [ring.clear]
    assert ring.ordered().shape == (2, 0)


# Curves -----------------------------------------------------------------------------------------


def samples(count: int, end: float = 10.0) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    time = np.linspace(0.0, end, count)
    return np.stack([time, np.sin(time)])


def test_few_samples_are_drawn_as_they_are() -> None:
    data = samples(101)
    np.testing.assert_array_equal(thinned(data, -1.0, 11.0), data)
    part = thinned(data, 2.0, 3.0)
    assert part[0][[0, -1]] == pytest.approx([1.9, 3.1])  # one more on each side
    assert part.flags.c_contiguous


def test_many_samples_keep_their_peaks_and_few_points() -> None:
    data = samples(30_000)
    data[1, 12_345] = 7.0
    data[1, 20_001] = -8.0
    curve = thinned(data, 0.0, 10.0, 500)
    assert curve.shape[1] <= 504
    assert (curve[1].max(), curve[1].min()) == (7.0, -8.0)
    assert np.all(np.diff(curve[0]) >= 0.0)
    peak = curve[0][curve[1].argmax()]
    assert peak == data[0, 12_345]


@pytest.mark.parametrize("seed", range(4))
def test_thinned_points_are_samples_and_hold_the_extremes_of_every_stretch(seed: int) -> None:
    """Also of a lone sample anywhere, with gaps, and at uneven times."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.uniform(1e-4, 2e-3, 9000))
    data = np.stack([time, np.sin(3.0 * time)])
    spikes = rng.choice(9000, 40, replace=False)
    data[1, spikes] += rng.choice([-5.0, 5.0], 40)
    data[1, rng.choice(9000, 300)] = np.nan
    begin, end = float(time[500]), float(time[8500])
    curve = thinned(data, begin, end, 300)
    made_of = {(t, str(v)) for t, v in data.T}
    assert all((t, str(v)) in made_of for t, v in curve.T)
    assert np.all(np.diff(curve[0]) >= 0.0)
    drawn = set(curve[1].tolist())
    stretch = np.floor(data[0] / (2.0 * (end - begin) / 300))
    for number in np.unique(stretch[501:8499])[1:-1]:
        there = data[1, stretch == number]
        assert {np.nanmin(there), np.nanmax(there)} <= drawn


def test_a_thinned_slope_stays_a_slope() -> None:
    time = np.linspace(0.0, 10.0, 20_000)
    for values in (time, -time):
        steps = np.diff(thinned(np.stack([time, values]), 0.0, 10.0, 400)[1])
        assert np.all(steps >= 0.0) or np.all(steps <= 0.0)


def test_a_moving_window_shows_the_same_points() -> None:
    data = samples(30_000)
    one, two = (thinned(data, begin, begin + 5.0, 400) for begin in (1.0, 1.1))
    common = (one[0] > 1.5) & (one[0] < 5.5)
    assert np.isin(one[0][common], two[0]).all()


def test_a_gap_hides_only_itself() -> None:
    data = samples(10_000)
    data[1, 5000] = np.nan
    assert not np.isnan(thinned(data, 0.0, 10.0, 100)[1]).any()


def test_nothing_to_draw() -> None:
    assert thinned(np.zeros((2, 0)), 0.0, 1.0).shape == (2, 0)
    assert thinned(samples(10), 5.0, 5.0).shape[1] <= 3


def test_the_nearest_sample_is_read() -> None:
    data = np.array([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]])
    assert [value_at(data, t) for t in (0.0, 0.4, 0.6, 2.0)] == [5.0, 5.0, 6.0, 7.0]
    assert isnan(value_at(data, -0.1)) and isnan(value_at(data, 2.1))
    assert isnan(value_at(np.zeros((2, 0)), 0.0))


def test_words_match_in_any_order_and_case() -> None:
    assert matches("", "anything") and matches("  ", "x")
    assert matches("EFFORT fl", "dog.FL_hip.raw_effort")
    assert not matches("effort rr", "dog.FL_hip.raw_effort")


def test_setpoints_of_native_servos_have_the_unit_of_their_joint(tmp_path: Path) -> None:
    """Unless they are counted in other units, as those of a gripper from 0 to 255."""
    model = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/>
    <body><joint name="b" type="slide"/><geom size=".1"/></body></body></worldbody><actuator>
    <position name="a" joint="a" kp="9"/><position name="b" joint="b" kp="9"/>
    <general name="c" joint="b" gainprm="2" biastype="affine" biasprm="0 -9"/>
    </actuator></mujoco>"""
    (tmp_path / "r.xml").write_text(model)
    scene = Scene()
    scene.add_actor("r", model=str(tmp_path / "r.xml"))
    units = {info.path: info.unit for info in catalogue(World(scene))}
    assert [units[f"r.{name}.setpoint"] for name in "abc"] == ["rad", "m", "rad or m"]
