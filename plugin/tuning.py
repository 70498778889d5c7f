"""Tuning: joint responses, gain assignment, identification, sweeps and search."""

from typing import TYPE_CHECKING

from mjrig.core.lazy_exports import exports

if TYPE_CHECKING:
    from mjrig.lab.fit.identification import Fit as Fit
    from mjrig.lab.fit.identification import fit as fit
    from mjrig.lab.fit.report import fit_report as fit_report
    from mjrig.lab.fit.write_back import put_fit as put_fit
    from mjrig.lab.gains.assignment import Assignment as Assignment
    from mjrig.lab.gains.assignment import Inertia as Inertia
    from mjrig.lab.gains.assignment import Wish as Wish
    from mjrig.lab.gains.assignment import assign as assign
    from mjrig.lab.gains.assignment import assign_report as assign_report
    from mjrig.lab.replay.replay_test import ReplayTest as ReplayTest
    from mjrig.lab.responses.frequency_response import FrequencyResponse as FrequencyResponse
    from mjrig.lab.responses.gain_report import gain_report as gain_report
    from mjrig.lab.responses.gain_suite import GainReport as GainReport
    from mjrig.lab.responses.gain_suite import check_gains as check_gains
    from mjrig.lab.responses.joint_response import JointResponse as JointResponse
    from mjrig.lab.responses.joint_response import respond as respond
    from mjrig.lab.responses.response_report import respond_report as respond_report
    from mjrig.lab.rollouts.randomisation import Randomisation as Randomisation
    from mjrig.lab.rollouts.results import Objective as Objective
    from mjrig.lab.rollouts.results import Results as Results
    from mjrig.lab.rollouts.scenarios import FreeRun as FreeRun
    from mjrig.lab.rollouts.scenarios import SignalTest as SignalTest
    from mjrig.lab.sweep.optimisation import Optimised as Optimised
    from mjrig.lab.sweep.optimisation import optimise as optimise
    from mjrig.lab.sweep.runner import sweep as sweep
    from mjrig.lab.sweep.search_space import Choices as Choices
    from mjrig.lab.sweep.search_space import Space as Space

_HOME = {
    "assign": "lab.gains.assignment",
    "assign_report": "lab.gains.assignment",
    "Assignment": "lab.gains.assignment",
    "check_gains": "lab.responses.gain_suite",
    "Choices": "lab.sweep.search_space",
    "Fit": "lab.fit.identification",
    "fit": "lab.fit.identification",
    "fit_report": "lab.fit.report",
    "FreeRun": "lab.rollouts.scenarios",
    "FrequencyResponse": "lab.responses.frequency_response",
    "gain_report": "lab.responses.gain_report",
    "GainReport": "lab.responses.gain_suite",
    "Inertia": "lab.gains.assignment",
    "JointResponse": "lab.responses.joint_response",
    "Objective": "lab.rollouts.results",
    "optimise": "lab.sweep.optimisation",
    "Optimised": "lab.sweep.optimisation",
    "put_fit": "lab.fit.write_back",
    "Randomisation": "lab.rollouts.randomisation",
    "ReplayTest": "lab.replay.replay_test",
    "respond": "lab.responses.joint_response",
    "respond_report": "lab.responses.response_report",
    "Results": "lab.rollouts.results",
    "SignalTest": "lab.rollouts.scenarios",
    "Space": "lab.sweep.search_space",
    "sweep": "lab.sweep.runner",
    "Wish": "lab.gains.assignment",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(__name__, _HOME)
