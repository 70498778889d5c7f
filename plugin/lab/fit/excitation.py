"""excite: a safe motion that shows what is asked for as well as it can.

Every joint follows a sum of sines, faded in and out, about where it starts, or about a place
further inside where that is close to a limit. Random ones are scaled into the limits of
joints, speeds and efforts by simulating them, those that touch anything are dropped, and of the
rest the one with the largest information counts: the determinant of JᵀJ, J the derivatives of the
positions with respect to the parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from mjrig.core.arrays import BoolArray, FloatArray
from mjrig.core.errors import FitError
from mjrig.core.files.atomic_writes import whole_file
from mjrig.core.names import listed
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.batch import strip
from mjrig.core.sim.world import World
from mjrig.data.recording.recorder import Recorder
from mjrig.lab.fit.estimates import unknowns_of
from mjrig.lab.fit.fit_data import RecordedTrack
from mjrig.lab.fit.plant import DELAY, ENCODER, OF_BODIES, Drives, check_parameters, drives_of
from mjrig.lab.fit.problem import Problem
from mjrig.lab.fit.simulation import MotionOptions, simulator_of, stages_of
from mjrig.lab.fit.solver import System

#: Frequencies of the sines [Hz]; slow ones show friction and loads, fast ones inertia.
FREQUENCIES = (0.3, 0.7, 1.3, 2.2, 3.4, 5.0)
#: Amplitude of joints without limits, and most of the way to a limit that is used [rad or m].
UNLIMITED, INSIDE = 0.6, 0.85
#: The longest motion [s].
LONGEST = 600.0
#: Times a motion is scaled until it keeps the limits.
SCALINGS = 12
#: What the others are scaled by where a joint exceeds its limits.
OTHERS = 0.85
#: Share of the duration over which the motion is faded in and out.
FADE = 0.1
#: A joint closer to its limit than this [rad or m], and this share of its range, would touch it.
NEAR, NEAR_SHARE = 0.02, 0.03
#: How far a limit gives way under a joint that starts there, as a share of its range.
GIVES = 0.01
#: A motion smaller than this [rad or m], and this share of a joint's range, shows nothing.
LEAST, LEAST_SHARE = 0.01, 0.1
#: Joints swing about a place at least this share of their range away from its ends.
CENTRE = 0.3
#: Kinds of constraints that are limits.
_LIMITS = (
    int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT),
    int(mujoco.mjtConstraint.mjCNSTR_LIMIT_TENDON),
)


@dataclass(frozen=True)
class ExcitationLimits:
    """What a motion must keep: speed [rad/s or m/s], and the share of the effort limits."""

    speed: float = 8.0
    effort: float = 0.8


@dataclass(frozen=True)
class Excitation:
    """A designed motion.

    Attributes:
        actor: name of the robot.
        joints: those that move.
        time: (n,) [s].
        setpoints: (n, joints) positions [rad or m].
        information: log of the determinant of the information, of the scaled parameters.
        others: the same of the other candidates that kept the limits.
        speeds: largest of each joint, simulated [rad/s or m/s].
        effort: largest of any joint as a share of its limit; None: no effort has a limit.
        units: of the setpoints.
        still: joints that were to move, and have no room to.
        has_contacts: whether the scene has contacts, so that there being none was checked.
    """

    actor: str
    joints: tuple[str, ...]
    time: FloatArray
    setpoints: FloatArray
    information: float
    others: tuple[float, ...]
    speeds: tuple[float, ...]
    effort: float | None
    units: tuple[str, ...]
    still: tuple[str, ...] = ()
    has_contacts: bool = True


def excite(
    scene: Scene,
    parameters: Sequence[str],
    *,
    actor: str | None = None,
    joints: str | Sequence[str] = ".*",
    duration: float = 8.0,
    limits: ExcitationLimits | None = None,
    candidates: int = 12,
    seed: int = 0,
) -> Excitation:
    """Design a motion for a scene whose base is fixed.

    Args:
        scene: with the best values known; it is not changed.
        parameters: what the motion should show, as for `fit`.
        actor: name of the robot; None: the only one.
        joints: patterns of the joints that may move; the others hold their setpoints.
        duration: [s].
        limits: of speed and effort; joint limits are the model's.
        candidates: how many motions are compared.
        seed: of the random ones.

    Raises:
        FitError: a parameter or joint does not exist, or no motion keeps the limits.
    """
    limits = limits or ExcitationLimits()
    if not 1.0 < duration <= LONGEST:
        raise FitError(f"duration: must be above 1 and at most {LONGEST:g} s, got {duration:g}")
    if candidates < 1:
        raise FitError(f"candidates: must be 1 or more, got {candidates}")
    if not 0.0 < limits.speed:
        raise FitError(f"speed: must be above 0, got {limits.speed:g}")
    if not 0.0 < limits.effort <= 1.0:
        raise FitError(f"effort: must be above 0 and at most 1, got {limits.effort:g}")
    design = _Design(scene, parameters, actor, joints, duration, limits)
    rng = np.random.default_rng(seed)
    found: list[tuple[float, _Run, FloatArray]] = []
    for _ in range(candidates):
        made = design.feasible(rng)
        if made is not None:
            table, run = made
            found.append((design.information(run), run, table))
    if not found:
        raise FitError(
            f"{design.drives.actor}: no motion of {candidates} keeps the limits without contact; "
            "fix the base in the air, start from a pose with room around it, or allow less"
        )
    found.sort(key=lambda one: -one[0])
    best, run, table = found[0]
    drives, moved = design.drives, design.moving(table)
    names = [drives.joints[p] for p in design.chosen]
    time = np.arange(len(table)) * design.world.timestep
    return Excitation(
        drives.actor,
        tuple(names),
        np.asarray(time, dtype=np.float64),
        table[:, design.chosen],
        best,
        tuple(one[0] for one in found[1:]),
        tuple(run.speeds[design.chosen].tolist()),
        run.effort,
        tuple(drives.unit(ENCODER, p) for p in design.chosen),
        tuple(name for name, p in zip(names, design.chosen, strict=True) if not moved[p]),
        not design.world.model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT),
    )


@dataclass(frozen=True)
class _Run:
    """A simulated motion, and by how much it exceeds its limits (driven joints,)."""

    track: RecordedTrack
    excess: FloatArray
    touches: bool
    speeds: FloatArray
    effort: float | None


class _Design:
    def __init__(
        self,
        scene: Scene,
        parameters: Sequence[str],
        actor: str | None,
        joints: str | Sequence[str],
        duration: float,
        limits: ExcitationLimits,
    ) -> None:
        self._scene, self._limits = scene, limits
        self.world = World(scene)
        strip(self.world)
        self.world.reset()
        driven = [r.name for r in self.world.articulations.values() if len(r.bindings)]
        if actor is None and len(driven) != 1:
            raise FitError(f"name the actor to excite, one of: {listed(driven)}")
        self.drives: Drives = drives_of(self.world, actor or driven[0])
        self.chosen = self.drives.match([joints] if isinstance(joints, str) else joints)
        check_parameters(parameters, self.drives, self.chosen)
        links = list(range(len(self.drives.links)))
        self._wanted = {
            name: links if name in OF_BODIES else self.chosen
            for name in parameters
            if name not in (DELAY, "payload", "torque_gain")
        }
        if not self._wanted:
            raise FitError(f"excite: {listed(parameters)} alone say nothing; name kp, armature, …")
        self._steps = round(duration / self.world.timestep)
        self._begin = self.world[self.drives.actor].setpoints.values.copy()
        self._ranges = self._joint_ranges()
        self._check_start()

    def _check_start(self) -> None:
        """Refuse joints that begin where they cannot be."""
        found = []
        for p in self.chosen:
            low, high = self._ranges[p]
            start = float(self._begin[0, self.drives.columns[p]])
            if min(start - low, high - start) < -GIVES * (high - low):
                unit = self.drives.unit(ENCODER, p)
                where = f"at {start:.3g}, range {low:.3g} to {high:.3g} {unit}"
                found.append(f"{self.drives.joints[p]} ({where})")
        if found:
            raise FitError(
                f"{self.drives.actor}: starts outside the range of {listed(found)}; give the actor "
                "another start, by keyframe or joints"
            )

    def _joint_ranges(self) -> FloatArray:
        """(driven joints, 2): as far as each may go."""
        model = self.world.model
        found = np.zeros((len(self.drives), 2))
        for i, dof in enumerate(self.drives.dofs):
            joint = int(model.dof_jntid[dof])
            start = float(self._begin[0, self.drives.columns[i]])
            low, high = start - UNLIMITED, start + UNLIMITED
            if model.jnt_limited[joint]:
                low, high = (float(x) for x in model.jnt_range[joint])
            found[i] = low, high
        return found

    def feasible(self, rng: np.random.Generator) -> tuple[FloatArray, _Run] | None:
        """A random motion inside the limits; None: it touches something, or cannot be scaled."""
        time = np.arange(self._steps) * self.world.timestep
        end = time[-1]
        fade = np.clip(np.minimum(time, end - time) / (FADE * end), 0.0, 1.0)
        fade = fade**2 * (3.0 - 2.0 * fade)
        size = np.zeros(len(self.drives))
        waves = np.zeros((self._steps, len(self.drives)))
        start = self._begin[0, self.drives.columns]
        centre = self._centres(start)
        for p in self.chosen:
            share = rng.dirichlet(np.ones(len(FREQUENCIES)))
            phase = rng.uniform(0.0, 2.0 * np.pi, len(FREQUENCIES))
            detune = rng.uniform(0.9, 1.1, len(FREQUENCIES))
            angles = 2.0 * np.pi * np.outer(time, np.array(FREQUENCIES) * detune) + phase
            waves[:, p] = (np.sin(angles) @ share) * fade
            low, high = self._ranges[p]
            room = min(centre[p] - low, high - centre[p])
            size[p] = INSIDE * max(room, 0.0) / max(float(np.abs(waves[:, p]).max()), 1e-9)
        for _ in range(SCALINGS):
            table = start + fade[:, None] * (centre - start) + waves * size
            run = self._run(table)
            if not run.touches and (run.excess <= 1.0).all():
                return (table, run) if self.moving(table).any() else None
            # Joints pull on each other: all become slower where one is too fast.
            rest = OTHERS if (run.excess > 1.0).any() else 1.0
            size = size * np.where(run.excess > 1.0, 0.9 / run.excess, rest)
            size = size * (0.8 if run.touches else 1.0)
        return None

    def _centres(self, start: FloatArray) -> FloatArray:
        """Where the joints swing about: where they start, unless that is close to a limit."""
        low, high = self._ranges.T
        inside = CENTRE * np.maximum(high - low, 0.0)
        found = start.copy()
        found[self.chosen] = np.clip(start, low + inside, high - inside)[self.chosen]
        return found

    def moving(self, table: FloatArray) -> BoolArray:
        """(driven joints,) whether they move far enough to show something."""
        room = self._ranges[:, 1] - self._ranges[:, 0]
        return np.ptp(table, axis=0) > np.minimum(LEAST, LEAST_SHARE * room)

    def _limits_at_start(self) -> set[tuple[int, int]]:
        """Kinds and ids of the limits that act at the start, or are about to."""
        model, data = self.world.model, self.world.data
        found = self._limits_touched()
        for joint in np.flatnonzero(model.jnt_limited):
            low, high = model.jnt_range[joint]
            place = data.qpos[model.jnt_qposadr[joint]]
            if min(place - low, high - place) < min(NEAR, NEAR_SHARE * (high - low)):
                found.add((_LIMITS[0], int(joint)))
        return found

    def _limits_touched(self) -> set[tuple[int, int]]:
        """Kinds and ids of the limits that act now."""
        data = self.world.data
        pairs = zip(data.efc_type.tolist(), data.efc_id.tolist(), strict=True)
        return {pair for pair in pairs if pair[0] in _LIMITS}

    def _run(self, table: FloatArray) -> _Run:
        world, drives = self.world, self.drives
        world.reset()
        robot, data = world[drives.actor], world.data
        commands = np.tile(self._begin, (self._steps, 1, 1))
        commands[:, 0, drives.columns] = table
        qpos = np.empty((self._steps + 1, world.model.nq))
        qvel = np.empty((self._steps + 1, world.model.nv))
        efforts = np.zeros(len(drives))
        touches, held = False, self._limits_at_start()
        qpos[0], qvel[0] = data.qpos, data.qvel
        for k in range(self._steps):
            robot.setpoints.values[:] = commands[k]
            world.step()
            qpos[k + 1], qvel[k + 1] = data.qpos, data.qvel
            efforts = np.maximum(efforts, np.abs(data.qfrc_actuator[drives.dofs]))
            touches |= bool(data.ncon) or not held >= self._limits_touched()
        most = np.minimum(drives.values["torque_limit"], drives.own_limits)
        is_limited = np.isfinite(most) & (most > 0.0)
        effort = efforts / np.where(is_limited, most, np.inf)
        speeds = np.abs(qvel[:, drives.dofs]).max(axis=0)
        excess = np.maximum(effort / self._limits.effort, speeds / self._limits.speed)
        positions = qpos[:, drives.qpos]
        inside = np.minimum(positions - self._ranges[:, 0], self._ranges[:, 1] - positions).min(
            axis=0
        )
        # One that starts at a limit may rest there, and give way a little as MuJoCo's limits do.
        room = self._ranges[:, 1] - self._ranges[:, 0]
        near = np.minimum(NEAR, NEAR_SHARE * room)
        start = self._begin[0, drives.columns]
        first = np.minimum(start - self._ranges[:, 0], self._ranges[:, 1] - start)
        near = np.where(first < near, -GIVES * room, near)
        excess = np.where(inside < near, np.maximum(excess, 1.2), excess)
        excess[[p for p in range(len(drives)) if p not in self.chosen]] = 0.0
        track = RecordedTrack(
            "excitation", {drives.actor: commands}, np.arange(self._steps + 1), qpos, qvel, True
        )
        share = float(effort.max()) if is_limited.any() else None
        return _Run(track, excess, touches, speeds, share)

    def information(self, run: _Run) -> float:
        """Log of the determinant of JᵀJ, initial states projected out, parameters scaled."""
        options = MotionOptions(together=True)
        count = sum(map(len, self._wanted.values()))
        stage, _ = stages_of(self.world, self.drives, [run.track], 1, options, 0, count)
        simulator = simulator_of(self._scene, stage)
        try:
            most = np.maximum(np.nan_to_num(self.drives.values["kp"]), 1.0)
            unknowns = unknowns_of(self.world, self.drives, self._wanted, {}, most, None)
            problem = Problem(stage, simulator, unknowns)
            linear = problem.linearise(problem.start())
        finally:
            simulator.close()
        weights = [np.ones(r.shape[1]) for r in linear.residuals]
        scale = np.array([u.scale for u in unknowns])
        hessian = System.of(problem, linear, weights).hessian * scale * scale[:, None]
        return float(np.linalg.slogdet(hessian + 1e-12 * np.eye(len(scale)))[1])


def write_csv(found: Excitation, path: Path) -> None:
    """A table of times and setpoints, one column per joint."""
    table = np.column_stack([found.time, found.setpoints])
    with whole_file(path) as file:
        np.savetxt(
            file, table, delimiter=",", header=",".join(["time", *found.joints]), comments="",
            fmt="%.9g",
        )  # fmt: skip


def record_excitation(
    found: Excitation, scene: Scene, path: Path, *, overwrite: bool = False
) -> None:
    """A recording of the motion as the scene makes it.

    Raises:
        RecordingError: the file exists already, or cannot be written.
    """
    world = World(scene)
    strip(world)
    world.reset()
    drives = drives_of(world, found.actor)
    places = [int(drives.columns[drives.joints.index(name)]) for name in found.joints]
    robot = world[found.actor]
    with Recorder(world, path, overwrite=overwrite):
        for row in found.setpoints:
            robot.setpoints.values[0, places] = row
            world.step()
