"""Settings of the Tune panel, and the jobs they make; independent of widgets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mjrig.cli.fit_command import FitCommandOptions
from mjrig.cli.sweep_command import SweepOptions
from mjrig.cli.tune_command import AssignOptions
from mjrig.core.errors import PropertyError
from mjrig.core.names import how_many, literal
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.session.job_worker import BackgroundJob, JobReport
from mjrig.editor.text import tr
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.fit.plant import OF_JOINTS
from mjrig.lab.gains.assignment import AssignmentPlan, Inertia, Wish, assign
from mjrig.lab.gains.gain_rows import GainRow, rounded
from mjrig.lab.replay.replay_test import ReplayTest
from mjrig.lab.responses.gain_suite import GainReport, check_gains
from mjrig.lab.responses.gain_test import GainTest
from mjrig.lab.responses.joint_response import JointResponse, respond
from mjrig.lab.rollouts.experiment import Scenario
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scenarios import FreeRun, SignalTest
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.signals import Kind, Signal
from mjrig.lab.sweep.runner import Swept, sweep
from mjrig.lab.sweep.search_space import Choices, Range, Space


@dataclass(frozen=True)
class Joints:
    """Some actuators of one actor."""

    actor: str
    actuators: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """A pattern that matches exactly these actuators."""
        return "|".join(map(literal, self.actuators))

    def __str__(self) -> str:
        return f"{self.actor}, {how_many(len(self.actuators), 'joint')}"


@dataclass(frozen=True)
class RespondJob:
    """How joints follow a signal."""

    scene: LocalScene
    joints: Joints
    signal: Signal

    @property
    def title(self) -> str:
        """Title of the job."""
        return tr("{kind} on {joints}", kind=self.signal.kind, joints=self.joints)

    def run(self, report: JobReport) -> list[JointResponse]:
        """Test them.

        Raises:
            MjrigError: the job failed.
        """
        report(None, tr("building copies"))
        return respond(
            self.scene.load(),
            actor=self.joints.actor,
            joint=self.joints.pattern,
            signal=self.signal,
            report=lambda share: report(share, "following"),
        )


@dataclass(frozen=True)
class GainTestJob:
    """The gain test suite."""

    scene: LocalScene
    joints: Joints
    tests: tuple[GainTest, ...]

    @property
    def title(self) -> str:
        """Title of the job."""
        return tr("{names} on {joints}", names=", ".join(self.tests), joints=self.joints)

    def run(self, report: JobReport) -> GainReport:
        """Test them.

        Raises:
            MjrigError: the job failed.
        """
        report(None, tr("building copies"))
        return check_gains(
            self.scene.load(),
            actor=self.joints.actor,
            joints=[self.joints.pattern],
            tests=self.tests,
            report=lambda share: report(share, "testing"),
        )


@dataclass(frozen=True)
class AssignJob:
    """Gains by natural frequency and damping ratio."""

    scene: LocalScene
    joints: Joints
    wish: Wish
    poses: int = 32

    @property
    def title(self) -> str:
        """Title of the job."""
        return tr(
            "{frequency:g} Hz, ζ {damping:g} for {joints}",
            frequency=self.wish.frequency,
            damping=self.wish.damping,
            joints=self.joints,
        )

    def run(self, report: JobReport) -> AssignmentPlan:
        """Work the gains out.

        Raises:
            MjrigError: the job failed.
        """
        report(None, tr("evaluating {poses}", poses=how_many(self.poses, "pose")))
        return assign(
            self.scene.load(),
            self.wish,
            actor=self.joints.actor,
            joint=self.joints.pattern,
            poses=self.poses,
        )


@dataclass(frozen=True)
class FitJob:
    """Parameters identified from recordings."""

    scene: LocalScene
    joints: Joints
    recordings: tuple[Path, ...]
    parameters: tuple[str, ...]
    together: bool = True

    @property
    def title(self) -> str:
        """Title of the job."""
        return tr("{names} of {joints}", names=", ".join(self.parameters), joints=self.joints)

    def run(self, report: JobReport) -> Fit:
        """Fit them.

        Raises:
            MjrigError: the job failed.
        """
        report(None, "reading")
        return fit(
            self.scene.load(),
            self.recordings,
            self.parameters,
            actor=self.joints.actor,
            joints=self.joints.pattern,
            together=self.together,
            report=lambda text: report(None, text),
        )


@dataclass(frozen=True)
class SweepJob:
    """Many values, tested and ranked.

    `randomise` is what `mjrig sweep --randomise` takes.
    """

    scene: LocalScene
    joints: Joints
    space: Space
    scenario: Scenario
    objective: str = "rmse"
    randomise: str = ""
    seeds: int = 1

    @property
    def title(self) -> str:
        """Title of the job."""
        count = math.prod(len(c.values) for c in self.space.choices) * max(1, self.space.samples)
        return tr("{count} on {joints}", count=how_many(count, "point"), joints=self.joints)

    def run(self, report: JobReport) -> Swept:
        """Test them all.

        Raises:
            MjrigError: the job failed.
        """
        report(None, tr("testing the ends of the ranges"))
        return sweep(
            self.scene.load(),
            self.space,
            self.scenario,
            objective=self.objective,
            actor=self.joints.actor,
            randomise=Randomisation.read(self.randomise),
            seeds=self.seeds,
            executor="auto",
            report=lambda done, total: report(
                done / max(1, total), tr("{done} of {total}", done=done, total=total)
            ),
        )


TESTS = ("signal", "run", "replay")
WAYS = ("grid", "lhs", "random")
#: Suffixes of recordings.
RECORDINGS = (".h5", ".hdf5", ".npz", ".csv", ".json", ".mcap", ".bag", ".db3", ".parquet")


class Settings(Protocol):
    """What a form holds."""

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob: ...


@dataclass
class RespondSettings:
    """How joints follow."""

    signal: Signal = field(default_factory=lambda: Signal(Kind.CHIRP, 0.1, 0.2, 20.0, 5.0))

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob:
        """What to do."""
        return RespondJob(LocalScene.of(scene), joints_of(rows), self.signal)


@dataclass
class GainTestSettings:
    """The gain test suite; its thresholds are the scene's."""

    tests: list[GainTest] = field(default_factory=lambda: list(GainTest))

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob:
        """What to do.

        Raises:
            PropertyError: there is no test.
        """
        if not self.tests:
            raise PropertyError(tr("tick a test to run"))
        tests = tuple(test for test in GainTest if test in self.tests)
        return GainTestJob(LocalScene.of(scene), joints_of(rows), tests)


