"""Response tests: on a suspended copy in the background, or on the running robot with a lease."""

import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.setpoints import Lease, Source
from mjrig.core.errors import MjrigError
from mjrig.core.names import literal
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.edits.edits import Data, Edit
from mjrig.editor.edits.live_edits import EditedProperty, edited_properties
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.text import error_text, tr
from mjrig.lab.gains.gain_rows import holder_of
from mjrig.lab.rollouts.joint_bench import (
    Bench,
    Response,
    ResponseRecorder,
    bound,
    respond,
    scales_of,
)
from mjrig.lab.rollouts.signals import Signal

#: How long the gains must stay as they are before a test is run again [s].
DEBOUNCE = 0.15
#: Who holds a setpoint that a slider moves.
JOGGING = "jog"

#: Arrays in force by component and gain.
InForce = Mapping[str, Mapping[str, FloatArray]]


@dataclass(frozen=True)
class ResponseJob:
    """One test to run on the copy."""

    actor: str
    actuators: tuple[str, ...]
    signal: Signal
    gains: InForce
    together: bool = False
    #: Which edit the gains belong to: tests of one drag replace each other.
    mark: int = 0
    #: The scene to build the copy from; None: the copy that is there still fits.
    text: str | None = None
    base: Path = Path()
    trusted: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Result:
    """Responses of a test; `where` is `copy` or `live`."""

    job: ResponseJob
    responses: tuple[Response, ...]
    where: str = "copy"
    problem: str = ""

    def of(self, actuator: str) -> Response | None:
        """The response of one actuator."""
        return next((r for r in self.responses if r.actuator == actuator), None)


def in_force(robot: Articulation) -> dict[str, dict[str, FloatArray]]:
    """The immutable gain arrays of a running robot by component."""
    return {c.role: dict(c.gains()) for c in robot.controllers}


