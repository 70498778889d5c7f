"""fit: gains, delays and joint parameters identified from recordings.

There are two kinds of evidence. Motion: simulations are fitted to the recorded motion, which
informs every parameter. Efforts: a law is linear in its gains, so its recorded efforts identify
them without a simulation; impacts, which make simulations unpredictable, do no harm then.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import mujoco
import numpy as np

from mjrig.core.errors import BindingError, FitError
from mjrig.core.names import listed, suggestion
from mjrig.core.patterns import Slots
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.batch import strip
from mjrig.core.sim.world import World
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import Recording
from mjrig.lab.fit.effort_fit import disagreements, fit_efforts, told_apart, torque_gains
from mjrig.lab.fit.effort_laws import OF_LAWS, why_not
from mjrig.lab.fit.estimates import (
    EFFORTS,
    MOTION,
    Bounds,
    Correlated,
    Correlations,
    Curves,
    Estimate,
    Findings,
    Wanted,
    check_bounds,
    with_real_delays,
)
from mjrig.lab.fit.fit_data import SHORTEST, RecordedTrack, Tangent, check_bases, read_tracks
from mjrig.lab.fit.motion_fit import fit_motion
from mjrig.lab.fit.plant import (
    DELAY,
    GAINS,
    OF_BODIES,
    PAYLOAD,
    TORQUE_GAIN,
    Drives,
    check_parameters,
    drives_of,
)
from mjrig.lab.fit.search import Report
from mjrig.lab.fit.simulation import MotionOptions
from mjrig.lab.rollouts.actuator_selection import way_to_motors

# Evidence -----------------------------------------------------------------------------------------
# The choice of evidence: what is found by motion, and what by efforts.


#: Kinds of evidence; auto: efforts for laws of free-base robots, else motion.
AUTO = "auto"
EVIDENCE = (AUTO, MOTION, EFFORTS)


@dataclass(frozen=True)
class EvidencePlan:
    """Evidence for each parameter and joint; `is_check`: efforts serve as a cross-check."""

    efforts: Wanted
    motion: Wanted
    notes: tuple[str, ...] = ()
    is_check: bool = False


def plan_of(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], wanted: Wanted, evidence: str
) -> EvidencePlan:
    """Which evidence there is for what is wanted.

    Args:
        wanted: parameter → places.
        evidence: one of `EVIDENCE`.

    Raises:
        FitError: efforts alone are to identify what they cannot.
    """
    by_both = wanted
    wanted = {name: places for name, places in wanted.items() if name != TORQUE_GAIN}
    if evidence == MOTION or not wanted:
        return EvidencePlan({}, wanted)
    laws = {name: places for name, places in wanted.items() if name in OF_LAWS}
    silent: dict[str, list[int]] = {}
    by_effort: dict[str, list[int]] = {}
    for name, places in laws.items():
        for place in places:
            reason = why_not(world, drives, tracks, place, name)
            if reason:
                silent.setdefault(reason, []).append(place)
            else:
                by_effort.setdefault(name, []).append(place)
    lines = [f"{_whose(drives, places)}: {reason}" for reason, places in silent.items()]
    if evidence == EFFORTS:
        others = [name for name in by_both if name not in OF_LAWS]
        if others:
            raise FitError(f"efforts cannot identify {listed(others)}; use motion, or auto")
        if lines:
            raise FitError(f"{drives.actor}: efforts cannot be used: {'; '.join(lines)}")
        return EvidencePlan(by_effort, {})
    if not _touches(world, drives):
        return EvidencePlan(by_effort, wanted, is_check=True)
    rest = {n: [p for p in places if p not in by_effort.get(n, ())] for n, places in wanted.items()}
    notes = tuple(f"found by motion, not by efforts: {line}" for line in lines)
    return EvidencePlan(by_effort, {n: places for n, places in rest.items() if places}, notes)


def _whose(drives: Drives, places: Sequence[int]) -> str:
    own = sorted(set(places))
    return "all joints" if len(own) == len(drives) else listed(drives.joints[p] for p in own)


def _touches(world: World, drives: Drives) -> bool:
    """Whether the base is free and can make contact: then simulations are unpredictable."""
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    flags = int(world.model.opt.disableflags)
    return bool(tangent.turns) and not flags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


# Fit options --------------------------------------------------------------------------------------
# How a fit is done: evidence, windows, what is assumed beforehand, what is held out.


#: The share of a recording that is held out, and the largest that can be.
VALIDATE, MOST_HELD_OUT = 0.25, 0.8


@dataclass(frozen=True)
class FitOptions:
    """How a fit is done.

    Attributes:
        evidence: `motion`; `efforts`, for kp, kv, delay and torque_limit; `auto`: efforts for these
            where they are recorded and the base is free to touch the ground, motion for the rest.
        together: include dynamic coupling between joints in the derivatives; False: joint by
            joint, which is faster, and as good for weakly coupled joints.
        window: length of the windows [s]; inf: whole recordings; None: whole recordings of fixed
            robots, 0.04 s of free ones.
        prior: standard deviation around the scene's values that is assumed beforehand, as a share
            of them; None: 0.5 for bodies, nothing for joints.
        validate: what the fit does not see and is judged by: a share of each recording, or
            recordings; None: nothing. By default a quarter of recordings of 2 s and more.
    """

    evidence: str = AUTO
    together: bool = True
    window: float | None = None
    prior: float | None = None
    validate: float | Sequence[Recording | str | Path] | None = VALIDATE

    def check(self) -> None:
        """Refuse what is out of range.

        Raises:
            FitError: the message names the option and what would be right.
        """
        if self.evidence not in EVIDENCE:
            hint = suggestion(self.evidence, EVIDENCE)
            raise FitError(f"unknown evidence {self.evidence!r}; {hint}")
        share = self.validate
        if isinstance(share, float | int) and not 0.0 < share <= MOST_HELD_OUT:
            raise FitError(
                "validate: the share that is held out must be above 0 and at most "
                f"{MOST_HELD_OUT:g}, got {share:g}; none: nothing is held out"
            )
        if self.prior is not None and not 0.0 < self.prior < np.inf:
            raise FitError(f"prior: must be above 0, got {self.prior:g}")

    @property
    def others(self) -> Sequence[Recording | str | Path]:
        """Recordings that are held out as a whole."""
        given = self.validate
        return () if given is None or isinstance(given, float | int) else given

    def share(self, tracks: Sequence[RecordedTrack], timestep: float) -> tuple[float | None, str]:
        """The share of each recording that is held out, and what is said if there is none."""
        share = self.validate
        if share is None or not isinstance(share, float | int):
            return None, ""
        shortest = min(float(t.step[-1] - t.step[0]) * timestep for t in tracks)
        if share == VALIDATE and shortest < SHORTEST:
            return None, ""
        return float(share), "nothing could be held out: the error is that of what was fitted to"


# Fit ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """Result of a fit.

    Attributes:
        actor: name of the robot.
        estimates: one per joint and parameter, parameter by parameter.
        recordings: names of the files.
        rms_before, rms_after: joint → root mean square of simulated minus recorded position
            [rad or m], with the scene's and with the fitted values; empty: not simulated.
        effort_before, effort_after: joint → root mean square of the effort residuals [N·m or N],
            likewise; empty: efforts were not used.
        notes: remarks on the whole fit.
        converged: whether the search by motion ended where it should; else nothing is identified.
        rejection: why the model cannot be right by the motion; empty: nothing speaks against it.
            Values of a rejected model make up for what is wrong elsewhere, and have no intervals.
        seconds: how long it took.
        held_before, held_after: like `rms_before` and `rms_after`, of what the fit has not seen;
            empty: nothing was held out.
        held_out: names of the files that were held out as a whole.
        curves: recorded and simulated positions, of what was fitted to and of what was held out.
        correlations: of all estimates by motion.
        correlated: pairs of them that the recordings hardly tell apart.
    """

    actor: str
    estimates: tuple[Estimate, ...]
    recordings: tuple[str, ...]
    rms_before: dict[str, float]
    rms_after: dict[str, float]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    effort_before: dict[str, float] = field(default_factory=dict)
    effort_after: dict[str, float] = field(default_factory=dict)
    converged: bool = True
    rejection: str = ""
    held_before: dict[str, float] = field(default_factory=dict)
    held_after: dict[str, float] = field(default_factory=dict)
    held_out: tuple[str, ...] = ()
    curves: tuple[Curves, ...] = ()
    correlations: Correlations = field(default_factory=Correlations)
    correlated: tuple[Correlated, ...] = ()

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
    bodies: str | Sequence[str] = ".*",
    payload: str | None = None,
    evidence: str = AUTO,
    together: bool = True,
    bounds: Bounds | None = None,
    window: float | None = None,
    prior: float | None = None,
    validate: float | Sequence[Recording | str | Path] | None = VALIDATE,
    hints: Mapping[str, object] | None = None,
    report: Report = lambda text: None,
) -> Fit:
    """Find parameters with which the scene reproduces recordings.

    Args:
        scene: initial values of the fit; it is not changed.
        recordings: files or objects, all explained by the same parameters.
        parameters: of joints: kp, kv, delay, armature, damping, frictionloss, torque_limit,
            encoder_offset, feedback_delay, torque_gain; of bodies: mass, centre, inertia, payload.
        actor: name of the robot; None: the only actor driven by laws.
        joints: patterns of joint or actuator names.
        bodies: patterns of body names, for mass, centre and inertia.
        payload: the body that carries it, for `payload`.
        evidence, together, window, prior, validate: see `FitOptions`.
        bounds: parameter → (low, high), within the bounds of the properties; delay in steps.
        hints: what recording files do not state themselves, as for a replay.
        report: called with progress messages.

    Raises:
        FitError: a recording is not of this robot or timestep, lacks something or holds numbers
            that are not finite; a parameter, joint, bound or kind of evidence is wrong.
        RecordingError: a file cannot be read.
        SceneError: the scene cannot be built.
    """
    began = time.perf_counter()
    options = FitOptions(evidence, together, window, prior, validate)
    options.check()
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    world = World(scene)
    fitted, judged = (_read(r, hints, world.timestep) for r in (recordings, options.others))
    strip(world)
    world.reset()
    drives = drives_of(world, actor or _only(world))
    chosen = drives.match([joints] if isinstance(joints, str) else joints)
    check_parameters(parameters, drives, chosen)
    check_bounds(limits := bounds or {}, parameters)
    drives, wanted = _wanted(drives, parameters, chosen, bodies, payload)
    tracks = read_tracks(world, drives.actor, fitted)
    others = read_tracks(world, drives.actor, judged) if judged else []
    if DELAY in parameters and any(track.is_real for track in tracks):
        limits = with_real_delays(limits, world.timestep * float(drives.ticks.max()))
    plan = plan_of(world, drives, tracks, wanted, evidence)
    by_efforts = by_motion = Findings()
    if plan.efforts:
        report("efforts")
        by_efforts = fit_efforts(world, drives, tracks, plan.efforts, limits)
    share, remark = options.share(tracks, world.timestep)
    if plan.motion:
        check_bases([*tracks, *others], drives.actor)
        known = _with(drives, by_efforts.estimates if not plan.is_check else ())
        how = MotionOptions(together, window, prior, share, report)
        by_motion = fit_motion(scene, world, known, tracks, others, plan.motion, limits, how)
        remark = "" if by_motion.held_after else remark
        if plan.is_check:
            by_motion = told_apart(by_motion, by_efforts.estimates)
    notes = (*(note for track in [*tracks, *others] for note in track.notes), *plan.notes)
    gains: tuple[Estimate, ...] = ()
    if TORQUE_GAIN in parameters:
        known = _with(drives, by_motion.estimates)
        gains = torque_gains(world, known, tracks, chosen, by_motion, by_efforts.estimates)
    if plan.is_check:
        if not gains:
            notes += disagreements(by_motion.estimates, by_efforts.estimates)
        by_efforts = Findings()
    found = [*by_efforts.estimates, *by_motion.estimates, *gains]
    return Fit(
        drives.actor,
        _in_order(found, parameters, drives),
        tuple(t.name for t in tracks),
        by_motion.before,
        by_motion.after,
        (*notes, *by_efforts.notes, *by_motion.notes, *filter(None, [remark])),
        time.perf_counter() - began,
        by_efforts.before,
        by_efforts.after,
        by_motion.converged,
        by_motion.rejection,
        held_before=by_motion.held_before,
        held_after=by_motion.held_after,
        held_out=tuple(t.name for t in others),
        curves=by_motion.curves,
        correlations=by_motion.correlations,
        correlated=by_motion.correlated,
    )


def _read(
    given: Iterable[Recording | str | Path], hints: Mapping[str, object] | None, timestep: float
) -> list[Recording]:
    return [
        r if isinstance(r, Recording) else read_recording(r, hints, timestep=timestep)
        for r in given
    ]


def _in_order(
    found: Iterable[Estimate], parameters: Sequence[str], drives: Drives
) -> tuple[Estimate, ...]:
    """Estimates parameter by parameter as asked for, joint by joint as bound."""
    order = {name: i for i, name in enumerate(parameters)}
    place = {name: i for i, name in enumerate(drives.actuators)}
    return tuple(
        sorted(found, key=lambda e: (order[e.parameter.split(".")[0]], place.get(e.actuator, 0)))
    )


def _wanted(
    drives: Drives,
    parameters: Sequence[str],
    chosen: Sequence[int],
    bodies: str | Sequence[str],
    payload: str | None,
) -> tuple[Drives, Wanted]:
    """The joints or bodies of each parameter; and the drives with the body that has the payload."""
    names = list(drives.links)
    if (payload is not None) != (PAYLOAD in parameters):
        raise FitError(
            "payload: name the body that carries it, and payload among the parameters; bodies: "
            f"{listed(names)}"
        )
    if payload is not None:
        if payload not in names:
            raise FitError(f"payload: no body {payload!r} can move; {suggestion(payload, names)}")
        drives = replace(drives, payload=names.index(payload))
    slots = Slots([(name,) for name in names], drives.actor, "movable body")
    wanted: dict[str, Sequence[int]] = {}
    for name in parameters:
        if name == PAYLOAD:
            wanted[name] = [drives.payload]
        elif name in OF_BODIES:
            patterns = [bodies] if isinstance(bodies, str) else bodies
            try:
                wanted[name] = sorted({i for p in patterns for i in slots.match(p)})
            except BindingError as error:
                raise FitError(str(error)) from None
        else:
            wanted[name] = chosen
    return drives, wanted


def _only(world: World) -> str:
    driven = [r.name for r in world.articulations.values() if len(r.bindings)]
    if not driven:
        why = "nothing to fit: no actor has a controller that drives a joint"
        raise FitError(f"{why}{way_to_motors(world.articulations.values())}")
    if len(driven) != 1:
        raise FitError(f"name the actor to fit, one of: {listed(driven)}")
    return driven[0]


def _with(drives: Drives, found: Sequence[Estimate]) -> Drives:
    """The joints with the laws that were found."""
    values = {name: array.copy() for name, array in drives.values.items()}
    lags = drives.lags.copy()
    for e in found:
        if e.actuator not in drives.actuators:
            continue  # of a body
        place = drives.actuators.index(e.actuator)
        if e.parameter == DELAY:
            lags[place] = round(e.value)
        elif e.parameter in GAINS:
            values[e.parameter][place] = e.value
    return replace(drives, values=values, lags=lags)
