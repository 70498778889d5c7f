"""Serving from the window: opened, watched, closed; gains from outside are shown, not saved."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.bridge import BridgePhase
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.editor.serve.serve_panel import ServePanel
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.gains.gain_rows import gain_rows
from tests.editor.ui_driver import app_with, run_ui_tests
from tests.places import SCENES

pytest.importorskip("zmq", reason="needs the extra 'bridge'")
msgpack = pytest.importorskip("msgpack")


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