class GainLab:
    """Runs tests on a copy of the scene, on a separate thread, the latest request only.

    `result` is what the last test showed, `before` what the one before the last edit did.
    """

    def __init__(self, *, debounce: float = DEBOUNCE) -> None:
        self.result: Result | None = None
        self.before: Result | None = None
        self._debounce = debounce
        self._bench: Bench | None = None
        self._built_from: Data | None = None
        self._text: str | None = None
        self._pending: tuple[float, ResponseJob] | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._running = False
        self._closed = False

    # From the window ----------------------------------------------------------------------------

    def job(
        self,
        session: Session,
        robot: Articulation,
        actuators: Sequence[str],
        signal: Signal,
        *,
        together: bool = False,
    ) -> ResponseJob:
        """A test of the gains as they are now."""
        scene, built_from = session.scene, self._built_from
        text = None
        if built_from is None or not only_gains(session.edits_since(built_from), robot):
            text = scene.to_text()
        self._built_from = session.data
        mark = session.undo_stack.position
        return ResponseJob(
            robot.name,
            tuple(actuators),
            signal,
            in_force(robot),
            together,
            mark,
            text,
            scene.base,
            scene.reading.trusted,
        )

    def request(self, job: ResponseJob) -> None:
        """Run a test as soon as no other one is asked for during the debounce time."""
        with self._changed:
            self._text = job.text or self._text
            self._pending = (time.monotonic() + self._debounce, job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="mjrig-lab", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a test waits or runs."""
        return self._running or self._pending is not None

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until nothing waits or runs; returns whether that came about."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.is_busy, seconds)

    def close(self) -> None:
        """End the thread; closing twice is fine."""
        with self._changed:
            self._closed = True
            self._pending = None
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def take(self, result: Result) -> None:
        """Show a result; the one before the edit it belongs to stays for comparison."""
        last = self.result
        if last is not None and last.job.mark != result.job.mark:
            self.before = last
        self.result = result

    # The thread ---------------------------------------------------------------------------------

    def _loop(self) -> None:
        while True:
            with self._changed:
                job = self._next()
                if job is None:
                    return
                text, self._text = self._text, None
                self._running = True
            result = self._run(job, text)
            with self._changed:
                self._running = False
                if not self._closed:
                    self.take(result)
                self._changed.notify_all()

    def _next(self) -> ResponseJob | None:
        """The next job that is due; None: the lab is closed."""
        while not self._closed:
            if self._pending is None:
                self._changed.wait()
                continue
            due, job = self._pending
            left = due - time.monotonic()
            if left <= 0.0:
                self._pending = None
                return job
            self._changed.wait(left)
        return None

    def _run(self, job: ResponseJob, text: str | None) -> Result:
        try:
            if text is not None or self._bench is None:
                self._bench = None
                self._bench = Bench(World(Scene.parse(text or "", job.base, trust=job.trusted)))
            put_gains(self._bench.world[job.actor], job.gains)
            found = self._bench.run(
                job.actor,
                job.actuators,
                job.signal,
                together=job.together,
                stop=lambda: self._pending is not None or self._closed,
            )
            return Result(job, tuple(found))
        except MjrigError as error:
            problem = error_text(error)
        except Exception:
            problem = traceback.format_exc()
        self._built_from = None  # the copy may be in an undefined state
        return Result(job, (), problem=problem)


def only_gains(edits: Sequence[Edit], robot: Articulation) -> bool:
    """Whether edits are about nothing but values of gains, which a copy takes as arrays."""
    edited = edited_properties(edits)
    names = {n for c in robot.controllers for n in c.gains()}
    names |= {f"default_{n}" for n in names}
    if edited is None:
        return False
    return all(isinstance(one, EditedProperty) and one.name in names for one in edited)


def put_gains(robot: Articulation, gains: InForce) -> None:
    """Give the controllers of a robot the gains that are in force elsewhere."""
    for controller in robot.controllers:
        with controller.changes():
            for name, values in gains.get(controller.role, {}).items():
                holder = holder_of(controller, name)
                holder.property_named(name).assign(holder, values)


# On the running robot ---------------------------------------------------------------------------


@dataclass(eq=False)
class LiveTest:
    """A signal on actuators of the running robot; all of them at once, through one lease."""

    job: ResponseJob
    problem: str = ""
    is_done: bool = False
    result: Result | None = None
    _lease: Lease | None = None
    _world: World | None = None
    _recorder: ResponseRecorder | None = None
    _base: dict[str, float] = field(default_factory=dict)
    _scales: dict[str, float] = field(default_factory=dict)
    _began: float = 0.0
    _elapsed: float = 0.0

    def start(self, simulation: Simulation) -> None:
        """Take the lease and begin.

        Raises:
            LeaseError: another source commands one of the actuators.
            BindingError: an actuator is not there.
        """

        def begin(world: World) -> None:
            robot = world[self.job.actor]
            bindings = [bound(robot, name) for name in self.job.actuators]
            pattern = "|".join(literal(b.actuator) for b in bindings)
            self._lease = robot.take(Source.UI, actuators=pattern, holder=tr("response test"))
            names = robot.actuator_names
            self._base = {
                literal(b.actuator): float(robot.setpoints.values[0, names.index(b.actuator)])
                for b in bindings
            }
            scales = scales_of(robot, bindings).tolist()
            self._scales = dict(zip(self._base, scales, strict=True))
            self._recorder = ResponseRecorder(robot, bindings)
            self._world, self._began = world, world.time
            simulation.drive(self)

        simulation.call(begin)

    def cancel(self, simulation: Simulation) -> None:
        """End it now; what it did is not kept."""
        problem = tr("the world was rebuilt") if self.is_stale(simulation) else "cancelled"
        simulation.call(lambda world: self._end(problem))

    def __call__(self, world: World) -> bool:
        """Before a step: command; returns whether it wants to be asked again."""
        if self.is_done:
            return False
        elapsed = world.time - self._began
        if world is not self._world or elapsed < self._elapsed:
            self._end(tr("the world was rebuilt or rewound during the test"))
            return False
        assert self._recorder is not None and self._lease is not None
        self._elapsed = elapsed
        if elapsed > 0.0:
            self._recorder.take(elapsed)
        if elapsed >= self.job.signal.duration - 0.5 * world.timestep:
            self._finish(world)
            return False
        offset = self.job.signal.offset(elapsed)
        scales = self._scales
        moved = {name: value + offset / scales[name] for name, value in self._base.items()}
        self._lease.set_targets(moved)
        return True

    def is_stale(self, simulation: Simulation) -> bool:
        """Whether another world took the place of the one it runs in."""
        return simulation.world is not self._world

    @property
    def progress(self) -> float:
        """Share of the signal that is done."""
        steps = self.job.signal.duration / (self._world.timestep if self._world else 1.0)
        return min(1.0, len(self._recorder or ()) / max(steps, 1.0))

    def _finish(self, world: World) -> None:
        assert self._recorder is not None
        robot = world[self.job.actor]
        pairs = zip(self._recorder.bindings, self._recorder.traces(), strict=True)
        found = [respond(world, robot, b, t, self.job.signal) for b, t in pairs]
        self.result = Result(self.job, tuple(found), "live")
        self._end("")

    def _end(self, problem: str) -> None:
        self.problem, self.is_done = problem, True
        if self._lease is not None and self._lease.is_held:
            self._lease.set_targets(self._base)
            self._lease.release()


class Jog:
    """A joint's setpoint, commanded by a slider while it is held."""

    def __init__(self, simulation: Simulation, actor: str, actuator: str) -> None:
        self._simulation = simulation
        self._key = tr("jog {actor}.{actuator}", actor=actor, actuator=actuator)
        self._name = literal(actuator)
        self._lease = simulation.call(
            lambda world: world[actor].take(Source.UI, actuators=self._name, holder=JOGGING)
        )

    def to(self, value: float) -> None:
        """Command a position; the latest wins."""

        def run(world: World) -> None:
            if self._lease.is_held:
                self._lease.set_targets({self._name: value})

        self._simulation.put(self._key, run)

    def release(self) -> None:
        """Release the lease; the setpoint stays."""
        self._simulation.post(lambda world: self._lease.release())