class AssignSettings(AssignOptions):
    """Gains by frequency and damping."""

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob:
        """What to do.

        Raises:
            PropertyError: a number is out of range.
        """
        wish = Wish(self.frequency, self.damping, self.step, Inertia(self.inertia))
        return AssignJob(LocalScene.of(scene), joints_of(rows), wish, self.poses)


class FitSettings(FitCommandOptions):
    """Parameters from recordings."""

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob:
        """What to do.

        Raises:
            PropertyError: there is no recording, or no parameter.
        """
        if not self.recordings:
            raise PropertyError(tr("add a recording to fit the parameters to"))
        if not self.parameters:
            raise PropertyError(tr("tick a parameter to fit"))
        names = tuple(n for n in OF_JOINTS if n in self.parameters)
        files = tuple(path.absolute() for path in self.recordings)
        return FitJob(LocalScene.of(scene), joints_of(rows), files, names, not self.each)


@dataclass
class GainAxis:
    """The values of one gain; `count` only matters in a grid."""

    low: float
    high: float
    count: int = 5
    log: bool = False

    @classmethod
    def around(cls, values: Sequence[float]) -> "GainAxis":
        """From half to twice the values in force."""
        low, high = min(values), max(values)
        finite = 0.0 < high < float("inf")
        return cls(rounded(0.5 * low), rounded(2.0 * high)) if finite else cls(0.0, 1.0)


