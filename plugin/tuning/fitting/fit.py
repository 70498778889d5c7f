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

from mjrig.errors import FitError
from mjrig.gains.choice import way_to_motors
from mjrig.names import listed, suggestion
from mjrig.recording.reading import read_recording
from mjrig.recording.recording import Recording
from mjrig.scene_edit.scene import Scene
from mjrig.sim.batch import strip
from mjrig.sim.world import World
from mjrig.tuning.fitting.by_efforts import fit_efforts
from mjrig.tuning.fitting.by_motion import fit_motion
from mjrig.tuning.fitting.effort_laws import OF_LAWS, why_not
from mjrig.tuning.fitting.fit_data import RecordedTrack, check_bases, read_tracks
from mjrig.tuning.fitting.fit_run import Report
from mjrig.tuning.fitting.identifiability import EFFORTS, MOTION, Estimate, Findings
from mjrig.tuning.fitting.plant import DELAY, GAINS, Drives, check_parameters, drives_of
from mjrig.tuning.fitting.tangent import Tangent
from mjrig.tuning.fitting.unknowns import Bounds, Wanted, check_bounds

#: Kinds of evidence; auto: efforts for laws of free-base robots, else motion.
AUTO = "auto"
EVIDENCE = (AUTO, MOTION, EFFORTS)
#: Two kinds of evidence disagree if they differ by more than so many half widths of intervals, ...
APART = 2.0
#: ... and by more than this share.
WORTH_SAYING = 0.02


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
    evidence: str = AUTO,
    together: bool = True,
    bounds: Bounds | None = None,
    window: float | None = None,
    hints: Mapping[str, object] | None = None,
    report: Report = lambda text: None,
) -> Fit:
    """Find parameters with which the scene reproduces recordings.

    Args:
        scene: initial values of the fit; it is not changed.
        recordings: files or objects, all explained by the same parameters.
        parameters: some of kp, kv, delay, armature, damping, frictionloss, torque_limit.
        actor: name of the robot; None: the only actor driven by laws.
        joints: patterns of joint or actuator names.
        evidence: `motion`; `efforts`, for kp, kv, delay and torque_limit; `auto`: efforts for these
            where they are recorded and the base is free to touch the ground, motion for the rest.
        together: include dynamic coupling between joints in the derivatives; False: joint by
            joint, which is faster, and as good for weakly coupled joints.
        bounds: parameter → (low, high), within the bounds of the properties; delay in steps.
        window: length of the windows [s]; inf: whole recordings; None: whole recordings of fixed
            robots, 0.04 s of free ones.
        hints: what recording files do not state themselves, as for a replay.
        report: called with progress messages.

    Raises:
        FitError: a recording is not of this robot or timestep, lacks something or holds numbers
            that are not finite; a parameter, joint, bound or kind of evidence is wrong.
        RecordingError: a file cannot be read.
        SceneError: the scene cannot be built.
    """
    began = time.perf_counter()
    if evidence not in EVIDENCE:
        raise FitError(f"unknown evidence {evidence!r}; {suggestion(evidence, EVIDENCE)}")
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    world = World(scene)
    read = [
        r if isinstance(r, Recording) else read_recording(r, hints, timestep=world.timestep)
        for r in recordings
    ]
    strip(world)
    world.reset()
    drives = drives_of(world, actor or _only(world))
    chosen = drives.match([joints] if isinstance(joints, str) else joints)
    check_parameters(parameters, drives, chosen)
    limits = bounds or {}
    check_bounds(limits, parameters)
    tracks = read_tracks(world, drives.actor, read)
    plan = _plan(world, drives, tracks, {name: chosen for name in parameters}, evidence)
    by_efforts = by_motion = Findings()
    if plan.efforts:
        report("efforts")
        by_efforts = fit_efforts(world, drives, tracks, plan.efforts, limits)
    if plan.motion:
        check_bases(tracks, drives.actor)
        known = _with(drives, by_efforts.estimates if not plan.is_check else ())
        by_motion = fit_motion(
            scene, world, known, tracks, plan.motion, limits,
            together=together, window=window, report=report,
        )  # fmt: skip
    notes = (*(note for track in tracks for note in track.notes), *plan.notes)
    if plan.is_check:
        notes += _disagreements(by_motion.estimates, by_efforts.estimates)
        by_efforts = Findings()
    found = [*by_efforts.estimates, *by_motion.estimates]
    order = {name: i for i, name in enumerate(parameters)}
    place = {name: i for i, name in enumerate(drives.actuators)}
    found.sort(key=lambda e: (order[e.parameter], place[e.actuator]))
    return Fit(
        drives.actor,
        tuple(found),
        tuple(t.name for t in tracks),
        by_motion.before,
        by_motion.after,
        (*notes, *by_efforts.notes, *by_motion.notes),
        time.perf_counter() - began,
        by_efforts.before,
        by_efforts.after,
        by_motion.converged,
        by_motion.rejection,
    )


