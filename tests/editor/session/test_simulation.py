"""The simulation behind the window: edits between steps, time travel, faults."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.simulation import SimThread, Simulation
from tests.patience import PATIENCE

SCENE = """
mjrig: 1
sim: {timestep: 0.001}
actors:
  - name: swing
    model: package:tests.editor/pendulum.xml
    components:
      - {type: PDController, kp: 10, kv: 0.5}
"""


def _world() -> World:
    return World(Scene.parse(SCENE), "python")


@pytest.fixture
def thread() -> Iterator[SimThread]:
    made = SimThread(_world())
    made.start()
    yield made
    made.stop()


def _until(condition: object, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    assert callable(condition)
    while not condition():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.005)


def test_a_call_runs_between_steps_and_returns(thread: SimThread) -> None:
    thread.play()
    names = {thread.call(lambda world: threading.current_thread().name) for _ in range(3)}
    assert names == {"mjrig-sim"}
    thread.pause()
    _until(lambda: not thread.frame.playing)
    steps = thread.frame.steps
    thread.step_once(3)
    assert thread.frame.steps == steps + 3


def test_an_error_in_a_call_comes_back_and_the_thread_lives(thread: SimThread) -> None:
    with pytest.raises(ZeroDivisionError):
        thread.call(lambda world: 1 / 0)
    assert thread.call(lambda world: world.steps) == 0


def test_of_values_with_one_key_only_the_latest_is_applied() -> None:
    simulation = Simulation(_world())
    seen: list[int] = []
    for i in range(5):
        simulation.put("kp", lambda world, i=i: seen.append(i))  # type: ignore[misc]
    simulation.drain()
    assert seen == [4]


def test_posted_edits_run_exactly_once_in_order() -> None:
    simulation = Simulation(_world())
    seen: list[int] = []
    for i in range(5):
        simulation.post(lambda world, i=i: seen.append(i))  # type: ignore[misc]
    simulation.drain()
    simulation.drain()
    assert seen == [0, 1, 2, 3, 4]


def test_going_back_in_time_is_bit_exact() -> None:
    simulation = Simulation(_world())
    simulation.world["swing"].set_targets({".*": 0.7})
    simulation.advance(1000)
    simulation.publish()
    end = simulation.frame.state
    reached = simulation.go_to(0.4)
    assert reached <= 0.4 < reached + 0.05
    simulation.step_once(1000 - simulation.frame.steps)
    assert np.array_equal(simulation.frame.state, end)


def test_history_reaches_back_and_forgets_what_came_after() -> None:
    simulation = Simulation(_world())
    simulation.advance(500)
    simulation.go_to(0.2)
    simulation.advance(10)
    simulation.publish()
    first, last = simulation.frame.reach
    assert first == 0.0
    assert last == pytest.approx(simulation.frame.time)


def test_a_reset_goes_back_to_the_start() -> None:
    simulation = Simulation(_world())
    simulation.advance(50)
    simulation.reset()
    assert simulation.frame.steps == 0
    assert simulation.frame.reach == (0.0, 0.0)


class _Bomb(ActorComponent):
    """Fails after a while."""

    def before_controls(self, time: float) -> None:
        if time > 0.02:
            raise RuntimeError("the third party failed")


def test_a_component_that_raises_pauses_with_the_reason(thread: SimThread) -> None:
    thread.call(lambda world: world["swing"].add_component(_Bomb()))
    thread.play()
    _until(lambda: thread.fault is not None)
    assert thread.fault is not None
    assert "the third party failed" in thread.fault.text
    assert "before_controls" in thread.fault.traceback
    assert not thread.playing
    assert thread.call(lambda world: world.time) > 0.0


def test_divergence_pauses_names_the_joint_and_can_be_rewound() -> None:
    simulation = Simulation(_world())
    simulation.advance(100)
    simulation.play()
    simulation.call(lambda world: world.data.qvel.fill(1e12))
    simulation.advance(10)
    assert simulation.fault is not None
    assert simulation.fault.joint == "swing"
    assert not simulation.playing
    assert simulation.go_to(simulation.fault.time) > 0.05


def test_the_speed_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be > 0, got 0"):
        Simulation(_world()).set_speed(0.0)


def test_the_thread_keeps_pace_with_the_clock(thread: SimThread) -> None:
    thread.set_speed(2.0)
    thread.play()
    _until(lambda: thread.frame.time > 0.4)
    assert thread.frame.real_time_factor > 0.0  # how close to 2 is the benchmark's business
