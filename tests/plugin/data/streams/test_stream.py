"""`--stream`: what a client receives is what the world did, and the world never waits for it."""

import json
import socket as socket_module
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import MjrigError
from mjrig.data.streams.sinks import Signals, Sink, sink_named
from mjrig.data.streams.stream import WAITING, Stream
from tests.patience import PATIENCE
from tests.places import SCENES
from tests.wording import mentions, regex


class Kept(Sink):
    """Keeps what it is given; `gate` holds it up, `fails` makes it fail."""

    address = "a list"

    def __init__(self) -> None:
        self.rows: list[tuple[str, tuple[str, ...], float, Signals]] = []
        self.gate, self.fails, self.closed = threading.Event(), False, False
        self.gate.set()

    def put(self, robot: str, names: tuple[str, ...], time: float, signals: Signals) -> None:
        self.gate.wait()
        if self.fails:
            raise OSError("the viewer is gone")
        self.rows.append((robot, names, time, signals))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def world() -> mjrig.World:
    return mjrig.World(SCENES / "quadruped_trot.yaml")


def test_the_samples_are_what_the_world_did(world: mjrig.World) -> None:
    robot, sink = world["quadruped"], Kept()
    truth = []
    with Stream(world, sink) as stream:
        for _ in range(10):
            world.step(stream.every)
            stream.send()
            row = (world.time, robot.position, robot.velocity, robot.effort, robot.applied_effort)
            truth.append([np.array(v) for v in row])
    assert sink.closed and len(sink.rows) == 10 and stream.dropped == 0
    columns = [robot.actuator_names.index(n) for n in sink.rows[0][1]]
    for (name, _, time, signals), (then, position, velocity, effort, applied) in zip(
        sink.rows, truth, strict=True
    ):
        assert name == "quadruped" and time == then
        assert np.array_equal(signals["position"], position)
        assert np.array_equal(signals["velocity"], velocity)
        assert np.array_equal(signals["effort"], effort)
        assert np.array_equal(signals["applied_effort"], applied)
    assert np.array_equal(sink.rows[-1][3]["target"], robot.setpoints.position[columns])


def test_a_slow_sink_loses_samples_and_stops_nothing(world: mjrig.World) -> None:
    sink = Kept()
    sink.gate.clear()
    with Stream(world, sink) as stream:
        for _ in range(WAITING + 50):
            stream.send()  # it would never return if it waited
        # One sample may have left the queue for the sink.
        assert 49 <= stream.dropped <= 50
        sink.gate.set()
    assert len(sink.rows) + stream.dropped == WAITING + 50
    assert "samples dropped" in stream.summary()


def test_a_sink_that_hangs_does_not_hold_up_the_end(
    world: mjrig.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.data.streams.stream.PATIENCE", 0.1)
    sink = Kept()
    sink.gate.clear()
    with Stream(world, sink) as stream:
        for _ in range(WAITING + 50):
            stream.send()
    assert "took nothing" in stream.summary() and not sink.closed
    sink.gate.set()


def test_a_sink_that_fails_ends_the_stream_and_not_the_run(world: mjrig.World) -> None:
    sink = Kept()
    sink.fails = True
    with Stream(world, sink) as stream:
        for _ in range(5):
            world.step()
            stream.send()
    assert world.steps == 5
    assert mentions(stream.summary(), "ended by OSError: the viewer …")


def test_servos_of_the_model_are_sampled_too() -> None:
    world, sink = mjrig.World(SCENES / "workcell.yaml"), Kept()
    with Stream(world, sink) as stream:
        stream.send()
    assert {row[0] for row in sink.rows} == {"arm", "gripper", "dog"}
    for _, names, _, signals in sink.rows:
        assert {len(values) for values in signals.values()} == {len(names)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("foxgolve", "did you mean 'foxglove'"),
        ("foxglove:http", "the port must be …"),
        ("foxglove:70000", "the port must be …"),
        ("rerun:run.h5", "ends in .rrd"),
    ],
)
def test_a_wrong_name_is_told(text: str, problem: str) -> None:
    with pytest.raises(MjrigError, match=regex(problem)):
        sink_named(text)


