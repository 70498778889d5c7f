"""Two threads at work: edits from the window while the simulation plays."""

import random
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import AS_FAST_AS_POSSIBLE, SimThread
from tests.editor.windows import SWINGS


@pytest.fixture
def session() -> Iterator[Session]:
    scene = Scene.parse(SWINGS)
    thread = SimThread(World(scene, "python"))
    thread.set_speed(AS_FAST_AS_POSSIBLE)
    thread.start()
    yield Session(scene, thread)
    thread.stop()


def _kp(session: Session, actor: str) -> float:
    return float(session.simulation.call(lambda w: w[actor].controllers[0].gains()["kp"][0]))


def test_many_edits_of_every_kind_while_it_plays_all_arrive(session: Session) -> None:
    rng = random.Random(5)
    session.play()
    expected = {"left": 10.0, "right": 20.0}
    for i in range(24):
        actor = rng.choice(["left", "right"])
        kind = rng.randrange(6)
        if kind <= 2:
            expected[actor] = float(rng.randint(1, 99))
            session.set(f"{actor}.PDController.kp", expected[actor], merge=bool(kind))
        elif kind == 3:
            session.set(f"{actor}.pose.position", [i, 0, 0])
        elif kind == 4:
            session.simulation.post(lambda world: world.data.qvel.fill(0.1))
            session.simulation.reset()
        else:
            session.simulation.go_to(0.01)
            session.play()
        assert _kp(session, actor) == expected[actor]
    assert {a: _kp(session, a) for a in expected} == expected
    assert session.simulation.fault is None
    while session.undo():
        pass
    assert session.scene.to_text() == SWINGS
    assert _kp(session, "left") == 10.0


def test_a_frame_is_never_half_of_a_step(session: Session) -> None:
    """Frames are read while edits, resets and steps go on; each must be whole."""
    simulation = session.simulation
    session.play()
    stop = threading.Event()
    broken: list[str] = []

    def look() -> None:
        while not stop.is_set():
            frame = simulation.frame
            if frame.state[0] != frame.time:  # the state begins with the time
                broken.append(f"{frame.state[0]} is not {frame.time}")
            if abs(frame.time - 0.001 * frame.steps) > 1e-6:
                broken.append(f"{frame.steps} steps at {frame.time}")

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for number in range(200):
            simulation.reset()
            simulation.step_once(3)
            session.play()
            session.set("left.PDController.kp", 5 + number % 3, merge=True)
    finally:
        stop.set()
        watcher.join()
    assert not broken, broken[:3]


def test_calls_from_several_threads_all_return(session: Session) -> None:
    session.play()
    results: list[int] = []
    lock = threading.Lock()

    def ask(number: int) -> None:
        for i in range(50):
            got = session.simulation.call(lambda world, i=i: number * 1000 + i)  # type: ignore[misc]
            with lock:
                results.append(got)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a call did not come back"
    assert sorted(results) == [n * 1000 + i for n in range(4) for i in range(50)]


def test_after_the_end_calls_still_answer(session: Session) -> None:
    simulation = session.simulation
    assert isinstance(simulation, SimThread)
    session.play()
    simulation.stop()
    session.set("left.PDController.kp", 3)
    assert _kp(session, "left") == 3.0
    assert np.isfinite(simulation.world.data.qpos).all()
    simulation.stop()
