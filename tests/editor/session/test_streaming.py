"""`mjrig edit --stream`: the signals of the world behind the window, through every edit."""

import numpy as np
import pytest

import mjrig
from mjrig.data.streams.sinks import Signals, Sink
from mjrig.editor.session.recording import streaming
from mjrig.editor.session.simulation import Simulation
from tests.places import SCENES


class Kept(Sink):
    """Keeps what it is given."""

    address = "a list"

    def __init__(self) -> None:
        self.rows: list[tuple[str, tuple[str, ...], float, Signals]] = []

    def put(self, robot: str, names: tuple[str, ...], time: float, signals: Signals) -> None:
        self.rows.append((robot, names, time, signals))

    def close(self) -> None:
        pass


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> Kept:
    kept = Kept()
    monkeypatch.setattr("mjrig.editor.session.recording.sink_named", lambda target: kept)
    return kept


def test_samples_come_at_the_streams_rate_and_are_what_the_world_did(sink: Kept) -> None:
    world = mjrig.World(SCENES / "quadruped_trot.yaml")
    simulation, alone = Simulation(world), mjrig.World(SCENES / "quadruped_trot.yaml")
    with streaming(simulation, "foxglove"):
        simulation.advance(41)
    assert [round(row[2] / world.timestep) for row in sink.rows] == [0, 10, 20, 30, 40]
    for _, names, time, signals in sink.rows:
        alone.step(round(time / world.timestep) - alone.steps)
        assert names == tuple(b.actuator for b in alone["quadruped"].bindings)
        assert np.array_equal(signals["position"], alone["quadruped"].position)
        assert np.array_equal(signals["effort"], alone["quadruped"].effort)


def test_it_goes_on_with_another_world(sink: Kept) -> None:
    simulation = Simulation(mjrig.World(SCENES / "quadruped.yaml"))
    with streaming(simulation, "foxglove"):
        simulation.advance(15)
        simulation.replace(mjrig.World(SCENES / "arm.yaml"), lambda old, new: None)
        simulation.advance(15)
    assert {row[0] for row in sink.rows[:2]} == {"quadruped"}
    assert "arm" in {row[0] for row in sink.rows[2:]}


def test_it_goes_on_when_a_controller_leaves_while_it_runs(sink: Kept) -> None:
    world = mjrig.World(SCENES / "arm.yaml", "python")
    simulation, robot = Simulation(world), world["arm"]
    with streaming(simulation, "foxglove"):
        simulation.advance(5)
        robot.remove_component(robot.controllers[0])
        simulation.advance(30)
    assert len(sink.rows) >= 2
    names, signals = sink.rows[-1][1], sink.rows[-1][3]
    assert all(len(values) == len(names) for values in signals.values())


def test_without_a_target_nothing_is_sampled(sink: Kept) -> None:
    simulation = Simulation(mjrig.World(SCENES / "pendulum.yaml"))
    with streaming(simulation, None):
        simulation.advance(20)
    assert not sink.rows
