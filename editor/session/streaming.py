"""A stream of the world behind a window, whichever world that is at the time."""

from collections.abc import Iterator
from contextlib import contextmanager

from mjrig.editor.session.simulation import Simulation
from mjrig.editor.texts.texts import tr
from mjrig.sim.world import World
from mjrig.streams.sinks import sink_named
from mjrig.streams.stream import Stream


@contextmanager
def streaming(simulation: Simulation, target: str | None) -> Iterator[None]:
    """Send the signals of a simulation somewhere while the block runs.

    Args:
        simulation: its worlds may be replaced meanwhile.
        target: as `--stream` takes it; None: nothing is sent.

    Raises:
        MjrigError: it is no target, or cannot be opened.
    """
    if target is None:
        yield
        return
    with Stream(simulation.world, sink_named(target)) as stream:
        print(tr("stream: {address}", address=stream.sink.address), flush=True)
        simulation.drive(_Sampling(stream, simulation.world))
        yield
    print(stream.summary(), flush=True)


class _Sampling:
    """A driver that commands nothing: it samples the world it is given, at the stream's rate."""

    def __init__(self, stream: Stream, world: World) -> None:
        self._stream, self._world = stream, world
        self._left = 0

    def __call__(self, world: World) -> bool:
        if world is not self._world:
            self._world = world
            self._stream.follow(world)
        if self._left == 0:
            self._stream.send()
            self._left = self._stream.every
        self._left -= 1
        return True