def test_a_client_of_foxglove_receives_the_signals(world: mjrig.World) -> None:
    pytest.importorskip("foxglove", reason="the extra stream is not installed")
    client = pytest.importorskip("websockets.sync.client", reason="the extra bridge is missing")
    sink = sink_named("foxglove:0")
    with Stream(world, sink) as stream:
        world.step(stream.every)
        stream.send()
        with client.connect(sink.address, subprotocols=["foxglove.sdk.v1"]) as socket:
            channel = _advertised(socket)
            asked = {"op": "subscribe", "subscriptions": [{"id": 7, "channelId": channel["id"]}]}
            asked |= {"channelIds": [channel["id"]]}
            socket.send(json.dumps(asked))
            message = _first_message(socket, world, stream)
    assert channel["topic"] == "/quadruped" and channel["encoding"] == "json"
    robot = world["quadruped"]
    assert set(message["position"]) == {b.actuator for b in robot.bindings}
    assert 0.0 < message["time"] <= world.time


def _advertised(socket: Any) -> dict[str, Any]:
    while True:
        said = socket.recv(timeout=PATIENCE)
        if isinstance(said, str) and json.loads(said).get("op") == "advertise":
            found: dict[str, Any] = json.loads(said)["channels"][0]
            return found


def _first_message(socket: Any, world: mjrig.World, stream: Stream) -> dict[str, Any]:
    """Of the binary kind 1: subscription, time in ns, JSON."""
    for _ in range(200):
        world.step(stream.every)
        stream.send()
        try:
            said = socket.recv(timeout=0.1)
        except TimeoutError:
            continue
        if isinstance(said, bytes) and said[0] == 1:
            _, nanoseconds = struct.unpack_from("<IQ", said, 1)
            found: dict[str, Any] = json.loads(said[13:])
            assert nanoseconds == round(found["time"] * 1e9)
            return found
    raise AssertionError("no message came")


def test_a_port_that_is_taken_is_told(world: mjrig.World) -> None:
    pytest.importorskip("foxglove", reason="the extra stream is not installed")
    sink = sink_named("foxglove:0")
    port = sink.address.rpartition(":")[2]
    with pytest.raises(MjrigError, match=f"foxglove:{port}: cannot listen"):
        sink_named(f"foxglove:{port}")
    sink.close()


def test_a_run_streams_into_a_file_for_rerun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rerun", reason="the extra stream is not installed")
    file = tmp_path / "run.rrd"
    scene = str(SCENES / "pendulum.yaml")
    assert main(["run", scene, "--stream", f"rerun:{file}", "--duration", "0.1"]) == 0
    said = capsys.readouterr().out
    assert mentions(said, "running at real time; Ctrl-C …") and f"stream to {file}" in said
    assert file.read_bytes()[:4] == b"RRF2"


def test_a_run_that_no_viewer_of_rerun_looks_at_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("rerun", reason="the extra stream is not installed")
    with socket_module.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scene = str(SCENES / "pendulum.yaml")
    assert main(["run", scene, "--stream", f"rerun:{port}", "--duration", "0.1"]) == 0
    assert f"stream: rerun+http://127.0.0.1:{port}/proxy" in capsys.readouterr().out


def test_serving_streams_beside_its_bridges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("zmq", reason="the extra bridge is not installed")
    pytest.importorskip("rerun", reason="the extra stream is not installed")
    (tmp_path / "scene.yaml").write_text(
        "mjrig: 1\nactors:\n- name: swing\n  model: package:mjrig.assets/pendulum/pendulum.xml\n"
        "  components:\n  - {type: SocketBridge, port: 0, state_port: 0, websocket: false}\n"
    )
    file = tmp_path / "run.rrd"
    asked = ["serve", str(tmp_path / "scene.yaml"), "--duration", "0.2", "--quiet"]
    assert main([*asked, "--stream", f"rerun:{file}"]) == 0
    assert f"stream: {file}" in capsys.readouterr().out
    assert file.read_bytes()[:4] == b"RRF2"
