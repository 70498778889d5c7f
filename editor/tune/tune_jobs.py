"""Jobs of the Tune panel: plain data, run on a copy of the scene in another process.

Nothing of a window is imported here: the worker process needs none.
"""

import math
from dataclasses import dataclass
from pathlib import Path

from mjrig.core.names import how_many, literal
from mjrig.editor.session.job_worker import JobReport
from mjrig.editor.text import tr
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.gains.assignment import AssignmentPlan, Wish, assign
from mjrig.lab.responses.gain_suite import GainReport, check_gains
from mjrig.lab.responses.gain_test import GainTest
from mjrig.lab.responses.joint_response import JointResponse, respond
from mjrig.lab.rollouts.experiment import Scenario
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.scene_bundle import LocalScene
from mjrig.lab.rollouts.signals import Signal
from mjrig.lab.sweep.runner import Swept, sweep
from mjrig.lab.sweep.search_space import Space


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
