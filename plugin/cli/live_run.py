"""LiveRun: a scene at real time that takes up its files while they are edited."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import MjrigError
from mjrig.core.findings import warning
from mjrig.core.names import how_many, listed
from mjrig.core.scene.editing.file_watch import FileWatch, watched_files
from mjrig.core.sim.state_transfer import carry
from mjrig.core.sim.world import World
from mjrig.data.streams.stream import Stream
from mjrig.lab.findings.rendering import wording

#: Time between two looks at the clock [s].
SLICE = 0.02
#: A world that is further behind than this gives up catching up [s].
_PATIENCE = 0.2
_KIND = ("free", "ball", "slide", "hinge")


class LiveRun:
    """Steps a world at real time and replaces it when one of its files changes.

    A change that cannot be taken up is told of, and the old world runs on.

    Args:
        world: the world to begin with.
        build: makes a world of the files as they are now; None: files are not watched.
        say: takes what happened, a line each.
        stream: is sampled while it runs.
        clock, sleep: real time [s].
    """

    def __init__(
        self,
        world: World,
        build: Callable[[], World] | None,
        say: Callable[[str], None],
        *,
        stream: Stream | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.world = world
        self._build, self._say = build, say
        self._clock, self._sleep = clock, sleep
        self._stream = stream
        self._watch = FileWatch()
        if build is not None:
            self._watch.follow(watched_files(world.scene))

    def run(self, duration: float | None) -> None:
        """Run for some simulated seconds; None: forever."""
        files = how_many(len(watched_files(self.world.scene)), "file")
        watching = f", watching {files}" if self._build is not None else ""
        self._say(f"running at real time{watching}; Ctrl-C ends it")
        ahead, end = self._offset(), None if duration is None else self.world.time + duration
        while end is None or self.world.time < end - 0.5 * self.world.timestep:
            self.advance(SLICE if end is None else min(SLICE, end - self.world.time))
            if self._watch.is_due(self._clock()):
                self.look()
            wait = self.world.time - self._clock() - ahead
            if wait > 0.0:
                self._sleep(wait)
            elif wait < -_PATIENCE:
                ahead = self._offset()

    def _offset(self) -> float:
        return self.world.time - self._clock()

    def advance(self, seconds: float) -> None:
        """Step for some simulated seconds, at least once; new events are told."""
        before = self.world.event_count
        steps = max(1, round(seconds / self.world.timestep))
        if self._stream is None:
            self.world.step(steps)
        else:
            self._advance_streaming(steps, self._stream)
        new = self.world.event_count - before
        for event in self.world.events[-new:] if new else ():
            self._say(str(event))

    def _advance_streaming(self, steps: int, stream: Stream) -> None:
        for done in range(0, steps, stream.every):
            self.world.step(min(stream.every, steps - done))
            stream.send()

    def look(self) -> None:
        """Look at the files, and take up what was changed."""
        changed = self._watch.look(self._clock())
        if changed and self._build is not None:
            self._take(changed, self._build)

    def _take(self, changed: Sequence[Path], build: Callable[[], World]) -> None:
        names = [path.name for path in changed]
        try:
            new = build()
            carry(self.world, new)
            _try_a_step(new)
        except Exception as error:  # components beside a scene raise whatever they do
            known = isinstance(error, MjrigError)
            reason = " ".join(str(error).split()) if known else f"{type(error).__name__}: {error}"
            form = "changed-file without dialog"
            finding = warning("changed-file", "", form=form, here=names, reason=reason)
            self._say(wording(finding, "text"))
            return
        notes = "; ".join(differences(self.world, new)) or "all of the state kept"
        self._say(f"t={new.time:.3f} s: took up {listed(names)}: {notes}")
        self.world = new
        if self._stream is not None:
            self._stream.follow(new)
        self._watch.follow(watched_files(new.scene))


def _try_a_step(world: World) -> None:
    """A step that leaves no trace: components may fail only there."""
    before = world.snapshot()
    world.step(1)
    world.restore(before)


def differences(old: World, new: World) -> Iterator[str]:
    """What a new world has that the old one had not, and the other way round."""
    for name, robot in new.articulations.items():
        if name not in old.articulations:
            yield f"{name} is new"
            continue
        source = old.articulations[name]
        for what, here, there in (
            ("joint", _joints(robot), _joints(source)),
            ("actuator", set(robot.actuator_names), set(source.actuator_names)),
        ):
            if fresh := sorted(here - there):
                yield f"{name}: {what} {listed(fresh)} starts anew"
            if lost := sorted(there - here):
                yield f"{name}: {what} {listed(lost)} is gone"
    for name in old.articulations.keys() - new.articulations.keys():
        yield f"{name} is gone"


def _joints(robot: Articulation) -> set[str]:
    """With their types: a hinge's angle is no position of a slide."""
    kinds = robot.model.jnt_type[robot.model_map.joint_ids]
    return {f"{n} ({_KIND[int(k)]})" for n, k in zip(robot.joint_names, kinds, strict=True)}
