"""Plots keep what they showed when the user goes back in time."""

from typing import Any

import numpy as np

from mjrig.editor.session.ring_buffer import Ring
from tests.editor.windows import SWINGS, Bench


def test_what_came_after_the_moment_one_went_back_to_is_kept_as_the_run_before() -> None:
    ring = Ring(100)
    for i in range(10):
        ring.add(0.1 * i, float(i))
    ring.add(0.45, -1.0)  # the world was rewound to 0.4 and resumes from there
    assert ring.ordered()[1].tolist() == [0, 1, 2, 3, 4, -1]
    assert ring.former[1].tolist() == [4, 5, 6, 7, 8, 9]
    ring.add(0.45, -2.0)  # a single sample is no run
    assert ring.former.shape == (2, 6)
    ring.clear()
    assert ring.former.size == 0


def test_going_back_leaves_the_curve_where_it_was_and_the_new_run_beside_it() -> None:
    bench = Bench.on(SWINGS)
    simulation = bench.state.simulation
    ends: list[Any] = []

    def travels(ctx: Any) -> None:
        ctx.yield_(3)
        board = bench.window.plots.board
        (plot,) = board.plots
        name = next(path for path in plot.signals if path.endswith(".position"))
        simulation.step_once(1000)
        ctx.yield_(2)
        now = simulation.frame.time
        simulation.go_to(0.5 * now)
        ctx.yield_(2)
        ends.append((board.end(plot, simulation.frame.time), now))
        ends.append(len(board.samples(plot)[name][0]))
        shown = board.latest(plot, simulation.frame.time)[name]
        ends.append(shown == simulation.world.data.qpos[0])
        bench.state.session.set("left.PDController.kp", 40)
        simulation.step_once(100)
        ctx.yield_(2)
        former = board.former(plot)[name]
        ends.append(bool(np.isclose(former[0, -1], now)))
        ends.append(board.unit(plot))

    bench.run(travels)
    (end, now), samples, is_of_now, reaches, unit = ends
    assert end == now  # what came later is still to be seen
    assert samples == 1000
    assert is_of_now and reaches
    assert unit == "rad"
    assert not bench.problems
