"""What a bridge costs, and how punctual it is: rate and lateness of states, latency, step cost.

    python benchmarks/bridge_cost.py                 # the table of docs/serving.md
    python benchmarks/bridge_cost.py --walk          # a policy walks through the bridge for 10 s
    python benchmarks/bridge_cost.py --lock-step     # requests per second over ZMQ

The client is a process of its own on loopback, with this environment's cyclonedds. The world asks
for real-time priority, as `mjrig serve` does; the client does not. `serve_cost.py` tells apart what
the machine, the world, DDS and the client are late with, and soaks.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.components.bridges.dds.dds_process import as_sample, configuration, dds_type
from mjrig.components.bridges.dds.unitree_messages import codec
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.components.bridges.unitree_bridge import ROBOTS, UnitreeBridge
from mjrig.core.processes.realtime_priority import Punctual, as_usual

SCENES = Path(__file__).parent.parent / "config" / "scenes"
#: How long a client waits for the first state [s].
PATIENCE = 60.0
#: The client takes it over from the environment.
DOMAIN = int(os.environ.setdefault("MJRIG_BENCHMARK_DOMAIN", str(20 + os.getpid() % 80)))


def scene_with(name: str, kind: str | None) -> mjrig.Scene:
    """A bundled scene, with a bridge or without."""
    scene = mjrig.Scene.load(SCENES / f"{name}.yaml")
    if kind is not None:
        scene.actors[0].add_component(UnitreeBridge(kind=kind, domain=DOMAIN))
    return scene


# The client, in a process of its own --------------------------------------------------------------


class Client:
    """Reads states and sends commands."""

    def __init__(self, kind: str) -> None:
        from cyclonedds.core import (
            InstanceState,
            Policy,
            Qos,
            ReadCondition,
            SampleState,
            ViewState,
            WaitSet,
        )
        from cyclonedds.domain import Domain, DomainParticipant
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        package = ROBOTS[kind].package
        self._domain = Domain(DOMAIN, configuration("lo"))
        node = DomainParticipant(DOMAIN)
        self._type = dds_type(f"{package}.LowCmd_")
        state_type = dds_type(f"{package}.LowState_")
        self._commands, self._states = codec(f"{package}.LowCmd_"), codec(f"{package}.LowState_")
        self._writer = DataWriter(node, Topic(node, "rt/lowcmd", self._type))
        many = Qos(Policy.Reliability.BestEffort, Policy.History.KeepLast(64))
        self._reader = DataReader(node, Topic(node, "rt/lowstate", state_type), qos=many)
        anything = SampleState.Any | ViewState.Any | InstanceState.Any
        self._condition = ReadCondition(self._reader, anything)
        self._waiting = WaitSet(node)
        self._waiting.attach(self._condition)
        self.command: Any = self._commands.record()
        self.command["motor_cmd"]["mode"] = 1

    def states(self) -> list[tuple[float, Any]]:
        """What has arrived, with the time; waits for the first up to a second."""
        self._waiting.wait(1_000_000_000)
        now = time.monotonic()
        return [(now, self._states.decode(s.payload)) for s in self._reader.take(N=64)]

    def stamped_states(self) -> list[tuple[float, float, Any]]:
        """The same by the wall clock, with the time at which the sender wrote it."""
        self._waiting.wait(1_000_000_000)
        now, found = time.time(), self._reader.take(N=64)
        sent = [s.sample_info.source_timestamp / 1e9 for s in found]
        return [(now, t, self._states.decode(s.payload)) for t, s in zip(sent, found, strict=True)]

    def send(self) -> None:
        """Send the command."""
        self._writer.write(as_sample(self._type, self._commands.encode(self.command)))


def client(kind: str, seconds: float) -> None:
    """Answer every state with a command; print rate, lateness and round trip.

    For so many seconds after the first state: a busy machine takes long to find the other side.
    """
    own = Client(kind)
    motors = own.command["motor_cmd"]
    motors["kp"], motors["kd"] = 100.0, 3.0
    arrivals: list[float] = []
    ticks: list[int] = []
    trips: list[float] = []
    mark, marked = 0.0, 0.0
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for now, state in own.states():
            if not arrivals:
                motors["q"] = state["motor_state"]["q"]
                end = time.monotonic() + seconds
            arrivals.append(now)
            ticks.append(int(state["tick"]))
            # The effort of a far motor answers a small feedforward: that closes the round trip.
            if mark and abs(float(state["motor_state"]["tau_est"][0]) - marked) > 0.25:
                trips.append(now - mark)
                mark = 0.0
        if arrivals and not mark:
            motors["tau"][0] = 0.5 if motors["tau"][0] == 0.0 else 0.0
            mark, marked = time.monotonic(), float(state["motor_state"]["tau_est"][0])
        if arrivals:
            own.send()
    late = np.array(arrivals[200:]) - np.array(ticks[200:]) / 1000.0
    late -= np.median(late)
    rate = (len(arrivals) - 201) / (arrivals[-1] - arrivals[200])
    parts = np.percentile(np.array(trips) * 1000.0, [50, 95, 99]) if trips else [np.nan] * 3
    print(rate, 100.0 * float((late > 0.001).mean()), *parts, flush=True)


class _Over(Exception):
    """The client has ended."""


def until_over(serving: Serving, program: "subprocess.Popen[Any]") -> None:
    """Serve while a client runs, without a break."""

    def look() -> None:
        if program.poll() is not None:
            raise _Over

    with suppress(_Over):
        serving.run(None, look)


def measured(name: str, kind: str, seconds: float) -> None:
    """Rate, lateness, round trip and age of commands, with a client."""
    world = mjrig.World(scene_with(name, kind))
    with Punctual() as punctual, Serving(world, punctual=punctual) as serving:
        bridge = serving.bridges[0]
        command = [sys.executable, __file__, "--client", kind, "--seconds", str(seconds)]
        with as_usual():
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ages: list[float] = []
        accepted = bridge.commanded

        def noted(now: float, when: float | None = None) -> None:
            if when is not None:
                ages.append((time.monotonic() - when) * 1000.0)
            accepted(now, when)

        bridge.__dict__["commanded"] = noted
        until_over(serving, process)
        rate, late, p50, p95, p99 = (float(v) for v in process.communicate()[0].split())
    age = np.percentile(ages, [50, 99]) if ages else [np.nan, np.nan]
    print(
        f"{name:<11}{rate:>9.1f} Hz{late:>8.2f} %{age[0]:>9.2f}{age[1]:>8.2f} ms"
        f"{p50:>9.2f}{p95:>7.2f}{p99:>7.2f} ms{serving.pace.late:>8} of {serving.pace.steps}"
    )


def step_cost(name: str, kind: str, *, block: int, period: float, commanded: bool = False) -> float:
    """Ratio of a step with an open bridge, states included, to the same without.

    Processor time of the thread that steps, blocks of either in turns: what else runs on the
    machine disturbs both alike. The median of the blocks.

    Args:
        block: steps of one turn.
        period: time from one turn to the next [s]; 0: at once, with warm caches.
        commanded: a client answers the states; the world without a bridge gets as many new targets.
    """
    plain, served = (mjrig.World(scene_with(name, k)) for k in (None, kind))
    targets = _first_robot(plain).setpoints.values
    spent: dict[bool, list[float]] = {False: [], True: []}
    with Serving(served) as serving:
        sender, commands = _sender(kind) if commanded else None, serving.bridges[0].traffic
        while sender is not None and commands.accepted < 100:
            serving.run(0.1)
        first = before = commands.accepted
        due = time.perf_counter()
        for k in range(16_000 // block):
            began = time.thread_time()
            if k % 2:
                serving.advance(block)
            else:
                new, before = commands.accepted - before, commands.accepted
                for i in range(block):
                    if i < new:
                        targets[0] += 1e-7
                    plain.step()
            spent[bool(k % 2)].append(time.thread_time() - began)
            due += period
            time.sleep(max(due - time.perf_counter(), 0.004 if commanded and not period else 0.0))
        if sender is not None:
            sender.kill()
            sender.wait()
            assert commands.accepted > first + 100, "too few commands"
    return float(np.median(spent[True]) / np.median(spent[False]))


def _first_robot(world: mjrig.World) -> Any:
    return next(iter(world.articulations.values()))


def _sender(kind: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, __file__, "--client", kind, "--seconds", "60"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def resident(pid: int) -> float:
    """Memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# Lock step over ZMQ ---------------------------------------------------------------------------


