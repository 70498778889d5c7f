"""Tuning: joint responses, gain assignment, identification, sweeps and search."""

from typing import TYPE_CHECKING

from mjrig.lazy import exports

if TYPE_CHECKING:
    from mjrig.tuning.assignment.assign import Assignment as Assignment
    from mjrig.tuning.assignment.assign import Inertia as Inertia
    from mjrig.tuning.assignment.assign import Wish as Wish
    from mjrig.tuning.assignment.assign import assign as assign
    from mjrig.tuning.assignment.assign_report import assign_report as assign_report
    from mjrig.tuning.fitting.fit import Fit as Fit
    from mjrig.tuning.fitting.fit import fit as fit
    from mjrig.tuning.fitting.fit_report import fit_report as fit_report
    from mjrig.tuning.fitting.fit_report import put_fit as put_fit
    from mjrig.tuning.objectives.objective import Objective as Objective
    from mjrig.tuning.objectives.objective_replay import ReplayTest as ReplayTest
    from mjrig.tuning.objectives.objective_run import FreeRun as FreeRun
    from mjrig.tuning.objectives.objective_signal import SignalTest as SignalTest
    from mjrig.tuning.objectives.variation import Randomisation as Randomisation
    from mjrig.tuning.responses.frequency import FrequencyResponse as FrequencyResponse
    from mjrig.tuning.responses.gain_report import gain_report as gain_report
    from mjrig.tuning.responses.gain_suite import GainReport as GainReport
    from mjrig.tuning.responses.gain_suite import check_gains as check_gains
    from mjrig.tuning.responses.respond import JointResponse as JointResponse
    from mjrig.tuning.responses.respond import respond as respond
    from mjrig.tuning.responses.respond_report import respond_report as respond_report
    from mjrig.tuning.sweeps.optimise import Optimised as Optimised
    from mjrig.tuning.sweeps.optimise import optimise as optimise
    from mjrig.tuning.sweeps.results import Results as Results
    from mjrig.tuning.sweeps.space import Choices as Choices
    from mjrig.tuning.sweeps.space import Space as Space
    from mjrig.tuning.sweeps.sweep import sweep as sweep

_HOME = {
    "assign": "tuning.assignment.assign",
    "assign_report": "tuning.assignment.assign_report",
    "Assignment": "tuning.assignment.assign",
    "check_gains": "tuning.responses.gain_suite",
    "Choices": "tuning.sweeps.space",
    "Fit": "tuning.fitting.fit",
    "fit": "tuning.fitting.fit",
    "fit_report": "tuning.fitting.fit_report",
    "FreeRun": "tuning.objectives.objective_run",
    "FrequencyResponse": "tuning.responses.frequency",
    "gain_report": "tuning.responses.gain_report",
    "GainReport": "tuning.responses.gain_suite",
    "Inertia": "tuning.assignment.assign",
    "JointResponse": "tuning.responses.respond",
    "Objective": "tuning.objectives.objective",
    "optimise": "tuning.sweeps.optimise",
    "Optimised": "tuning.sweeps.optimise",
    "put_fit": "tuning.fitting.fit_report",
    "Randomisation": "tuning.objectives.variation",
    "ReplayTest": "tuning.objectives.objective_replay",
    "respond": "tuning.responses.respond",
    "respond_report": "tuning.responses.respond_report",
    "Results": "tuning.sweeps.results",
    "SignalTest": "tuning.objectives.objective_signal",
    "Space": "tuning.sweeps.space",
    "sweep": "tuning.sweeps.sweep",
    "Wish": "tuning.assignment.assign",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
