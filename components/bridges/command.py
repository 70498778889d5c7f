"""`mjrig serve`: a scene stands in for the robot. Imports nothing heavy before it runs."""

import gc
import signal
import sys
from typing import TYPE_CHECKING, Any

from mjrig.cli.command_options import Flag, FloatOption, OneOf, OptionalFloatOption, command
from mjrig.cli.options import (
    ExecutionOptions,
    RecordOptions,
    SceneOptions,
    StreamOptions,
    load_scene,
)

if TYPE_CHECKING:
    from mjrig.components.bridges.bridge import Bridge
    from mjrig.components.bridges.serving import Serving
    from mjrig.data.recording.recorder import Recorder
    from mjrig.data.streams.stream import Stream


class ServeOptions(ExecutionOptions, RecordOptions, StreamOptions, SceneOptions):
    """Options of `mjrig serve`."""

    duration = OptionalFloatOption(None, "seconds to serve", "S", min=0.0, otherwise="until Ctrl+C")
    speed = FloatOption(1.0, "simulated per real second", "X", min=0.0, above=True)
    priority = OneOf(
        ("realtime", "normal"), "realtime", "realtime, where that is permitted, or normal"
    )
    quiet = Flag("do not print traffic every second")


def run(options: ServeOptions) -> int:
    """Serve until the time is over or the user interrupts."""
    from contextlib import ExitStack

    from mjrig.components.bridges.serving import Serving
    from mjrig.core.processes.realtime_priority import TURN, Priority, Punctual
    from mjrig.core.sim.world import World

    world = World(load_scene(options), options.execution)
    with ExitStack() as stack:
        # Before anything has threads: one of lower priority could hold the interpreter's lock.
        punctual = stack.enter_context(Punctual(Priority(options.priority)))
        streams = [stack.enter_context(s) for s in _streams(world, options.stream)]
        serving = stack.enter_context(
            Serving(world, speed=options.speed, also=streams, punctual=punctual)
        )
        # After the bridges: where one cannot listen, no empty recording is left.
        recorders = [stack.enter_context(r) for r in _recorders(world, options)]
        for bridge in serving.bridges:
            print(f"{bridge.label}: {bridge.address}", flush=True)
            for remark in bridge.remarks:
                print(f"warning: {bridge.label}: {remark.text}", file=sys.stderr, flush=True)
        for stream in streams:
            print(f"stream: {stream.sink.address}", flush=True)
        print(punctual.text, flush=True)
        sys.setswitchinterval(TURN)
        gc.freeze()  # what was built stays: looking through it for garbage would delay a step
        previous = signal.signal(signal.SIGTERM, _interrupt)
        try:
            serving.run(options.duration, None if options.quiet else _Traffic(serving))
        except KeyboardInterrupt:
            pass  # the usual way to end it
        finally:
            signal.signal(signal.SIGTERM, previous)
        print("\n".join([_summary(serving), *(s.summary() for s in streams)]))
    for recorder in recorders:
        print(f"recording: {recorder.path}, {recorder.extent}")
    return 0


add = command(
    "serve",
    ServeOptions,
    run,
    "run a scene in real time, commanded by other programs",
    description="Run a scene in real time without a window and open the bridges that it "
    "contains.\nNothing listens that is not in the scene.",
    examples=(
        "mjrig serve config/scenes/quadruped_served.yaml",
        "mjrig serve config/scenes/quadruped_served.yaml --duration 60 --record run.h5",
    ),
)


def _recorders(world: Any, options: ServeOptions) -> "list[Recorder]":
    if options.record is None:
        return []
    from mjrig.data.recording.recorder import Recorder

    return [Recorder(world, options.record, overwrite=options.overwrite)]


def _streams(world: Any, wanted: str | None) -> "list[Stream]":
    if wanted is None:
        return []
    from mjrig.data.streams.sinks import sink_named
    from mjrig.data.streams.stream import Stream

    return [Stream(world, sink_named(wanted))]


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


class _Traffic:
    """Prints a line per bridge and second in which commands came, and every event, to stderr.

    When commands stop, it prints that once. All of it has a limit, whatever clients send.
    """

    def __init__(self, serving: "Serving") -> None:
        from mjrig.components.bridges.traffic import LogBudget

        self._serving, self._events = serving, serving.world.event_count
        self._budget = LogBudget()
        self._accepted = dict.fromkeys(serving.bridges, 0)
        self._silent: dict[object, str] = dict.fromkeys(serving.bridges, "")

    def __call__(self) -> None:
        world = self._serving.world
        new, self._events = world.event_count - self._events, world.event_count
        for event in world.events[-new:] if new else ():
            self._print(str(event))
        for bridge in self._serving.bridges:
            if line := self._line(bridge):
                # Half of the limit is for events.
                self._print(f"t={world.time:.1f} s: {bridge.label}: {line}", reserve=0.5)

    def _print(self, text: str, reserve: float = 0.0) -> None:
        for line in self._budget.lines(text, reserve=reserve):
            print(line, file=sys.stderr)

    def _line(self, bridge: "Bridge") -> str:
        """Empty: nothing has changed since the last one."""
        now = bridge.traffic.report()
        came, self._accepted[bridge] = now.accepted - self._accepted[bridge], now.accepted
        if came:
            self._silent[bridge] = ""
            return (
                f"{bridge.phase}, {now.rate:.0f} commands/s, age {now.age * 1000:.0f} ms, "
                f"jitter {now.jitter * 1000:.1f} ms, {now.rejected} rejected"
            )
        if not now.accepted or self._silent[bridge] == bridge.phase:
            return ""
        self._silent[bridge] = bridge.phase
        return f"{bridge.phase}, no command for {now.age:.1f} s, {now.rejected} rejected"


def _summary(serving: "Serving") -> str:
    pace = serving.pace
    lines = [f"{pace.steps} steps, {pace.late} late by more than 1 ms, {pace.dropped} lags dropped"]
    for bridge in serving.bridges:
        now = bridge.traffic.report()
        lines.append(
            f"{bridge.label}: {now.accepted} commands, {now.rejected} rejected, {now.sent} states"
        )
    return "\n".join(lines)
