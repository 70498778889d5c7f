"""Joint response tests on suspended copies of the robot (base fixed, contacts off), in parallel."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.processes.process_pool import ProcessPool
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.responses.frequency_response import (
    FrequencyResponse,
    LinearResponse,
    Margins,
    measured,
    why_unsettled,
)
from mjrig.lab.rollouts.actuator_selection import Chosen, Tested, choose_tested
from mjrig.lab.rollouts.batch_response import follow_together, is_plain
from mjrig.lab.rollouts.joint_bench import Bench, Response
from mjrig.lab.rollouts.signals import Kind, Signal, strictest

# Respond pool -------------------------------------------------------------------------------------
# Response tests of many joints at once: one process per core, one bench per process.


#: Fewer steps than this finish before a second process has started.
WORTH_A_PROCESS = 20_000


@dataclass(frozen=True)
class _SceneText:
    """Setup of a process: a scene as text, and the test."""

    text: str
    base: Path
    variables: dict[str, object]
    trusted: tuple[Path, ...]
    execution: str
    #: What the robot is to be still for.
    signal: Signal


#: Actor, actuator and signal.
_Task = tuple[str, str, Signal]


class _Follower:
    """A bench in a separate process."""

    def __init__(self, given: _SceneText) -> None:
        scene = Scene.parse(given.text, given.base, vars=given.variables, trust=given.trusted)
        self._bench = Bench(World(scene, given.execution))
        self._rest = self._bench.rest(given.signal)

    def follow(self, task: _Task) -> Response:
        """The response of one actuator of an actor to a signal."""
        actor, actuator, signal = task
        (found,) = self._bench.run(actor, [actuator], signal, rest=self._rest)
        return found


def follow_in_processes(
    scene: Scene,
    bench: Bench,
    chosen: Sequence[Tested],
    signals: Sequence[Signal],
    workers: int,
    report: Callable[[float], object] = lambda share: None,
) -> list[Response]:
    """One response per chosen actuator to its own signal; the signals differ in amplitude only.

    On the bench itself where processes are not worth it.
    """
    steps = len(chosen) * signals[0].duration / bench.world.timestep
    workers = min(workers, len(chosen), int(steps // WORTH_A_PROCESS))
    tasks = [(c.robot.name, c.binding.actuator, s) for c, s in zip(chosen, signals, strict=True)]
    if workers < 2:
        rest = bench.rest(strictest(signals))
        alone = (bench.run(actor, [name], s, rest=rest)[0] for actor, name, s in tasks)
        return _counted(alone, len(tasks), report)
    given = _SceneText(
        scene.to_text(),
        scene.base.absolute(),
        dict(scene.reading.vars),
        scene.reading.trusted,
        bench.world.requested_execution,
        strictest(signals),
    )
    with ProcessPool(workers, _Follower, given) as pool:
        return _counted(pool.map(_Follower.follow, tasks), len(tasks), report)


def _counted(
    found: Iterable[Response], count: int, report: Callable[[float], object]
) -> list[Response]:
    responses = []
    for response in found:
        responses.append(response)
        report(len(responses) / count)
    return responses


# Respond ------------------------------------------------------------------------------------------


#: Frequencies of the linear response where none was measured [Hz].
GRID = np.geomspace(0.1, 50.0, 200)


@dataclass(frozen=True)
class JointResponse:
    """Response of one joint.

    Attributes:
        actor: name of the robot.
        response: trace, metrics and causes; or why there is none.
        measured: frequency response of the trace, after a chirp or a sine.
        linear: that of the exact linear map at the initial pose; None: the law has no kp and kv,
            or controllers of several rates act together.
        margins: of the loop, from the same map.
    """

    actor: str
    response: Response
    measured: FrequencyResponse | None = None
    linear: FrequencyResponse | None = None
    margins: Margins | None = None

    @property
    def label(self) -> str:
        """`dog.FL_hip`."""
        return f"{self.actor}.{self.response.actuator}"

    @property
    def nonlinearity(self) -> float | None:
        """Deviation of the measured from the linear response, as a share of its peak.

        Saturation, dry friction, joint limits, large angles; None: one of the two is missing.
        """
        if self.measured is None or self.linear is None:
            return None
        same = len(self.measured.frequency) == len(self.linear.frequency)
        return self.measured.distance(self.linear) if same else None


def respond(
    scene: Scene | str | Path,
    *,
    actor: str | None = None,
    joint: str = ".*",
    signal: Signal | None = None,
    execution: str = "auto",
    workers: int | None = None,
    report: Callable[[float], object] = lambda share: None,
) -> list[JointResponse]:
    """Drive joints by a test signal and measure how well they follow.

    Every joint is tested alone, on a suspended copy of the scene (base fixed, contacts off) where
    only the controllers and the model's own servos act. The copies run in one batch on all cores
    where MuJoCo runs every law and all are PD under a controller; else in processes, so a script
    that calls this needs the usual `if __name__ == "__main__":`.

    Args:
        scene: a Scene, or the path of a scene file.
        actor: name of the robot; None: all.
        joint: pattern of joint or actuator names.
        signal: what is added to the position setpoints; None: a step of 0.1 over 1 s.
        execution: as for World.
        workers: number of processes; None: one per core.
        report: called with the share that is done.

    Returns:
        One per joint in the order of the robots' actuators; then those that no law drives, with
        the reason as their problem.

    Raises:
        BindingError: nothing matches, or no law drives what does.
        SceneError: the scene cannot be read or built.
    """
    signal = signal or Signal()
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    bench = Bench(World(scene, execution))
    chosen, skipped = choose_tested(bench.world, actor, joint)
    check_rate(signal, bench.world.timestep)
    found = follow(scene, bench, chosen, [signal] * len(chosen), workers, report)
    bench.rest(signal)
    responses = _with_frequencies(bench.world, chosen, found, signal)
    reasons = [(s.actor, Response(s.actuator, "", None, None, problem=s.reason)) for s in skipped]
    return [*responses, *(JointResponse(name, response) for name, response in reasons)]


def follow(
    scene: Scene,
    bench: Bench,
    chosen: Sequence[Tested],
    signals: Sequence[Signal],
    workers: int | None = None,
    report: Callable[[float], object] = lambda share: None,
) -> list[Response]:
    """One response per chosen actuator to its own signal; the signals differ in amplitude only.

    In one batch where MuJoCo runs every law and all are PD, else in processes.

    Args:
        scene: what the bench's world was made from.
        bench: where the actuators were chosen.
        chosen: the same one several times is fine.
        signals: one for each.
        workers: number of processes or threads; None: one per core.
        report: called with the share that is done.
    """
    workers = workers or os.cpu_count() or 1
    laws = [c for c in chosen if isinstance(c, Chosen)]
    if is_plain(bench.world) and len(laws) == len(chosen):
        return follow_together(bench, laws, signals, workers, report)
    return follow_in_processes(scene, bench, chosen, signals, workers, report)


def check_rate(signal: Signal, timestep: float) -> None:
    """Refuse a frequency that the physics cannot show.

    Raises:
        PropertyError: it is half the rate of the physics or more.
    """
    highest = signal.frequency
    if signal.kind is Kind.CHIRP:
        highest = max(highest, signal.end_frequency)
    if signal.kind is not Kind.STEP and highest >= 0.5 / timestep:
        raise PropertyError(
            f"the test signal's frequency must be below half the rate of the physics, "
            f"{0.5 / timestep:g} Hz, got {highest:g}"
        )


def _with_frequencies(
    world: World,
    chosen: Sequence[Tested],
    found: Sequence[Response],
    signal: Signal,
) -> list[JointResponse]:
    """Add the frequency responses; the world must be suspended at rest."""
    found = [_unsettled(r, signal, world.timestep) for r in found]
    shown = [
        measured(r.trace, signal, world.timestep) if r.trace is not None and not r.causes else None
        for r in found
    ]
    linear = LinearResponse.of(world)
    grids = [_grid(world.timestep) if m is None else m.frequency for m in shown]
    # Records that take equally long have the same frequencies.
    exact = {key: linear.responses(at) for key, at in {_key(at): at for at in grids}.items()}
    return [
        JointResponse(
            c.robot.name,
            response,
            m,
            exact[_key(at)].get((c.robot.name, response.actuator)),
            linear.margins(c.robot.name, response.actuator),
        )
        for c, response, m, at in zip(chosen, found, shown, grids, strict=True)
    ]


def _unsettled(response: Response, signal: Signal, timestep: float) -> Response:
    """With a remark where a record does not show a frequency response."""
    if response.trace is None or not (why := why_unsettled(response.trace, signal, timestep)):
        return response
    return replace(response, causes=(*response.causes, why))


def _key(frequency: FloatArray) -> tuple[int, float, float]:
    return len(frequency), float(frequency[0]), float(frequency[-1])


def _grid(timestep: float) -> FloatArray:
    return GRID[GRID < 0.5 / timestep]
