"""fit: gains, delays and joint parameters from recordings of a robot that has others.

Each recording is cut into windows (one for a robot that hangs or is fixed), whose initial states
are unknowns too, so that noise in the states biases nothing. Simulations of the windows, driven by
the recorded setpoints, are compared with the recorded states; the parameters are found by
Levenberg-Marquardt on finite differences, each a world of a batch, and delays by trying them.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mjrig.batch import strip
from mjrig.errors import ExecutionError, FitError
from mjrig.names import listed
from mjrig.property_kinds import FloatArray
from mjrig.recording.reading import read_recording
from mjrig.recording.recording import Recording
from mjrig.scene import Scene
from mjrig.tuning.fit_batch import BatchSimulator
from mjrig.tuning.fit_data import Track, cut, read_tracks
from mjrig.tuning.fit_jobs import Simulator, Stage
from mjrig.tuning.fit_plant import DELAY, Drives, check_parameters, drives_of
from mjrig.tuning.fit_pool import PoolSimulator
from mjrig.tuning.fit_problem import Problem
from mjrig.tuning.fit_run import Outcome, Report, Run
from mjrig.tuning.fit_search import asked_efforts
from mjrig.tuning.fit_statistics import Spread, fitted_weights, spread
from mjrig.tuning.fit_tangent import Tangent
from mjrig.tuning.fit_unknowns import Bounds, delay_bounds, unknowns_of
from mjrig.tuning.fit_verdict import (
    Dropped,
    Estimate,
    delay_estimate,
    drops,
    estimate,
    left_alone,
)
from mjrig.world import World

#: Length of windows where the base is free [s]: contacts make longer ones unpredictable.
WINDOW = 0.1
#: Numbers the derivatives may take; beyond it samples are left out.
ROOM = 1e8
#: Residuals with more memory than this show that the model lacks something.
MEMORY = 4.0


@dataclass(frozen=True)
class Fit:
    """What a fit found.

    Attributes:
        actor: name of the robot.
        estimates: one per joint and parameter, parameter by parameter.
        recordings: names of the files.
        rms_before, rms_after: joint → root mean square of simulated minus recorded position
            [rad or m], with what the scene says and with what was found.
        notes: what to know about the whole, in words.
        seconds: how long it took.
    """

    actor: str
    estimates: tuple[Estimate, ...]
    recordings: tuple[str, ...]
    rms_before: dict[str, float]
    rms_after: dict[str, float]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def __getitem__(self, key: tuple[str, str]) -> Estimate:
        """The estimate of a joint (or actuator) and a parameter.

        Raises:
            KeyError: there is none.
        """
        joint, parameter = key
        for found in self.estimates:
            if joint in (found.joint, found.actuator) and found.parameter == parameter:
                return found
        raise KeyError(key)


def fit(
    scene: Scene | str | Path,
    recordings: Iterable[Recording | str | Path],
    parameters: Sequence[str],
    *,
    actor: str | None = None,
    joints: str | Sequence[str] = ".*",
    together: bool = True,
    bounds: Bounds | None = None,
    window: float | None = None,
    report: Report = lambda text: None,
) -> Fit:
    """Find parameters with which the scene moves as it was recorded.

    Args:
        scene: where the fit begins; nothing is changed in it.
        recordings: files or objects, all explained by the same parameters.
        parameters: some of kp, kv, delay, armature, damping, frictionloss, torque_limit.
        actor: whose; None: of the only actor that laws drive.
        joints: patterns of joint or actuator names.
        together: how joints shake each other is part of the derivatives; False: joint by joint,
            which is faster, and as good for joints that hardly do.
        bounds: parameter → (low, high), inside of what the properties allow; delay in steps.
        window: length of the windows [s]; inf: whole recordings; None: whole recordings of fixed
            robots, 0.1 s of free ones.
        report: told in words what is going on.

    Raises:
        FitError: a recording is not of this robot or timestep, lacks something or holds numbers
            that are not finite; a parameter, joint or bound is wrong.
        RecordingError: a file cannot be read.
        SceneError: the scene cannot be built.
    """
    began = time.perf_counter()
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    read = [r if isinstance(r, Recording) else read_recording(r) for r in recordings]
    world = World(scene)
    strip(world)
    world.reset()
    drives = drives_of(world, actor or _only(world))
    chosen = drives.match([joints] if isinstance(joints, str) else joints)
    check_parameters(parameters, drives, chosen)
    tracks = read_tracks(world, drives.actor, read)
    longest = max(int(drives.lags.max()), delay_bounds(bounds or {})[1] * (DELAY in parameters))
    skip = 0 if drives.remembers else longest * int(drives.ticks.max())
    stage = _stage(world, drives, tracks, window, skip, len(parameters) * len(chosen))
    simulator = _simulator(scene, stage)
    try:
        task = _Task(world, stage, simulator, parameters, chosen, bounds or {}, together, report)
        found = task.go()
    finally:
        simulator.close()
    return replace(found, seconds=time.perf_counter() - began)


def _only(world: World) -> str:
    driven = [r.name for r in world.articulations.values() if len(r.bindings)]
    if len(driven) != 1:
        raise FitError(f"name the actor to fit, one of: {listed(driven)}")
    return driven[0]


def _stage(
    world: World,
    drives: Drives,
    tracks: list[Track],
    window: float | None,
    skip: int,
    count: int,
) -> Stage:
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    if window is not None and not window > 0.0:
        raise FitError(f"the length of windows must be above 0 s, got {window:g}")
    if window is None:
        window = WINDOW if tangent.turns and not drives.remembers else math.inf
    length = None if math.isinf(window) else max(round(window / world.timestep), 2)
    if length is not None and drives.remembers:
        raise FitError(
            f"{drives.actor}: its laws have memory, which no window in the middle knows; "
            "fit whole recordings: window inf"
        )
    windows = cut(tracks, length, int(np.lcm.reduce(drives.ticks)), skip)
    size = sum(len(w.samples) for w in windows) * 2 * len(tangent) * (count + 2 * len(tangent))
    every = max(1, math.ceil(size / ROOM))
    thin = [replace(w, samples=w.samples[::every], after=w.after[::every]) for w in windows]
    return Stage(drives, tracks, thin, tangent)


def _simulator(scene: Scene, stage: Stage) -> Simulator:
    try:
        return BatchSimulator(scene, stage)
    except ExecutionError:  # a law that runs in Python
        return PoolSimulator(scene, stage)


@dataclass(frozen=True)
class _Task:
    """All choices made: what is left is work."""

    world: World
    stage: Stage
    simulator: Simulator
    parameters: Sequence[str]
    chosen: Sequence[int]
    bounds: Bounds
    together: bool
    report: Report

    def go(self) -> Fit:
        problem = Problem(self.stage, self.simulator, [], apart=not self.together)
        start = problem.start()
        (residuals,) = problem.residuals([start])
        problem.refuse_divergence(residuals)
        efforts = asked_efforts(problem, start, residuals)
        limit = start.values["torque_limit"]
        # No limit is as good as one nothing reaches, and can be moved.
        start.values["torque_limit"] = np.where(np.isinf(limit), 2.0 * efforts + 1.0, limit)
        unknowns = unknowns_of(
            self.world, self.stage.drives, self.parameters, self.chosen, self.bounds, efforts
        )
        problem = problem.with_unknowns(unknowns)
        outcome = self._run(problem).go(start)
        errors = spread(problem, outcome.solution)
        gone: list[Dropped] = []
        while new := drops(problem, outcome.solution, errors):
            gone += new
            problem, outcome = self._without(problem, outcome, new)
            errors = spread(problem, outcome.solution)
        return self._result(problem, outcome, errors, gone)

    def _run(self, problem: Problem) -> Run:
        delayed = self.chosen if DELAY in self.parameters else []
        return Run(problem, delayed, delay_bounds(self.bounds), self.report)

    def _without(
        self, problem: Problem, outcome: Outcome, gone: Sequence[Dropped]
    ) -> tuple[Problem, Outcome]:
        """Leave out what cannot be known, as the scene has it, and solve for the rest."""
        out = [d.unknown for d in gone]
        point = outcome.solution.point
        old = np.array([self.stage.drives.values[u.parameter][u.place] for u in out])
        low = np.array([d.low for d in gone])
        point = point.put(out, np.where(np.isfinite(old), np.maximum(old, low), point.get(out)))
        fewer = problem.with_unknowns([u for u in problem.unknowns if u not in out])
        weights = fitted_weights(problem, outcome.solution)
        return fewer, self._run(fewer).finish(point, weights, outcome.before)

    def _result(
        self, problem: Problem, outcome: Outcome, errors: Spread, gone: Sequence[Dropped]
    ) -> Fit:
        point, stage = outcome.solution.point, self.stage
        found = [
            estimate(problem, u, float(point.values[u.parameter][u.place]), float(e))
            for u, e in zip(problem.unknowns, errors.errors, strict=True)
        ]
        found = [_resting_on(e, problem, gone) for e in found]
        found += [
            left_alone(problem, d, float(point.values[d.unknown.parameter][d.unknown.place]))
            for d in gone
        ]
        limits = delay_bounds(self.bounds)
        found += [delay_estimate(problem, point, p, errors, limits) for p in outcome.profiles]
        order = {name: i for i, name in enumerate(self.parameters)}
        place = {name: i for i, name in enumerate(stage.drives.actuators)}
        found.sort(key=lambda e: (order[e.parameter], place[e.actuator]))
        return Fit(
            stage.drives.actor,
            tuple(found),
            tuple(t.name for t in stage.tracks),
            self._rms(outcome.before),
            self._rms(outcome.solution.residuals),
            _notes(errors, free=bool(stage.tangent.turns)),
        )

    def _rms(self, residuals: Sequence[FloatArray]) -> dict[str, float]:
        every, stage = (
            np.concatenate([r[:, : len(self.stage.tangent)] for r in residuals]),
            self.stage,
        )
        own = np.searchsorted(stage.tangent.dofs, stage.drives.dofs)
        values = np.sqrt(np.mean(every[:, own] ** 2, axis=0))
        return {stage.drives.joints[i]: float(values[i]) for i in self.chosen}


def _resting_on(found: Estimate, problem: Problem, gone: Sequence[Dropped]) -> Estimate:
    """Say where a value holds only together with one that was left alone."""
    joints = problem.stage.drives.joints
    for drop in gone:
        partner = drop.partner
        if partner is None or partner.parameter != found.parameter:
            continue
        if joints[partner.place] == found.joint:
            whose = (
                ""
                if drop.unknown.place == partner.place
                else (f" of {joints[drop.unknown.place]!r}")
            )
            text = f"if {drop.unknown.parameter}{whose} is as the scene says"
            return replace(found, reason=text)
    return found


def _notes(errors: Spread, *, free: bool) -> tuple[str, ...]:
    found = []
    if free:
        found.append(
            "the base is free: impacts make the cost rough, so that the search can end beside the "
            "best values, delays one step off, and the intervals are too narrow; hang the robot up "
            "to be sure"
        )
    if errors.inflation >= MEMORY:
        found.append(
            "what is left over has memory, so the model lacks something; the intervals are "
            f"{math.sqrt(errors.inflation):.1f} times as wide as noise alone would make them"
        )
    return tuple(found)