@dataclass
class SweepSettings:
    """Many values, tested and ranked.

    `axes` are gains of the chosen joints; `more` has other parameters, one per line, as
    `mjrig sweep --grid` takes them (`--range` where values are sampled). `options` has the rest.
    """

    options: SweepOptions = field(default_factory=lambda: SweepOptions(sample=32))

    axes: dict[str, GainAxis] = field(default_factory=dict)
    more: str = ""
    way: str = "grid"
    test: str = "signal"
    signal: Signal = field(default_factory=Signal)
    seconds: float = 2.0
    recording: Path | None = None

    def job(self, scene: Scene, rows: Sequence[GainRow]) -> BackgroundJob:
        """What to do.

        Raises:
            PropertyError: something is missing or wrong.
        """
        joints = joints_of(rows)
        return SweepJob(
            LocalScene.of(scene),
            joints,
            self.space(rows),
            self._scenario(joints),
            self.options.metric,
            self.options.randomise,
            self.options.seeds,
        )

    def space(self, rows: Sequence[GainRow]) -> Space:
        """The points.

        Raises:
            PropertyError: there is no parameter, or one is wrong.
        """
        lines = [self._line(gain, axis, rows) for gain, axis in self.axes.items()]
        lines += [line.strip() for line in self.more.splitlines() if line.strip()]
        if not lines:
            raise PropertyError(tr("tick a gain to sweep"))
        if self.way == "grid":
            return Space(choices=tuple(map(Choices.read, lines)))
        ranges = tuple(map(Range.read, lines))
        return Space(ranges=ranges, samples=self.options.sample, method=self.way)

    def _line(self, gain: str, axis: GainAxis, rows: Sequence[GainRow]) -> str:
        """A parameter as the command line takes it."""
        if locked := next((f"{row.key}: {row.locked}" for row in rows if row.locked), ""):
            raise PropertyError(locked)
        if native := next((row for row in rows if row.is_native), None):
            raise PropertyError(
                tr(
                    "{actuator}: a sweep varies gains of controllers, not those of the model's "
                    "own actuators; use_motors puts a controller in their place",
                    actuator=native.actuator,
                )
            )
        paths = {row.paths[gain]: row.slots for row in rows if gain in row.paths}
        if len(paths) != 1:
            why = tr("under several controllers") if paths else tr("without {gain}", gain=gain)
            raise PropertyError(
                tr("{gain}: the chosen joints are {why}; choose others", gain=gain, why=why)
            )
        words = [f"{axis.low:g}", f"{axis.high:g}"]
        words += [str(axis.count)] if self.way == "grid" else []
        words += ["log"] if axis.log else []
        ((path, slots),) = paths.items()
        whole = len(rows) == len(slots.names)
        return f"{path if whole else f'{path}[{joints_of(rows).pattern}]'}={':'.join(words)}"

    def _scenario(self, joints: Joints) -> Scenario:
        if self.test == "run":
            return FreeRun(self.seconds)
        if self.test == "signal":
            return SignalTest(self.signal, (joints.pattern,), self.options.together)
        if self.recording is None:
            raise PropertyError(tr("choose a recording to compare with"))
        return ReplayTest(self.recording.absolute())


def joints_of(rows: Sequence[GainRow]) -> Joints:
    """The joints of some rows.

    Raises:
        PropertyError: there are none, or they are of several actors.
    """
    actors = list(dict.fromkeys(row.actor for row in rows))
    if len(actors) != 1:
        raise PropertyError(
            tr("the chosen joints belong to several actors; choose joints of one")
            if actors
            else tr("no controller with gains is shown; select an actor that has one")
        )
    return Joints(actors[0], tuple(row.actuator for row in rows))