def lock_step_client(address: str, seconds: float) -> None:
    """Step by request, one step each; prints requests per second."""
    import msgpack
    import zmq

    robot: Any = zmq.Context.instance().socket(zmq.REQ)
    robot.connect(address)
    request = msgpack.packb({"op": "step", "n": 1, "position": 0.0})
    began, asked = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        robot.send(request)
        assert msgpack.unpackb(robot.recv())["ok"]
        asked += 1
    print(asked / (time.monotonic() - began), flush=True)


def lock_step(seconds: float) -> None:
    """How many steps a program in another process takes in a second, one request each."""
    scene = scene_with("quadruped", None)
    scene.actors[0].add_component(SocketBridge(port=0, state_port=0, websocket=False))
    with Serving(mjrig.World(scene)) as serving:
        bridge: Any = serving.bridges[0]
        options = ["--lock-client", bridge.endpoints["request"], "--seconds", str(seconds)]
        command = [sys.executable, __file__, *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        until_over(serving, process)
        print(f"lock step, one step per request: {float(process.communicate()[0]):.0f} requests/s")


# A policy through the bridge ----------------------------------------------------------------------


def walker(seconds: float) -> None:
    """Run the bundled walking policy on what comes over DDS, as a deployment program does."""
    scene = mjrig.Scene.load(SCENES / "quadruped_walk.yaml")
    twin = mjrig.World(scene)  # computes observations of a state; it is never stepped on its own
    robot = twin["quadruped"]
    policy: Any = robot.components[1]
    order = [robot.actuator_names.index(n) for n in ROBOTS["go2"].motors]
    controller: Any = robot.controllers[0]
    own = Client("go2")
    motors, data, loop = own.command["motor_cmd"], twin.data, policy._loop
    motors["kp"][:12], motors["kd"][:12] = controller.kp[order], controller.kv[order]
    period, end = policy.tick_steps * twin.timestep, time.monotonic() + PATIENCE
    last, ticks = -1e9, 0
    joints, speeds = data.qpos[7:19], data.qvel[6:18]
    while time.monotonic() < end:
        arrived = own.states()
        now = int(arrived[-1][1]["tick"]) / 1000.0 if arrived else last
        if now - last < period - 1e-4:
            continue
        if not ticks:
            end = time.monotonic() + seconds
        state, last = arrived[-1][1], now
        joints[order], speeds[order] = (state["motor_state"][n][:12] for n in ("q", "dq"))
        imu = state["imu_state"]
        data.qpos[3:7], data.qvel[3:6] = imu["quaternion"], imu["gyroscope"]
        data.time, ticks = ticks * period, ticks + 1
        mujoco.mj_forward(twin.model, data)
        loop.step()
        motors["q"][:12] = robot.setpoints.position[order]
        own.send()


def walk(seconds: float) -> None:
    """How far a policy walks in this world from another process."""
    world = mjrig.World(scene_with("quadruped", "go2"))
    with Punctual() as punctual, Serving(world, punctual=punctual) as serving:
        command = [sys.executable, __file__, "--walker", "--seconds", str(seconds + 3.0)]
        with as_usual():
            process = subprocess.Popen(command)
        start = world.data.qpos[:3].copy()
        lowest = 1.0
        while process.poll() is None and serving.bridges[0].traffic.accepted == 0:
            serving.run(0.1)
        began = world.time
        while process.poll() is None and world.time - began < seconds:
            serving.run(0.1)
            lowest = min(lowest, float(world.data.qpos[2]))
        moved = world.data.qpos[:3] - start
        report = serving.bridges[0].traffic.report()
        process.kill()
        process.wait()
    print(f"walked {moved[0]:.2f} m forward and {moved[1]:+.2f} m sideways in {seconds:g} s")
    print(
        f"base never below {lowest:.3f} m, {report.rate:.0f} commands/s, {report.rejected} rejected"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", metavar="KIND")
    parser.add_argument("--lock-client", metavar="ADDRESS")
    parser.add_argument("--lock-step", action="store_true")
    parser.add_argument("--walker", action="store_true")
    parser.add_argument("--walk", action="store_true")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    if options.client:
        client(options.client, options.seconds)
    elif options.lock_client:
        lock_step_client(options.lock_client, options.seconds)
    elif options.lock_step:
        lock_step(options.seconds)
    elif options.walker:
        walker(options.seconds)
    elif options.walk:
        walk(options.seconds)
    else:
        print("robot         states     late > 1 ms   command to step p50, p99   round trip p50, "
              "p95, p99   late steps")  # fmt: skip
        measured("quadruped", "go2", options.seconds)
        measured("humanoid", "g1", options.seconds)
        for name, kind in (("quadruped", "go2"), ("humanoid", "g1")):
            in_loop = [
                step_cost(name, kind, block=20, period=0.0, commanded=c) for c in (False, True)
            ]
            paced = [
                step_cost(name, kind, block=1, period=0.001, commanded=c) for c in (False, True)
            ]
            print(
                f"{name}: a step costs {in_loop[0]:.2f} x one without a bridge, {in_loop[1]:.2f} x "
                f"with a client; one step per ms: {paced[0]:.2f} and {paced[1]:.2f}"
            )


if __name__ == "__main__":
    main()
