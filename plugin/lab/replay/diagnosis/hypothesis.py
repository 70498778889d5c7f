"""Hypothesis: one thing that may differ between a recording and here, and how it is tested.

A hypothesis estimates alternatives: other values than those here, with the share of the error that
each explains, or a way to try them. `table.py` lists all hypotheses; `engine.py` asks them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Any

from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.lab.replay.plant_edit import PlantEdit

#: The share of an error that an explanation gets which may be a coincidence: below a claim.
SUSPECTED = 0.6
#: What explains more than this share of the error is a cause.
CAUSE = 0.5
#: What short predictions or runs explain by less is not named: noise fits some of everything.
NAMED = 0.3
#: Numbers that differ relatively by less are equal, and values below are zero: files and float32
#: round by less than a tenth of it.
ROUNDING = 1e-6
#: A relative error below this shows that one thing is computed from the other: what a regression
#: over values of float32 leaves is a tenth of it, another cause leaves more.
EXACT = 1e-2
#: A difference of positions and targets that counts: encoders of joints resolve about this
#: [rad or m].
MIN_OFFSET = 1e-3
#: Values of so many equal steps show a rate, a movement or a limit.
MIN_SAMPLES = 3
#: Samples that are compared: 4 to 8 s of common policies, in which every mistake shows; a limit of
#: the time that it takes, about 0.1 ms for each.
MAX_SAMPLES = 400


class Cost(IntEnum):
    """What it costs to test a hypothesis; the engine asks the cheap ones first."""

    #: Recorded values are compared; nothing is simulated.
    COMPARE = auto()
    #: One run of the recording for each alternative.
    RUN = auto()
    #: Dozens of short predictions for each parameter, then runs.
    FIT = auto()


class Aspect(Enum):
    """What a hypothesis is tested on, and what a finding of it is about.

    `Case.missing` reports why an aspect cannot be judged.
    """

    VELOCITY = "recorded joint velocities"
    TIMING = "steps of the policy's ticks"
    ORDER = "listed joints of the policy"
    START = "from the reset to the first tick"
    ACTION = "from recorded actions to recorded targets"
    OBSERVATION = "recorded observations against recomputed ones"
    NETWORK = "recorded actions against the network's"
    PRECISION = "bits of recorded values"
    CONTROLLER = "precision of controllers"
    PLANT = "gains, limits, joints and solver that the recording states or its efforts show"
    SETPOINTS = "how the setpoints and states were read"
    BODY = "masses, friction and other properties that the recording does not list"
    STATE = "states that no physics step makes"
    TRAINED = "the plant that a policy was trained with"


#: Of a policy, what its rate and the order of its joints must be right for.
POLICY = (Aspect.START, Aspect.ACTION, Aspect.OBSERVATION, Aspect.NETWORK, Aspect.PRECISION)
#: A change of a robot that runs: makes it through a `PlantEdit`.
Change = Callable[[PlantEdit], object]


@dataclass(frozen=True)
class Alternative:
    """Another value, as the finding it would be, and how its effect is tried by running.

    Attributes:
        finding: its `share` is what recorded data show; None: it must be tried.
        change: the robot and its change, made while the world runs.
        run: the error with it, where it is no change of a running robot, or cannot be made so.
        untried: the sentence if it cannot be tried; empty: then it is not mentioned.
    """

    finding: Finding
    change: tuple[Articulation, Change] | None = None
    run: Callable[[], float] | None = None
    untried: str = ""


@dataclass(frozen=True)
class NotJudged:
    """Something about an aspect that the recording does not show, and why."""

    reason: str


#: What a hypothesis answers about a case; a string is a note for the reader.
Answers = Iterator[Finding | Alternative | NotJudged | str]
#: The function of a hypothesis; it takes the kind of case that has its aspect.
Estimate = Callable[[Any], Answers]


class Case:
    """What hypotheses are tested on: a recorded policy, a replay, or a policy in the loop."""

    #: Parts that it can have.
    aspects: frozenset[Aspect] = frozenset()
    #: Whether states are those of a real robot, with noise.
    is_measured: bool = False

    def missing(self, aspect: Aspect) -> str | None:
        """Why an aspect is not judged; empty: it is; None: nothing about it is in question."""
        return ""

    def tried(self, alternative: Alternative) -> Finding:
        """The finding with the share of the error that a run with the alternative removes.

        Raises:
            MjrigError: it cannot be tried.
        """
        raise MjrigError("nothing is run")

    def tried_together(self, alternatives: Sequence[Alternative]) -> float:
        """The share that all changes remove together."""
        return 0.0


@dataclass(frozen=True)
class Hypothesis:
    """One row of the table.

    Attributes:
        kind: what may differ, as its findings call it.
        needs: the aspect of a case that it is tested on.
        cost: the stage in which it is asked.
        estimate: case → findings where recorded data show the effect, alternatives where it must be
            tried, and what cannot be judged.
        until: it is asked only while everything before explains less than this share.
        settles: aspects that are not judged any more if it has a finding.
        because: why they are not, for the reader; empty: its finding shows that.
        consequence_of: aspects or kinds; next to a finding of them its own is no second cause.
        repeats: an aspect whose findings of the same kind show the same cause.
        rests_on: an aspect that must agree for its own finding to be a claim.
    """

    kind: str
    needs: Aspect
    cost: Cost
    estimate: Estimate
    until: float = 2.0
    settles: tuple[Aspect, ...] = ()
    because: str = ""
    consequence_of: tuple[Aspect | str, ...] = ()
    repeats: Aspect | None = None
    rests_on: Aspect | None = None
