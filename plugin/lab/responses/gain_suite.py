"""The gain test suite: joints are sent to their limits, stepped, swung and loaded."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from mjrig.core.errors import BindingError
from mjrig.core.names import literal
from mjrig.core.patterns import Slots
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_sections import GainTests
from mjrig.core.sim.world import World
from mjrig.lab.responses.gain_test import GainResult, GainTest, GainVerdict, Judge
from mjrig.lab.responses.joint_response import check_rate, follow
from mjrig.lab.rollouts.actuator_selection import Skipped, Tested, choose_tested
from mjrig.lab.rollouts.joint_bench import Bench, Response, ResponseRecorder, scales_of
from mjrig.lab.rollouts.signals import Kind, Signal, Trace
from mjrig.lab.rollouts.worker import build_world

#: How long steps are held at least [s]; saturation is counted over it.
STEP_TIME = 1.0
#: Cycles of a sine, the second half of which is measured; more where the joint rings for longer.
CYCLES, MORE_CYCLES = 6, 60
#: Least duration of a sine [s].
SINE_TIME = 3.0
#: Share of the way to an end of the range that a step or a sine may take.
ROOM = 0.9
#: A joint closer to an end of its range than this share of the amplitude is at that end.
AT_END = 1e-3
#: Factors on the timestep, by the name they are shown with.
TIMESTEPS = {"h/2": 0.5, "2h": 2.0}


@dataclass(frozen=True)
class GainReport:
    """Results of the suite, test by test; `skipped` are actuators no law drives."""

    scene: str
    results: tuple[GainResult, ...]
    skipped: tuple[Skipped, ...] = ()

    def count(self, verdict: GainVerdict) -> int:
        """How many results are of a kind."""
        return sum(result.verdict is verdict for result in self.results)

    @property
    def is_passed(self) -> bool:
        """Whether something was tested and nothing failed."""
        return self.count(GainVerdict.PASS) > 0 and not self.count(GainVerdict.FAIL)


def check_gains(
    scene: Scene | str | Path,
    *,
    actor: str | None = None,
    joints: Sequence[str] = (".*",),
    tests: Sequence[GainTest | str] = tuple(GainTest),
    execution: str = "auto",
    workers: int | None = None,
    report: Callable[[float], object] = lambda share: None,
) -> GainReport:
    """Test how joints follow, and judge it by the thresholds in `gain_tests` of their actors.

    Every joint is tested alone on a suspended copy of the scene, as by `respond`, which has a word
    about processes.

    Args:
        scene: a Scene, or the path of a scene file.
        actor: name of the robot; None: all.
        joints: patterns of joint or actuator names.
        tests: which tests.
        execution: as for World.
        workers: number of processes; None: one per core.
        report: called with the share that is done.

    Raises:
        BindingError: a pattern matches nothing, or no law drives what does.
        PropertyError: the sine is too fast for the timestep.
        SceneError: the scene cannot be read or built.
    """
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    asked = [test for test in GainTest if test in {GainTest(t) for t in tests}]
    suite = _Suite(scene, execution, workers)
    suite.choose(actor, joints)
    results: list[GainResult] = []
    for k, test in enumerate(asked):

        def share(part: float, done: int = k) -> None:
            report((done + part) / len(asked))

        results += suite.run(test, share)
    report(1.0)
    name = scene.path.name if scene.path is not None else "scene"
    return GainReport(name, tuple(results), tuple(suite.skipped))


Report = Callable[[float], object]


class _Suite:
    """The tests on one bench; other timesteps and payloads have benches of their own."""

    def __init__(self, scene: Scene, execution: str, workers: int | None) -> None:
        self._scene, self._execution, self._workers = scene, execution, workers
        self._bench = Bench(build_world(scene, execution))
        self._chosen: list[Tested] = []
        self._judges: list[Judge] = []
        self.skipped: list[Skipped] = []

    def choose(self, actor: str | None, joints: Sequence[str]) -> None:
        """Take the actuators that match any of some patterns, in the order of the robots."""
        world = self._bench.world
        for pattern in joints:
            _check_matches(world, actor, pattern)
        together = "|".join(f"(?:{pattern})" for pattern in joints)
        self._chosen, self.skipped = choose_tested(world, actor, together)
        limits = _thresholds(world)
        self._judges = [Judge(c, limits[c.robot.name]) for c in self._chosen]

    def run(self, test: GainTest, report: Report) -> list[GainResult]:
        """The results of one test."""
        ways = {
            GainTest.LIMITS: self._limits,
            GainTest.STEP: self._step,
            GainTest.SINE: self._sine,
            GainTest.LOAD: self._load,
            GainTest.TIMESTEP: self._timestep,
        }
        return ways[test](report)

    # Signals ------------------------------------------------------------------------------------

    def _limits(self, report: Report) -> list[GainResult]:
        found: dict[tuple[int, str], GainResult] = {}
        todo: list[tuple[int, str, Signal]] = []
        for i, judge in enumerate(self._judges):
            base, ends = self._base(i), judge.chosen.binding.joint_range
            if ends is None:
                found[i, ""] = judge.skipped(GainTest.LIMITS, "no range")
                continue
            for case, end in zip(("low", "high"), ends, strict=True):
                if abs(end - base) <= AT_END * judge.limits.amplitude:
                    found[i, case] = judge.skipped(GainTest.LIMITS, "at an end", case)
                else:
                    signal = Signal(Kind.STEP, end - base, duration=STEP_TIME)
                    todo.append((i, case, signal))
        responses = self._follow([i for i, _, _ in todo], [s for _, _, s in todo], report)
        for (i, case, _), response in zip(todo, responses, strict=True):
            found[i, case] = self._judges[i].at_limit(response, case)
        order = sorted(found, key=lambda key: (key[0], key[1] == "high"))
        return [found[key] for key in order]

    def _step(self, report: Report) -> list[GainResult]:
        signals = {i: self._step_signal(i) for i in range(len(self._judges))}
        responses = self._follow(list(signals), list(signals.values()), report)
        return [j.step(r) for j, r in zip(self._judges, responses, strict=True)]

    def _sine(self, report: Report) -> list[GainResult]:
        found: dict[int, GainResult] = {}
        signals: dict[int, Signal] = {}
        h = self._bench.world.timestep
        for i, judge in enumerate(self._judges):
            down, up = self._room(i)
            amplitude = min(judge.limits.amplitude, ROOM * down, ROOM * up)
            if amplitude <= AT_END * judge.limits.amplitude:
                found[i] = judge.skipped(GainTest.SINE, "no room")
                continue
            signals[i] = _sine_of(judge.limits, amplitude, CYCLES)
            check_rate(signals[i], h)
        found |= self._swung(signals, report)
        # One that rings for long gets more time to swing in.
        ringing = [i for i in signals if found[i].problem and found[i].trace is not None]
        longer = {
            i: _sine_of(self._judges[i].limits, signals[i].amplitude, MORE_CYCLES) for i in ringing
        }
        found |= self._swung(longer, report)
        return [found[i] for i in sorted(found)]

    def _swung(self, signals: Mapping[int, Signal], report: Report) -> dict[int, GainResult]:
        found = {}
        h = self._bench.world.timestep
        for hertz in dict.fromkeys(s.frequency for s in signals.values()):
            same = {i: s for i, s in signals.items() if s.frequency == hertz}
            responses = self._follow(list(same), list(same.values()), report)
            for (i, signal), response in zip(same.items(), responses, strict=True):
                found[i] = self._judges[i].sine(response, signal, h)
        return found

    def _timestep(self, report: Report) -> list[GainResult]:
        every = list(range(len(self._judges)))
        signals = [self._step_signal(i) for i in every]
        usual = self._follow(every, signals, lambda share: report(share / 3.0))
        found: dict[tuple[int, str], GainResult] = {}
        for k, (case, factor) in enumerate(TIMESTEPS.items(), 1):
            scene = _with_timestep(self._scene, factor * self._bench.world.timestep)
            bench = Bench(build_world(scene, self._execution))
            chosen = [_same(bench.world, c) for c in self._chosen]

            def share(part: float, done: int = k) -> None:
                report((done + part) / 3.0)

            responses = follow(scene, bench, chosen, signals, self._workers, share)
            for i, (response, before) in enumerate(zip(responses, usual, strict=True)):
                found[i, case] = self._judges[i].other_timestep(response, before, signals[i], case)
        return [found[i, case] for i in every for case in TIMESTEPS]

    def _follow(
        self, which: Sequence[int], signals: Sequence[Signal], report: Report
    ) -> list[Response]:
        if not signals:
            return []
        chosen = [self._chosen[i] for i in which]
        return follow(self._scene, self._bench, chosen, signals, self._workers, report)

    def _step_signal(self, i: int) -> Signal:
        """Towards the end of the range that is farther away."""
        down, up = self._room(i)
        size = min(self._judges[i].limits.amplitude, ROOM * max(down, up))
        return Signal(Kind.STEP, size if up >= down else -size, duration=STEP_TIME)

    def _room(self, i: int) -> tuple[float, float]:
        """How far the target may be moved down and up within the range of the joint."""
        ends = self._chosen[i].binding.joint_range
        if ends is None:
            return np.inf, np.inf
        base = self._base(i)
        return max(0.0, base - ends[0]), max(0.0, ends[1] - base)

    def _base(self, i: int) -> float:
        """The position of the joint that the setpoint asks for; signals are added to it."""
        robot, binding = self._chosen[i].robot, self._chosen[i].binding
        setpoint = robot.setpoints.position[robot.actuator_names.index(binding.actuator)]
        return float(setpoint * scales_of(robot, [binding])[0])

    # Load ---------------------------------------------------------------------------------------

    def _load(self, report: Report) -> list[GainResult]:
        bench, chosen = self._bench, self._chosen
        if any(judge.limits.payload for judge in self._judges):
            bench = Bench(build_world(self._scene, self._execution))
            load(bench.world)
            chosen = [_same(bench.world, c) for c in chosen]
        bench.world.reset()
        logs = list(_logs(chosen))
        began = bench.world.time
        least = min(_smallest_error(judge.limits) for judge in self._judges)

        def watch() -> None:
            for log in logs:
                log.take(bench.world.time - began)

        rest = bench.rest(Signal(Kind.STEP, least), watch)
        traces: dict[int, Trace] = {}
        for log in logs:
            pairs = zip(log.bindings, log.traces(), strict=False)
            traces |= {binding.actuator_id: trace for binding, trace in pairs}
        return [
            judge.load(traces.get(c.binding.actuator_id), rest.why_not(c.binding))
            for judge, c in zip(self._judges, chosen, strict=True)
        ]


def _sine_of(limits: GainTests, amplitude: float, cycles: int) -> Signal:
    """Whole cycles, and at least SINE_TIME of them."""
    hertz = limits.frequency
    count = max(cycles, math.ceil(SINE_TIME * hertz))
    return Signal(Kind.SINE, amplitude, hertz, duration=count / hertz)


def _logs(chosen: Sequence[Tested]) -> Iterator[ResponseRecorder]:
    for robot in {c.robot.name: c.robot for c in chosen}.values():
        yield ResponseRecorder(robot, [c.binding for c in chosen if c.robot is robot])


def _smallest_error(limits: GainTests) -> float:
    errors = [e for e in (limits.angle_error, limits.distance_error) if e]
    return min([*errors, limits.amplitude])


def load(world: World) -> None:
    """Add the payloads of the actors: point masses at the centres of mass of bodies.

    Gravity compensation stays what it was for the robot alone.

    Raises:
        BindingError: a pattern matches no body.
    """
    model = world.model
    for name, limits in _thresholds(world).items():
        prefix = world[name].model_map.prefix
        bodies = {
            full.removeprefix(prefix): body
            for body in range(1, model.nbody)
            if (full := _body_name(model, body)).startswith(prefix)
        }
        slots = Slots([[local] for local in bodies], f"{name}.gain_tests.payload")
        for place, (_, mass) in slots.spread(limits.payload).items():
            body = list(bodies.values())[place]
            before = float(model.body_mass[body])
            model.body_mass[body] = before + mass
            if mass:
                model.body_gravcomp[body] *= before / (before + mass)
    mujoco.mj_setConst(model, world.data)
    world.reset()


def _body_name(model: object, body: int) -> str:
    return str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or "")


def _check_matches(world: World, actor: str | None, pattern: str) -> None:
    """Refuse a pattern that matches no actuator of any robot.

    Raises:
        BindingError: it names the nearest actuators.
    """
    robots = [world[actor]] if actor is not None else list(world.articulations.values())
    refusals: list[BindingError] = []
    for robot in robots:
        try:
            Slots([b.names for b in robot.actuators], robot.name).match(pattern)
            return
        except BindingError as error:
            if robot.actuators:
                refusals.append(error)
    if refusals:
        raise refusals[0]


# Worlds -----------------------------------------------------------------------------------------


def _thresholds(world: World) -> dict[str, GainTests]:
    """The `gain_tests` of each actor; the defaults where there are none."""
    pairs = zip(world.articulations, world.placements.actors, strict=True)
    return {name: placed.item.gain_tests or GainTests() for name, placed in pairs}


def _same(world: World, chosen: Tested) -> Tested:
    """The same actuator in another world of the scene."""
    found, skipped = choose_tested(world, chosen.robot.name, literal(chosen.binding.actuator))
    for one in found:
        if one.binding.actuator == chosen.binding.actuator:
            return one
    raise BindingError(f"{chosen.label}: {skipped[0].reason if skipped else 'is not there'}")


def _with_timestep(scene: Scene, timestep: float) -> Scene:
    """A copy of a scene that differs in the timestep only."""
    reading = scene.reading
    copy = Scene.parse(
        scene.to_text(),
        scene.base.absolute(),
        vars=dict(reading.vars),
        sandbox=reading.sandbox.root if reading.sandbox is not None else False,
        trust=reading.trusted,
    )
    copy.set("sim.timestep", timestep)
    return copy
