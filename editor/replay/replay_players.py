"""Players of a recording in the running world: its poses, or physics from its first state."""

from typing import Protocol

from mjrig.editor.session.session import Session
from mjrig.editor.session.sim_thread import AS_FAST_AS_POSSIBLE
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.texts.texts import tr
from mjrig.errors import RecordingError
from mjrig.names import listed
from mjrig.recording.recording import Recording
from mjrig.sim.world import World
from mjrig.sim2sim.compare.matching import match
from mjrig.sim2sim.play.players import KinematicPlayer, TargetsPlayer
from mjrig.sim2sim.play.policy_loop import policies
from mjrig.sim2sim.play.start import RecordedStart, start


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
