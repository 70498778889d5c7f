"""What solutions are worth: whether the model can be right, and what is the timestep's doing."""

from dataclasses import dataclass, field

from mjrig.errors import ExecutionError
from mjrig.scene_edit.scene import Scene
from mjrig.tuning.fitting.lack_of_fit import misfit, unexplained, why_rejected, why_unexplained
from mjrig.tuning.fitting.timestep import Finer
from mjrig.tuning.least_squares.fit_problem import Problem
from mjrig.tuning.least_squares.fit_run import Report
from mjrig.tuning.least_squares.solver import Solution
from mjrig.tuning.least_squares.statistics import spread
from mjrig.tuning.simulated.finer import FinerSimulator
from mjrig.tuning.simulated.fit_jobs import Stage


@dataclass(frozen=True)
class Verdicts:
    """Judges the solutions of a fit to motion, each of them once.

    Attributes:
        scene: the scene that is fitted.
        stage: what is simulated.
        report: called with progress messages.
    """

    scene: Scene
    stage: Stage
    report: Report
    _rejections: list[tuple[Solution, str]] = field(default_factory=list)
    _steps: list[tuple[Solution, Finer]] = field(default_factory=list)

    def rejection(self, problem: Problem, solution: Solution) -> str:
        """Why the model is rejected; empty: it is not."""
        for judged, verdict in self._rejections:
            if judged is solution:
                return verdict
        self.report("lack of fit")
        nuisance = self.finer(problem, solution).nuisance
        worst = misfit(problem, solution, spread(problem, solution), nuisance)
        verdict = "" if worst is None else why_rejected(worst)
        if left := unexplained(problem, solution):
            verdict = why_unexplained(left)
        self._rejections.append((solution, verdict))
        return self._rejections[-1][1]

    def said_of(self, solution: Solution) -> str:
        """Why the model was rejected when a solution was judged; empty: it was not."""
        said = [verdict for judged, verdict in self._rejections if judged is solution]
        return next(filter(None, said), "")

    def finer(self, problem: Problem, solution: Solution) -> Finer:
        """What the estimates owe to the timestep, if a robot was recorded."""
        if not self.stage.is_real or self.stage.tangent.turns:
            return Finer.nothing(problem)
        for judged, known in self._steps:
            if judged is solution:
                return known
        try:
            simulator = FinerSimulator(self.scene, self.stage)
        except ExecutionError:
            return Finer.nothing(problem)
        self.report("half the timestep")
        try:
            self._steps.append((solution, Finer.of(problem, solution, simulator)))
        finally:
            simulator.close()
        return self._steps[-1][1]
