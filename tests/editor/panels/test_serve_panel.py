"""Serving from the window: opened, watched, closed; gains from outside are shown, not saved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.core.control.setpoints import Source
from mjrig.data.recording.recorder import Recorder
from mjrig.editor.panels.serve_panel import ServePanel
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.lab.gains.gain_rows import gain_rows, set_gains
from tests.editor.ui_driver import app_with, run_ui_tests
from tests.places import SCENES

pytest.importorskip("zmq", reason="needs the extra 'bridge'")
msgpack = pytest.importorskip("msgpack")
QUADRUPED = SCENES / "quadruped.yaml"


@pytest.fixture
def panel() -> Iterator[ServePanel]:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.actors[0].add_component(SocketBridge(port=0, state_port=0, websocket=False))
    made = ServePanel(EditorState(Session(scene, Simulation(mjrig.World(scene)))))
    yield made
    if made.served.is_on:
        made.served.stop()


def bridge_of(panel: ServePanel) -> SocketBridge:
    found = panel.state.simulation.world["quadruped"].components[-1]
    assert isinstance(found, SocketBridge)
    return found


def ask(panel: ServePanel, **request: Any) -> dict[str, Any]:
    reply: dict[str, Any] = msgpack.unpackb(bridge_of(panel).answer(msgpack.packb(request)))
    return reply


def test_serve_opens_plays_and_shows_who_commands(panel: ServePanel) -> None:
    simulation = panel.state.simulation
    assert panel.served.is_possible and bridge_of(panel).phase is BridgePhase.CLOSED
    panel.served.start()
    assert bridge_of(panel).is_open and simulation.playing
    assert ask(panel, op="set", kp=77.0)["ok"]
    assert not ask(panel, op="set", kp=-1)["ok"]
    panel.served._looked = 0.0
    simulation.advance(2)
    (status,) = panel.served.status
    assert status.phase == "commanded" and status.traffic.accepted == 1
    assert status.rejected[-1].reason == "kp: must be >= 0, got -1"
    panel.served.stop()
    assert bridge_of(panel).phase is BridgePhase.CLOSED and panel.served.status == ()
    simulation.advance(1)


def test_gains_from_outside_are_in_the_table_with_their_sender_and_never_in_the_file(
    panel: ServePanel,
) -> None:
    data = panel.state.scene.to_data()
    panel.served.start()
    ask(panel, op="set", kp=77.0)
    world = panel.state.simulation.world
    row = gain_rows(world, panel.state.scene)[0]
    assert row.values["kp"] == 77.0
    assert row.origins["kp"] == "outside from quadruped.SocketBridge"
    assert not row.origins["torque_limit"].startswith("outside")
    assert panel.state.scene.to_data() == data
    panel.served.stop()
    row = gain_rows(world, panel.state.scene)[0]
    assert row.values["kp"] == 150.0 and not row.origins["kp"].startswith("outside")


def test_lock_step_pauses_the_window_and_run_plays_on(panel: ServePanel) -> None:
    simulation = panel.state.simulation
    panel.served.start()
    ask(panel, op="step", n=5)
    simulation.advance(1)
    assert not simulation.playing
    panel.served.tick()
    simulation.drain()
    assert not simulation.playing
    ask(panel, op="run")
    panel.served.tick()
    simulation.drain()
    assert simulation.playing


def test_a_world_that_takes_the_place_is_served_too(panel: ServePanel) -> None:
    panel.served.start()
    old = bridge_of(panel)
    world = mjrig.World(panel.state.scene)
    panel.state.simulation.replace(world, lambda before, after: None)
    assert old.phase is BridgePhase.CLOSED
    panel.served.tick()
    assert bridge_of(panel) is not old and bridge_of(panel).is_open


def test_the_panel_is_drawn_in_every_state(panel: ServePanel) -> None:
    def visit(ctx: Any) -> None:
        ctx.item_click("//Serve/Serve")
        ctx.yield_(3)
        assert bridge_of(panel).is_open
        ask(panel, op="set", position=np.zeros(12).tolist())
        ask(panel, op="nonsense")
        panel.served._looked = 0.0
        panel.state.simulation.advance(1)
        ctx.yield_(3)
        ctx.item_click("//Serve/Stop serving")
        ctx.yield_(3)
        assert not bridge_of(panel).is_open

    run_ui_tests(app_with(panel.state, [panel]), visit)


def test_the_lease_is_shown_whoever_has_it(panel: ServePanel) -> None:
    panel.served.start()
    robot, simulation = panel.state.simulation.world["quadruped"], panel.state.simulation

    def holders() -> tuple[str, ...]:
        panel.served._looked = 0.0
        simulation.advance(1)
        return panel.served.status[0].holders

    assert holders() == ()
    with robot.take(Source.UI, holder="hand"):
        assert not ask(panel, op="set", position=0.0)["ok"]
        assert holders() == ("hand",)
    assert ask(panel, op="set", position=0.0)["ok"]
    assert holders() == ("quadruped.SocketBridge",)
    assert ask(panel, op="release")["ok"]
    assert holders() == ()


def test_an_edit_of_one_gain_saves_it_and_none_from_outside(
    panel: ServePanel, tmp_path: Path
) -> None:
    panel.served.start()
    ask(panel, op="set", kp=77.0, kv=7.0)
    state = panel.state
    rows = gain_rows(state.simulation.world, state.scene)
    set_gains(state.scene, [(rows[0], {"kp": 90.0})])
    state.scene.move_to(tmp_path)
    state.scene.save(tmp_path / "saved.yaml")
    saved, own = (
        {row.actuator: row.values for row in gain_rows(mjrig.World(scene), scene)}
        for scene in (mjrig.Scene.load(tmp_path / "saved.yaml"), mjrig.Scene.load(QUADRUPED))
    )
    for name, values in saved.items():
        kp = 90.0 if name == rows[0].actuator else own[name]["kp"]
        assert values["kp"] == kp and values["kv"] == own[name]["kv"]


def test_a_served_run_is_recorded_replays_to_the_bit_and_is_diagnosed(
    panel: ServePanel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py", reason="needs the extra 'record'")
    state, path = panel.state, tmp_path / "run.h5"
    panel.served.start()
    with Recorder(state.simulation.world, path):
        state.simulation.advance(5)
        for k in range(4):
            position = (0.02 * k + state.simulation.world["quadruped"].position).tolist()
            assert ask(panel, op="set", position=position, kp=60.0 + 20.0 * k, kv=3.0)["ok"]
            state.simulation.advance(30)
    panel.served.stop()
    assert main(["replay", str(path), "--scene", str(QUADRUPED)]) == 0
    said = capsys.readouterr().out
    assert ": matches\n" in said and "bit-exact: over 0.125 s" in said, said
