"""How punctual serving is, beside the floor of the machine; and an hour of it.

    python -m benchmarks.serve_cost                          # floor and mjrig, in turns
    python -m benchmarks.serve_cost --soak 3600 --csv a.csv  # memory; two robots, two bridges

The floor is a bare loop that sleeps until absolute times 2 ms apart. A state can be late for three
reasons, which have a column each: the world stepped late, the process of DDS wrote late (by its own
stamp), the client read late. All are shares of states more than 1 ms behind the median of the run.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

import mjrig
from benchmarks.bridge_cost import (
    PATIENCE,
    SCENES,
    Client,
    resident,
    scene_with,
    until_over,
)
from mjrig.components import PDController
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.components.bridges.unitree_bridge import UnitreeBridge
from mjrig.core.processes.realtime_priority import Priority, Punctual, as_usual
from mjrig.scene import Pose

PERIOD = 0.002
ROBOTS = (("quadruped", "go2"), ("humanoid", "g1"))
#: States at the beginning that do not count: both sides are still finding each other.
_FIRST = 200


def late(times: Any) -> float:
    """Share that is more than 1 ms behind the median [%]; times are behind schedule, in seconds."""
    behind = np.asarray(times, dtype=float)
    return 100.0 * float((behind - np.median(behind) > 0.001).mean())


def floor(seconds: float) -> None:
    """A loop that does nothing but wake up; prints how late it was each time."""
    due, behind = time.monotonic() + PERIOD, []
    for _ in range(round(seconds / PERIOD)):
        time.sleep(max(due - time.monotonic(), 0.0))
        behind.append(time.monotonic() - due)
        due += PERIOD
    print(json.dumps(behind))


def client(kind: str, seconds: float, *, report: bool) -> None:
    """Answer every state with a command; prints tick, time of writing and of reading of each."""
    own, found = Client(kind), []
    motors, end = own.command["motor_cmd"], time.monotonic() + PATIENCE
    motors["kp"], motors["kd"] = 100.0, 3.0
    is_first = True
    while time.monotonic() < end:
        for now, written, state in own.stamped_states():
            if is_first:
                motors["q"], is_first = state["motor_state"]["q"], False
                end = time.monotonic() + seconds
            if report:
                found.append((int(state["tick"]), written, now))
        if not is_first:
            own.send()
    print(json.dumps(found), flush=True)
    os._exit(0)  # taking DDS down can wait for threads that wait for others


def socket_client(address: str, seconds: float) -> None:
    """Command over ZMQ, 500 times a second."""
    import msgpack
    import zmq

    robot: Any = zmq.Context.instance().socket(zmq.REQ)
    robot.rcvtimeo = 20_000
    robot.connect(address)
    end, due, k = time.monotonic() + seconds, time.monotonic(), 0
    while time.monotonic() < end:
        k += 1
        request = {"op": "set", "position": 0.001 * (k % 2), "kp": 60.0, "sequence": k}
        robot.send(msgpack.packb(request if k % 50 else {"op": "get"}))
        assert msgpack.unpackb(robot.recv())["ok"]
        due = max(due + PERIOD, time.monotonic() - PERIOD)
        time.sleep(max(due - time.monotonic(), 0.0))


def _child(*arguments: object, out: IO[str] | None = None) -> "subprocess.Popen[bytes]":
    """Another part of this file, with ordinary priority."""
    command = [sys.executable, "-m", "benchmarks.serve_cost", *map(str, arguments)]
    with as_usual():
        return subprocess.Popen(command, stdout=out, cwd=Path(__file__).parent.parent)


# Floor and mjrig ----------------------------------------------------------------------------------


def floor_late(seconds: float, priority: Priority) -> float:
    """Share of the bare loop that is late [%]."""
    with TemporaryFile("w+") as said:
        _child("--floor", "--seconds", seconds, "--priority", priority, out=said).wait()
        said.seek(0)
        return late(json.load(said))


def serve_late(
    name: str, kind: str, seconds: float, priority: Priority, of_client: Priority
) -> tuple[float, ...]:
    """Rate [Hz], shares that the world, DDS and the client were late with [%], lags dropped."""
    world = mjrig.World(scene_with(name, kind))
    with (
        TemporaryFile("w+") as said,
        Punctual(priority) as punctual,
        Serving(world, punctual=punctual) as serving,
    ):
        bridge, stepped = serving.bridges[0], {}
        send = bridge.send

        def noted() -> None:
            stepped[round(world.time * 1000.0) + 1] = time.time()
            send()

        bridge.__dict__["send"] = noted
        options = ("--client", kind, "--seconds", seconds, "--priority", of_client)
        until_over(serving, _child(*options, out=said))
        said.seek(0)
        found = json.load(said)[_FIRST:]
        rows = np.array([(tick / 1e3, stepped[tick], w, r) for tick, w, r in found])
        rate = (len(rows) - 1) / (rows[-1, 3] - rows[0, 3])
        shares = (late(rows[:, k] - rows[:, 0]) for k in (1, 2, 3))
        return rate, *shares, float(serving.pace.dropped)


def compare(seconds: float, rounds: int, of_client: Priority) -> None:
    """Print floor and mjrig, each at both priorities, in turns."""
    with Punctual() as asked:
        print(f"asked for real-time priority: {asked.text}; load {os.getloadavg()[0]:.1f}")
        priorities = list(Priority) if asked.is_granted else [Priority.NORMAL]
    print(
        "more than 1 ms late [%]     floor     world    writer  receiver      states  lags dropped"
    )
    for _ in range(rounds):
        for priority in priorities:
            for name, kind in ROBOTS:
                bare = floor_late(seconds, priority)
                rate, *shares, dropped = serve_late(name, kind, seconds, priority, of_client)
                cells = "".join(f"{share:>10.2f}" for share in (bare, *shares))
                what = f"{name}, {priority}"
                print(f"{what:<22}{cells}{rate:>9.1f} Hz{dropped:>9.0f}", flush=True)


# Soak ---------------------------------------------------------------------------------------------


def soak(seconds: float, path: Path | None) -> None:
    """Two robots, one commanded over DDS and one over ZMQ; memory of all processes."""
    scene = scene_with("humanoid", "g1")
    quadruped = SCENES.parent.parent / "assets" / "quadruped" / "quadruped.xml"
    dog = scene.add_actor(
        "dog", model=quadruped, keyframe="home", pose=Pose(position=(0.0, 3.0, 0.0))
    )
    dog.add_component(PDController(kp=150.0, kv=5.0, torque_limit=33.5))
    dog.add_component(SocketBridge(port=0, state_port=0, websocket=False))
    with ExitStack() as stack:
        serving = stack.enter_context(Serving(mjrig.World(scene)))
        kinds: Any = {type(b): b for b in serving.bridges}
        dds, sockets = kinds[UnitreeBridge], kinds[SocketBridge]
        programs = [
            _child("--silent-client", "g1", "--seconds", seconds + 60.0),
            _child("--socket", sockets.endpoints["request"], "--seconds", seconds + 60.0),
        ]
        stack.callback(lambda: [p.kill() for p in programs] and [p.wait() for p in programs])
        file = stack.enter_context(path.open("w", newline="")) if path else sys.stdout
        out = csv.writer(file)
        out.writerow(
            "time_s world_mb dds_mb dds_client_mb socket_client_mb states dds_commands "
            "socket_commands rejected steps late_steps lags_dropped running_programs".split()
        )
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            serving.run(10.0)
            pids = [os.getpid(), dds.link.pid, *(p.pid for p in programs)]
            reports = [b.traffic.report() for b in (dds, sockets)]
            pace = serving.pace
            out.writerow(
                [
                    round(passed),
                    *(f"{resident(pid):.2f}" for pid in pids),
                    reports[0].sent,
                    *(r.accepted for r in reports),
                    sum(r.rejected for r in reports),
                    pace.steps,
                    pace.late,
                    pace.dropped,
                    sum(p.poll() is None for p in programs),
                ]
            )
            file.flush()
            if path:
                print(f"{passed:6.0f} s", *(f"{resident(p):.1f}" for p in pids), flush=True)


def main() -> None:
    """Print the table, or soak."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--soak", type=float, metavar="S")
    parser.add_argument("--csv", type=Path)
    parser.add_argument(
        "--client-priority", type=Priority, default="normal", choices=list(Priority)
    )
    parser.add_argument("--floor", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--priority", type=Priority, default=Priority.NORMAL, help=argparse.SUPPRESS
    )
    parser.add_argument("--client", metavar="KIND", help=argparse.SUPPRESS)
    parser.add_argument("--silent-client", metavar="KIND", help=argparse.SUPPRESS)
    parser.add_argument("--socket", metavar="ADDRESS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        with Punctual(options.priority):
            floor(options.seconds)
    elif options.client or options.silent_client:
        kind = options.client or options.silent_client
        with Punctual(options.priority):
            client(kind, options.seconds, report=options.client is not None)
    elif options.socket:
        socket_client(options.socket, options.seconds)
    elif options.soak:
        soak(options.soak, options.csv)
    else:
        compare(options.seconds, options.rounds, options.client_priority)


if __name__ == "__main__":
    main()
