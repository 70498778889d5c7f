"""Replaying: the open recording, read in the background, shown in the running world."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mjrig.editor.replay.replay_players import PhysicsPlayer, PosePlayer, Shown
from mjrig.editor.session.background import Background
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import deferred, tr
from mjrig.errors import RecordingError
from mjrig.recording.reading import read_recording
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.yaml_text.yaml_document import parse_value

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