def _only(world: World) -> str:
    driven = [r.name for r in world.articulations.values() if len(r.bindings)]
    if not driven:
        why = "nothing to fit: no actor has a controller that drives a joint"
        raise FitError(f"{why}{way_to_motors(world.articulations.values())}")
    if len(driven) != 1:
        raise FitError(f"name the actor to fit, one of: {listed(driven)}")
    return driven[0]


# Choice of evidence -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Evidence for each parameter and joint; `is_check`: efforts serve as a cross-check."""

    efforts: Wanted
    motion: Wanted
    notes: tuple[str, ...] = ()
    is_check: bool = False


def _plan(
    world: World, drives: Drives, tracks: Sequence[RecordedTrack], wanted: Wanted, evidence: str
) -> _Plan:
    if evidence == MOTION:
        return _Plan({}, wanted)
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
        others = [name for name in wanted if name not in OF_LAWS]
        if others:
            raise FitError(f"efforts cannot identify {listed(others)}; use motion, or auto")
        if lines:
            raise FitError(f"{drives.actor}: efforts cannot be used: {'; '.join(lines)}")
        return _Plan(by_effort, {})
    if not _touches(world, drives):
        return _Plan(by_effort, wanted, is_check=True)
    rest = {n: [p for p in places if p not in by_effort.get(n, ())] for n, places in wanted.items()}
    notes = tuple(f"found by motion, not by efforts: {line}" for line in lines)
    return _Plan(by_effort, {n: places for n, places in rest.items() if places}, notes)


def _whose(drives: Drives, places: Sequence[int]) -> str:
    own = sorted(set(places))
    return "all joints" if len(own) == len(drives) else listed(drives.joints[p] for p in own)


def _touches(world: World, drives: Drives) -> bool:
    """Whether the base is free and can make contact: then simulations are unpredictable."""
    tangent = Tangent.of(world.model, world[drives.actor].model_map.joint_ids)
    flags = int(world.model.opt.disableflags)
    return bool(tangent.turns) and not flags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def _with(drives: Drives, found: Sequence[Estimate]) -> Drives:
    """The joints with the laws that were found."""
    values = {name: array.copy() for name, array in drives.values.items()}
    lags = drives.lags.copy()
    for e in found:
        place = drives.actuators.index(e.actuator)
        if e.parameter == DELAY:
            lags[place] = int(e.value)
        elif e.parameter in GAINS:
            values[e.parameter][place] = e.value
    return replace(drives, values=values, lags=lags)


def _disagreements(motion: Sequence[Estimate], efforts: Sequence[Estimate]) -> tuple[str, ...]:
    """A note where efforts and motion disagree."""
    other = {(e.actuator, e.parameter): e for e in efforts if e.identifiable}
    found = []
    for e in motion:
        second = other.get((e.actuator, e.parameter))
        if second is None or not e.identifiable:
            continue
        width = APART * 0.5 * np.hypot(*np.nan_to_num([e.high - e.low, second.high - second.low]))
        if abs(e.value - second.value) > max(width, WORTH_SAYING * abs(e.value)):
            found.append(f"{e.parameter} of {e.joint} {second.value:.4g} instead of {e.value:.4g}")
    if not found:
        return ()
    return (
        f"recorded efforts imply {listed(found)}: they are not what moved the joints, or the model "
        "differs from the recorded robot",
    )
