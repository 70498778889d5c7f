"""`mjrig serve` as it is called: programs come, are killed and are replaced; it ends when asked."""

import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from mjrig.cli.main import main
from mjrig.components.bridges.serving import LAGS, Serving
from mjrig.core.processes.realtime_priority import Punctual, is_realtime
from mjrig.core.sim.world import World
from tests.patience import PATIENCE
from tests.places import SCENES

zmq = pytest.importorskip("zmq", reason="needs the extra 'bridge'")
pytest.importorskip("websockets", reason="needs the extra 'bridge'")
msgpack = pytest.importorskip("msgpack")

HOLDER = """
import sys, time, msgpack, zmq
robot = zmq.Context.instance().socket(zmq.REQ)
robot.rcvtimeo = 20000
robot.connect(sys.argv[1])
while True:
    robot.send(msgpack.packb({"op": "set", "kp": float(sys.argv[2]), "position": 0.0}))
    assert msgpack.unpackb(robot.recv())["ok"]
    print("sent", flush=True)
    time.sleep(0.02)
"""


def write_scene(folder: Path, **ports: Any) -> Path:
    """The bundled quadruped with a SocketBridge."""
    given = {"port": 0, "state_port": 0, "websocket_port": 0, **ports}
    lines = "".join(f"        {name}: {value}\n" for name, value in given.items())
    text = (SCENES / "quadruped.yaml").read_text(encoding="utf-8").rstrip("\n")
    text = text.replace("../../assets", str(SCENES.parent.parent / "assets"))
    scene = folder / "scene.yaml"
    scene.write_text(f"{text}\n      - type: SocketBridge\n{lines}", encoding="utf-8")
    return scene


class Served:
    """The command in a process of its own; its lines as they come."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mjrig", "serve", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._new: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._new.put(line)
        self._new.put("")

    def wait_for(self, text: str) -> str:
        """The next line with this text."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            line = self._new.get(timeout=PATIENCE)
            self.lines.append(line)
            if text in line:
                return line
            if not line:
                break
        raise AssertionError(f"no line with {text!r}: {self.lines}")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reading.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def start_holder(address: str, kp: float) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLDER, address, str(kp)]
    made = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert made.stdout is not None and made.stdout.readline() == "sent\n"
    return made


def ask(address: str, **request: Any) -> dict[str, Any]:
    robot = zmq.Context.instance().socket(zmq.REQ)
    robot.linger, robot.rcvtimeo = 0, 30000
    try:
        robot.connect(address)
        robot.send(msgpack.packb(request))
        reply: dict[str, Any] = msgpack.unpackb(robot.recv())
        return reply
    finally:
        robot.close()


@pytest.mark.slow
def test_a_killed_program_makes_the_robot_damp_another_takes_over_and_it_ends_when_asked(
    tmp_path: Path,
) -> None:
    from websockets.sync.client import connect

    served = Served(str(write_scene(tmp_path)))
    programs: list[subprocess.Popen[str]] = []
    idle = ExitStack()
    try:
        line = served.wait_for("SocketBridge: request ")
        found = re.search(r"request (\S+), state (\S+), websocket (\S+)", line)
        assert found is not None
        request, _, web = found.groups()
        idle.enter_context(connect(web))  # it stays connected and asks for nothing
        programs.append(start_holder(request, 61.0))
        programs[0].kill()
        served.wait_for("no command for 0.5 s; the motors damp with 3 N·m·s/rad")
        assert ask(request, op="describe")["kp"] == [0.0] * 12
        programs.append(start_holder(request, 62.0))
        served.wait_for("commands arrive again")
        assert ask(request, op="describe")["kp"] == [62.0] * 12
        served.process.send_signal(signal.SIGINT)
        assert "0 rejected" in served.wait_for("states")
        assert served.process.wait(PATIENCE) == 0
    finally:
        idle.close()
        for program in programs:
            program.kill()
            program.communicate()
        served.end()


@pytest.mark.parametrize("port", ["port", "state_port", "websocket_port"])
def test_an_address_that_is_taken_is_one_sentence(
    tmp_path: Path, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        code = main(["serve", str(write_scene(tmp_path, **{port: number})), "--duration", "1"])
    out, said = capsys.readouterr()
    assert code != 0 and out == ""
    assert len(said.strip().splitlines()) == 1 and "Traceback" not in said
    assert "quadruped.SocketBridge: cannot listen on 127.0.0.1" in said and str(number) in said


def test_a_scene_without_a_bridge_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(SCENES / "quadruped.yaml")]) != 0
    out, said = capsys.readouterr()
    assert out == "" and len(said.strip().splitlines()) == 1
    assert "no actor has a bridge; add a SocketBridge" in said


def test_it_says_which_priority_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, during = str(write_scene(tmp_path)), []
    step = Serving.advance

    def noted(serving: Serving, steps: int) -> int:
        during.append(is_realtime())
        return step(serving, steps)

    monkeypatch.setattr(Serving, "advance", noted)
    for wanted in ("normal", "realtime"):
        during.clear()
        assert main(["serve", scene, "--duration", "0.01", "--priority", wanted]) == 0
        said = capsys.readouterr().out.splitlines()[1]
        assert during and set(during) == {said == "real-time priority"}
        assert said.startswith("normal priority") or wanted == "realtime"
        assert not is_realtime()


def test_a_world_that_is_too_slow_gives_its_priority_back(tmp_path: Path) -> None:
    world = World(write_scene(tmp_path))
    with Punctual() as punctual, Serving(world, punctual=punctual) as serving:
        if not serving.punctual.is_granted:
            pytest.skip(f"this user cannot have it: {serving.punctual.text}")
        for k in range(10):  # a lag now and then is no reason
            serving._drop_lag(10.0 * k)
        assert is_realtime()
        for k in range(LAGS):
            serving._drop_lag(200.0 + 0.15 * k)
        assert not is_realtime() and serving.pace.dropped == 10 + LAGS
        assert "too slow for the clock" in world.events[-1].message


def test_a_client_in_lock_step_needs_no_priority(tmp_path: Path) -> None:
    world = World(write_scene(tmp_path))
    with Punctual() as punctual, Serving(world, punctual=punctual) as serving:
        granted = serving.punctual.is_granted
        bridge: Any = serving.bridges[0]
        for op, expected in (("pause", False), ("run", granted)):
            assert b"true" in bridge.answer(b'{"op": "%s"}' % op.encode())
            serving.run(0.01)
            assert is_realtime() is expected


def test_an_open_network_and_a_rate_that_cannot_be_met_are_warned_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = write_scene(tmp_path, host="0.0.0.0", rate=300)
    assert main(["serve", str(scene), "--duration", "0.05", "--priority", "normal"]) == 0
    printed = capsys.readouterr()
    assert re.search(r"SocketBridge: request tcp://0.0.0.0:\d+, .*, token \S{40,}\n", printed.out)
    warning = "warning: quadruped.SocketBridge: "
    assert f"{warning}it listens on 0.0.0.0, which other machines can reach" in printed.err
    assert f"{warning}states are sent at 333.3 Hz instead of 300" in printed.err
