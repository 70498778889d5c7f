"""Joint response tests on suspended copies of the robot (base fixed, contacts off), in parallel."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.responses.frequency_response import (
    FrequencyResponse,
    LinearResponse,
    Margins,
    measured,
    unsettled,
)
from mjrig.lab.rollouts.actuator_selection import Chosen, Tested, choose_tested
from mjrig.lab.rollouts.experiment import Experiment, LiveWorld, SceneSource
from mjrig.lab.rollouts.joint_bench import Bench, Response
from mjrig.lab.rollouts.joint_signals import JointCase, JointSignals, SuspendedRobots, is_plain
from mjrig.lab.rollouts.plan import ExperimentPlan
from mjrig.lab.rollouts.run import traces
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.signals import Kind, Signal, strictest
from mjrig.lab.rollouts.worker import build_world

#: Fewer steps than this finish before a second process has started.
WORTH_A_PROCESS = 20_000
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
    bench = Bench(build_world(scene, execution))
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
    pairs = list(zip(chosen, signals, strict=True))
    steps = len(pairs) * signals[0].duration / bench.world.timestep
    processes = min(workers, len(pairs), int(steps // WORTH_A_PROCESS))
    is_batched = is_plain(bench.world) and all(isinstance(c, Chosen) for c in chosen)
    backend = "batch" if is_batched else "processes" if processes > 1 else "inline"
    source: SceneSource = LiveWorld(bench.world, SuspendedRobots(bench))
    if backend == "processes":
        source, workers = LocalScene.of(scene), processes
    scenario, actor = JointSignals(strictest(signals)), chosen[0].robot.name
    experiment = Experiment(source, scenario, actor, execution=bench.world.requested_execution)
    experiment = experiment.with_cases(
        JointCase(c.robot.name, c.binding.actuator, signal) for c, signal in pairs
    )
    why_not = "" if is_batched else "a law is not PD that MuJoCo runs"
    plan = ExperimentPlan(experiment, why_not, is_one_batch=True)
    return traces(plan, backend=backend, workers=workers, report=report)


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
    trace = response.trace
    finding = None if trace is None else unsettled(trace, signal, timestep)
    return response if finding is None else replace(response, causes=(*response.causes, finding))


def _key(frequency: FloatArray) -> tuple[int, float, float]:
    return len(frequency), float(frequency[0]), float(frequency[-1])


def _grid(timestep: float) -> FloatArray:
    return GRID[GRID < 0.5 / timestep]
