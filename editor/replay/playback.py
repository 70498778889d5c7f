"""Playback of a recording in the running world: its poses, or physics from its first state.

`Replaying` is the open recording, read in the background.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from mjrig.core.errors import RecordingError
from mjrig.core.names import listed
from mjrig.core.sim.world import World
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import Recording
from mjrig.editor.session.background import Background
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import AS_FAST_AS_POSSIBLE, Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import deferred, tr
from mjrig.lab.replay.matching import match
from mjrig.lab.replay.players import KinematicPlayer, TargetsPlayer
from mjrig.lab.replay.policy_loop import policies
from mjrig.lab.replay.start_state import RecordedStart, start

# Replay players -----------------------------------------------------------------------------------
# Players of a recording in the running world: its poses, or physics from its first state.


class Shown(Protocol):
    """A recording in a world, with a place in time."""

    duration: float
    notes: tuple[str, ...]
    loop: bool

    @property
    def time(self) -> float:
        """Where it is [s since its beginning]."""
        ...

    @property
    def playing(self) -> bool:
        """Whether it is playing."""
        ...

    def play(self) -> None:
        """Play; at the end, from the beginning."""
        ...

    def pause(self) -> None:
        """Stay."""
        ...

    def seek(self, time: float) -> None:
        """Go to a time."""
        ...

    def step(self) -> None:
        """One physics step on."""
        ...

    def set_rate(self, rate: float) -> None:
        """Seconds of the recording per second."""
        ...

    def tick(self, wall: float) -> None:
        """Advance by elapsed wall time [s]."""
        ...

    def close(self) -> None:
        """Stop acting on the world."""
        ...


class PosePlayer:
    """The recorded poses: any moment at once, nothing is simulated, other robots stay."""

    def __init__(self, simulation: Simulation, recording: Recording, robot: str) -> None:
        self._simulation = simulation
        simulation.pause()
        self._player = simulation.call(lambda w: KinematicPlayer(recording, w, robot=robot))
        self._timestep = recording.timestep
        self.duration, self.notes = self._player.duration, self._player.notes
        self.time, self.playing, self.loop = 0.0, False, False
        self._rate = 1.0
        self.seek(0.0)

    def play(self) -> None:
        """Play; physics is paused meanwhile."""
        self._simulation.pause()
        self.playing = True
        if self.time >= self.duration:
            self.seek(0.0)

    def pause(self) -> None:
        self.playing = False

    def seek(self, time: float) -> None:
        self.time = min(max(time, 0.0), self.duration)

        def run(world: World) -> None:
            self._player.seek(self.time)
            self._simulation.publish()

        self._simulation.call(run)

    def step(self) -> None:
        self.pause()
        self.seek(self.time + self._timestep)

    def set_rate(self, rate: float) -> None:
        self._rate = rate

    def tick(self, wall: float) -> None:
        if self._simulation.playing:  # the user resumed physics from this pose
            self.playing = False
        if not self.playing:
            return
        time = self.time + wall * self._rate
        if time < self.duration:
            self.seek(time)
        elif self.loop and self.duration > 0.0:
            self.seek(time % self.duration)
        else:
            self.seek(self.duration)
            self.playing = False

    def close(self) -> None:
        self.playing = False


class PolicyStart:
    """The policies of the recorded robots, from the state in which the recording begins."""

    def __init__(self, recording: Recording, world: World, *, robot: str) -> None:
        self._recording, self._world = recording, world
        self._matches = match(recording, world, robot)
        self.notes = tuple(n for m in self._matches for n in m.notes)
        without = [m.robot.name for m in self._matches if not policies(m.robot)]
        if without:
            raise RecordingError(
                tr("{actors}: has no policy; drop one on it", actors=listed(without))
            )
        self.steps = max(1, round(recording.duration / world.timestep))

    def start(self) -> RecordedStart:
        """Put the robots where the recording begins."""
        return start(self._world, self._recording, self._matches)

    def seek(self, step: int) -> None:
        """A policy keeps its own tick count."""

    def close(self) -> None:
        """Nothing was changed."""


class PhysicsPlayer:
    """Physics from the recording's first state on: recorded setpoints, or the policy in the loop.

    Time travel and resets of the window are followed; a reset restarts the recording.
    """

    def __init__(self, session: Session, recording: Recording, robot: str, mode: str) -> None:
        self._session, self._simulation = session, session.simulation
        self._speed = self._simulation.speed
        self._rate, self.loop = 1.0, False
        self._until: int | None = None
        self._goes_on = False
        self._expected = 0
        self._closed = False
        self._simulation.pause()
        self._simulation.call(lambda world: self._begin(world, recording, robot, mode))
        self._simulation.drive(self._watch)

    def _begin(self, world: World, recording: Recording, robot: str, mode: str) -> None:
        kind = TargetsPlayer if mode == "targets" else PolicyStart
        self._player: TargetsPlayer | PolicyStart = kind(recording, world, robot=robot)
        self.notes, self.steps = self._player.notes, self._player.steps
        self._timestep = world.timestep
        self.duration = self.steps * world.timestep
        self._restart(world)

    def _restart(self, world: World) -> None:
        self._player.start()
        self._began = world.time
        self._expected = 0
        self._simulation.history.clear()
        self._simulation.signals.clear()
        self._simulation.publish()

    def _watch(self, world: World) -> bool:
        """Before every step: keep the setpoints in time with the world, and stop at the end."""
        if self._closed:
            return False
        if world.steps >= self.steps or (world.steps == 0 and self._expected != 0):
            self._restart(world)
        elif world.steps != self._expected:
            self._player.seek(world.steps)
        self._expected = world.steps + 1
        if self._until is not None and self._expected >= self._until:
            self._arrive()
        if self._expected >= self.steps and not self.loop:
            self._simulation.pause()
        return True

    def _arrive(self) -> None:
        self._until = None
        self._simulation.set_speed(self._rate)
        if not self._goes_on:
            self._simulation.pause()

    @property
    def time(self) -> float:
        return min(self._simulation.frame.steps * self._timestep, self.duration)

    @property
    def playing(self) -> bool:
        return self._simulation.playing

    def play(self) -> None:
        self._simulation.set_speed(self._rate)
        self._session.play()

    def pause(self) -> None:
        self._until = None
        self._simulation.set_speed(self._rate)
        self._simulation.pause()

    def seek(self, time: float) -> None:
        """Restore a kept state, and simulate from there as fast as possible."""
        wanted = min(max(round(time / self._timestep), 0), self.steps)
        if self._until is None:
            self._goes_on = self.playing
        self._simulation.pause()
        self._simulation.call(lambda world: self._go_back(world, wanted))
        if wanted > self._simulation.frame.steps:
            self._until = wanted
            self._simulation.set_speed(AS_FAST_AS_POSSIBLE)
            self._session.play()
        elif self._goes_on:
            self.play()

    def _go_back(self, world: World, wanted: int) -> None:
        if wanted >= world.steps:
            return
        kept = self._simulation.history.at(self._began + wanted * self._timestep)
        if kept is not None and 0 < kept.steps <= wanted:
            world.restore(kept)
            self._player.seek(world.steps)
            self._expected = world.steps
        else:
            self._restart(world)
        self._simulation.publish()

    def step(self) -> None:
        self.pause()
        self._simulation.step_once()

    def set_rate(self, rate: float) -> None:
        self._rate = rate
        if self._until is None:
            self._simulation.set_speed(rate)

    def tick(self, wall: float) -> None:
        """Nothing: the world keeps its own time."""

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._simulation.pause()
        self._simulation.set_speed(self._speed)

        def run(world: World) -> None:
            self._player.close()
            self._simulation.history.clear()  # its states know components that are gone

        self._simulation.call(run)


# Replaying ----------------------------------------------------------------------------------------
# Replaying: the open recording, read in the background, shown in the running world.


MODES = {
    "kinematic": deferred("The recorded poses; nothing is simulated."),
    "targets": deferred("The recorded setpoints through this scene's controllers."),
    "policy": deferred("The policy of the robot, from the recording's first state."),
}
RATES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class Replaying:
    """What the replay panel works with.

    Args:
        state: state of the window.
        clock: wall time [s].
    """

    def __init__(self, state: EditorState, clock: Callable[[], float] = time.perf_counter) -> None:
        self.state, self._clock = state, clock
        self.path: Path | None = None
        #: The robot it was dropped on; empty: found by name and joints.
        self.robot = ""
        self.recording: Recording | None = None
        #: Why it could not be read or shown.
        self.problem = ""
        self._mode = "kinematic"
        self._rate, self._loop = 1.0, False
        self._reading: Background[Recording] | None = None
        self._shown: Shown | None = None
        self._last = clock()
        state.simulation.on_leave.append(self._leave)

    # The file -----------------------------------------------------------------------------------

    def open(self, path: Path, robot: str = "", hints: Mapping[str, object] | None = None) -> None:
        """Read a recording, and show its first pose when it is there."""
        self.close()
        self.path, self.robot = path, robot
        given, step = dict(hints or {}), self.state.simulation.world.timestep
        self._reading = Background(
            lambda: read_recording(path, given, timestep=step), "mjrig-reading"
        )

    def close(self) -> None:
        """Stop acting on the world, and close the recording."""
        self._stop_showing()
        self.path, self.robot, self.recording, self._reading = None, "", None, None
        self.problem = ""

    @property
    def is_reading(self) -> bool:
        """Whether the file is still being read."""
        return self._reading is not None

    def tick(self) -> None:
        """Once per frame: take what was read, and move on."""
        now = self._clock()
        wall, self._last = now - self._last, now
        if self._reading is not None and self._reading.is_done:
            reading, self._reading = self._reading, None
            self._take(reading)
        if self._shown is not None:
            self._shown.tick(wall)

    def wait(self) -> None:
        """Wait until the file is read, and take it."""
        if self._reading is not None:
            self._reading.wait()
            self.tick()

    def _take(self, reading: Background[Recording]) -> None:
        self.recording = reading.told(self.state.console)
        if self.recording is None:
            self.problem = str(reading.error)
            return
        for note in self.recording.notes:
            self.state.console.say(f"{self.recording.path.name}: {note}")
        self._begin()

    # The way it is shown ------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """`kinematic`, `targets` or `policy`."""
        return self._mode

    def set_mode(self, mode: str) -> None:
        """Show it another way, from the beginning."""
        if mode != self._mode:
            self._mode = mode
            self._stop_showing()
            if self.recording is not None:
                self._begin()

    def _begin(self) -> bool:
        """Show it, if the world has its robots; whether it is shown."""
        recording, session = self.recording, self.state.session
        if recording is None:
            return False
        made: list[Shown] = []

        def make() -> None:
            if self._mode == "kinematic":
                made.append(PosePlayer(session.simulation, recording, self.robot))
            else:
                made.append(PhysicsPlayer(session, recording, self.robot, self._mode))

        self.problem = ""
        if not self.state.attempt(make):
            self.problem = self.state.console.lines[-1].text
            return False
        self._shown = made[0]
        self._shown.loop = self._loop
        self._shown.set_rate(self._rate)
        for note in self._shown.notes:
            self.state.console.say(f"{recording.path.name}: {note}")
        return True

    def _stop_showing(self) -> None:
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.close()

    def _leave(self, world: World) -> None:
        """The world is replaced; in the next one it starts over when the user presses Play."""
        self._stop_showing()

    # Its clock ----------------------------------------------------------------------------------

    @property
    def is_shown(self) -> bool:
        """Whether it is in the running world now."""
        return self._shown is not None

    @property
    def time(self) -> float:
        """Where it is [s since its beginning]."""
        return self._shown.time if self._shown is not None else 0.0

    @property
    def duration(self) -> float:
        """Its length [s]."""
        if self._shown is not None:
            return self._shown.duration
        return self.recording.duration if self.recording is not None else 0.0

    @property
    def playing(self) -> bool:
        """Whether it is playing."""
        return self._shown is not None and self._shown.playing

    def toggle(self) -> None:
        """Play or pause."""
        if self._shown is None and not self._begin():
            return
        assert self._shown is not None
        self.state.attempt(self._shown.pause if self._shown.playing else self._shown.play)

    def seek(self, moment: float) -> None:
        """Go to a time."""
        if self._shown is not None or self._begin():
            assert self._shown is not None
            shown = self._shown
            self.state.attempt(lambda: shown.seek(moment))

    def step(self) -> None:
        """One physics step on."""
        if self._shown is not None or self._begin():
            assert self._shown is not None
            self.state.attempt(self._shown.step)

    @property
    def rate(self) -> float:
        """Seconds of the recording per second."""
        return self._rate

    def set_rate(self, rate: float) -> None:
        """Change the playback rate."""
        self._rate = rate
        if self._shown is not None:
            self._shown.set_rate(rate)

    @property
    def loop(self) -> bool:
        """Whether it restarts at its end."""
        return self._loop

    def set_loop(self, loop: bool) -> None:
        """Restart at the end, or stop there."""
        self._loop = loop
        if self._shown is not None:
            self._shown.loop = loop


def parse_hints(text: str) -> dict[str, object]:
    """Hints as the user types them: `fps=50; joints=[a, b]`.

    Raises:
        RecordingError: one has no value.
    """
    hints: dict[str, object] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        key, equals, value = part.partition("=")
        if not equals:
            raise RecordingError(tr("{hint}: write KEY=VALUE, as in fps=50", hint=part))
        hints[key.strip()] = parse_value(value)
    return hints
