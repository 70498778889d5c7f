"""Perturbed trials of a policy: start pose, friction, payload, motor strength, pushes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.sim.world import World
from mjrig.data.recording.recording import Recording
from mjrig.lab.replay.comparison import base_of, saturation, yaw
from mjrig.lab.replay.matching import base_joint, joints_of, match
from mjrig.lab.replay.plant_edit import PlantEdit
from mjrig.lab.replay.policy_loop import command_policy
from mjrig.lab.replay.result import Trial
from mjrig.lab.replay.start_state import start
from mjrig.lab.rollouts.experiment import Experiment, PlainScenario, Variation
from mjrig.lab.rollouts.hosts import Host, WorldHost
from mjrig.lab.rollouts.plan import ExperimentPlan
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.run import live_runs, traces
from mjrig.lab.rollouts.tracks import Track, record
from mjrig.lab.rollouts.world_copy import copy_of

# Trials -------------------------------------------------------------------------------------------


#: Harder ones first: runs that only make it easier are no evidence of transfer.
KINDS = ("start", "less friction", "payload", "less strength", "pushes", "more friction",
         "more strength")  # fmt: skip
#: Joints start off by up to this [rad], and the base with up to this speed [m/s, rad/s].
POSE_NOISE, SPEED_NOISE = 0.05, 0.1
#: Factors of the friction and of the motors' strength, by kind.
FACTORS = {
    "less friction": (0.5, 0.85),
    "more friction": (1.1, 1.25),
    "less strength": (0.85, 0.95),
    "more strength": (1.05, 1.15),
}
#: Part of the robot's mass that is put on its base.
PAYLOAD = (0.05, 0.15)
#: A push changes the base's velocity by this much, at this interval [m/s, s].
PUSH, PUSH_EVERY = 0.4, 2.0
#: Speeds are compared as means over this time: a gait sways [s].
MEAN = 1.0


@dataclass(frozen=True)
class Perturbation:
    """One perturbation, drawn from a seed, so that it can be repeated."""

    kind: str
    seed: tuple[int, int]

    @property
    def random(self) -> np.random.Generator:
        """Its random generator."""
        return np.random.default_rng(self.seed)


def perturbations(count: int, seed: int) -> list[Perturbation]:
    """`count` perturbations, the kinds in turn."""
    return [Perturbation(KINDS[i % len(KINDS)], (seed, i)) for i in range(count)]


def untried(count: int) -> list[str]:
    """Kinds of perturbations that so many trials leave out."""
    return list(KINDS[count:])


@dataclass
class PolicyRun:
    """Result of a run."""

    track: Track
    trial: Trial
    commands: FloatArray


def run_policy(
    world: World,
    robot: Articulation,
    policy: PolicyComponent,
    steps: int,
    *,
    start: Callable[[], object],
    perturbation: Perturbation | None = None,
) -> PolicyRun:
    """Reset by `start`, perturb, and run; the plant is put back afterwards."""
    start()
    commands: list[FloatArray] = []
    with PlantEdit(world, robot) as edit:
        name, push = "nominal", None
        if perturbation is not None:
            name, push = _perturb(world, robot, edit, perturbation)

        def before(step: int) -> None:
            commands.append(np.array(policy.command_now, dtype=np.float64))
            if push is not None:
                push(step)

        track = record(world, steps, before=before)
    rows = np.array(commands[: max(track.taken, 1)])
    return PolicyRun(track, judged(name, world, robot, track, rows), rows)


def _perturb(
    world: World, robot: Articulation, edit: PlantEdit, perturbation: Perturbation
) -> tuple[str, Callable[[int], object] | None]:
    """Apply it; returns its name and a function to call between steps."""
    random, data = perturbation.random, world.data
    if perturbation.kind == "start":
        for joint in joints_of(world, robot):
            if joint.kind in ("hinge", "slide"):
                data.qpos[joint.qpos] += random.uniform(-POSE_NOISE, POSE_NOISE)
            data.qvel[joint.dof] += random.uniform(-SPEED_NOISE, SPEED_NOISE)
        return f"start pose ± {POSE_NOISE:g} rad", None
    if perturbation.kind in FACTORS:
        return _scaled(edit, perturbation.kind, random.uniform(*FACTORS[perturbation.kind])), None
    if perturbation.kind == "payload":
        mass = random.uniform(*PAYLOAD) * float(_mass(world, robot))
        edit.add_mass(mass)
        return f"payload {mass:.1f} kg", None
    return _pushes(world, robot, random)


def _scaled(edit: PlantEdit, kind: str, factor: float) -> str:
    """Scale friction or strength; returns the name of the trial."""
    if kind.endswith("friction"):
        edit.scale_friction(factor)
        return f"friction × {factor:.2f}"
    edit.scale_strength(factor)
    return f"motor strength × {factor:.2f}"


def _pushes(
    world: World, robot: Articulation, random: np.random.Generator
) -> tuple[str, Callable[[int], object] | None]:
    base = base_joint(world, robot)
    if base is None:
        return "no pushes: the base is fixed", None
    every, at = round(PUSH_EVERY / world.timestep), base.dof.start

    def push(step: int) -> None:
        if step and step % every == 0:
            angle = random.uniform(0.0, 2.0 * math.pi)
            world.data.qvel[at : at + 2] += PUSH * math.cos(angle), PUSH * math.sin(angle)

    return f"pushes of {PUSH:g} m/s every {PUSH_EVERY:g} s", push


def _mass(world: World, robot: Articulation) -> float:
    model, prefix = world.model, robot.model_map.prefix
    bodies = [i for i in range(1, model.nbody) if model.body(i).name.startswith(prefix)]
    return float(model.body_mass[bodies].sum())


# Judging ----------------------------------------------------------------------------------------


def judged(
    name: str, world: World, robot: Articulation, track: Track, commands: FloatArray
) -> Trial:
    """The outcome of a run; what happens after a fall does not count."""
    base = base_of(world, robot, track.qpos)
    fallen = None if base is None else base.fell_at()
    end = track.taken if fallen is None else fallen
    limits = track.limits[robot.name]
    drives = {b.actuator: b.joint for b in robot.actuators}
    shares = [
        saturation(track.effort[robot.name][:end, i], limits.get(drives[a], math.inf))
        for i, a in enumerate(robot.actuator_names)
    ]
    return Trial(
        name=name,
        fell=track.diverged or fallen is not None,
        duration=end * track.timestep,
        base_end=None if base is None else base.end,
        tracking_error=None if base is None else tracking(base.position, base.quaternion, commands,
                                                          track.timestep, end),
        upright=1.0 if base is None else float(base.upright.min()),
        saturation=float(np.mean(shares)) if shares else 0.0,
    )  # fmt: skip


def tracking(
    position: FloatArray,
    quaternion: FloatArray,
    commands: FloatArray,
    timestep: float,
    end: int,
) -> float | None:
    """RMS of commanded minus actual speed over windows: vx, vy [m/s] and yaw rate [rad/s].

    None where the policy does not take such a command, or the run is too short.
    """
    size = round(MEAN / timestep)
    if commands.ndim != 2 or commands.shape[1] < 3 or end < size:
        return None
    heading = yaw(quaternion)
    errors = []
    for a in range(0, end - size + 1, size):
        b = a + size
        dx, dy = (position[b, :2] - position[a, :2]) / MEAN
        middle = float(heading[(a + b) // 2])
        c, s = math.cos(middle), math.sin(middle)
        actual = np.array([c * dx + s * dy, c * dy - s * dx, (heading[b] - heading[a]) / MEAN])
        errors.append(commands[a:b, :3].mean(axis=0) - actual)
    return float(np.sqrt(np.mean(np.sum(np.square(errors), axis=1))))


def statistics(trials: Sequence[Trial]) -> str:
    """`5 of 6 runs stayed up`."""
    up = sum(not t.fell for t in trials)
    return f"{up} of {len(trials)} runs stayed up"


# Trials of a policy -------------------------------------------------------------------------------


PolicyCommand = tuple[Sequence[float] | None, Sequence[tuple[float, Sequence[float]]] | None]


@dataclass(frozen=True, eq=False)
class PerturbedPolicy(PlainScenario):
    """A run of a policy with a perturbation, which is the case of a variation; None: without one.

    The trace is a `Trial`, or without a perturbation a `PolicyRun`.
    """

    metrics = ("fell", "saturation")
    policy: PolicyComponent = field(repr=False)
    command: PolicyCommand
    steps: int
    timestep: float
    recording: Recording | None = field(default=None, repr=False)
    robot: str = ""

    @property
    def duration(self) -> float:
        """Simulated time [s]."""
        return self.steps * self.timestep

    def prepare(self, world: World) -> "CommandedPolicy":
        """Put the policy in command of its robot."""
        policy = self.policy.copy()
        world[self.robot].add_component(policy)
        command_policy(policy, *self.command)
        if self.recording is None:
            return CommandedPolicy(policy, world.reset)
        matches = match(self.recording, world, self.robot)
        return CommandedPolicy(policy, partial(start, world, self.recording, matches))

    def run(
        self, host: Host, randomisation: Randomisation, variations: Sequence[Variation]
    ) -> list[dict[str, float]]:
        """The metrics of the one world."""
        del randomisation  # perturbations are harder, and named in the report
        assert isinstance(host, WorldHost) and isinstance(host.prepared, CommandedPolicy)
        perturbation = variations[0].case
        assert isinstance(perturbation, Perturbation | None)
        done = run_policy(
            host.world,
            host.robot,
            host.prepared.policy,
            self.steps,
            start=host.prepared.begin,
            perturbation=perturbation,
        )
        host.traces[0] = done if perturbation is None else done.trial
        return [{"fell": float(done.trial.fell), "saturation": done.trial.saturation}]


@dataclass(frozen=True)
class CommandedPolicy:
    """A policy that commands its robot, and how its runs begin."""

    policy: PolicyComponent
    begin: Callable[[], object]


def run_trials(
    world: World,
    scenario: PerturbedPolicy,
    begin: Callable[[], object],
    cases: Sequence[Perturbation],
    workers: int,
) -> list[Trial]:
    """Perturbed runs: here one after the other, or on processes.

    Processes start their worlds from the scene, with the components as they are here now, and
    where the recording begins; what was changed in the model by hand is only known here.
    """
    policy, name = scenario.policy, scenario.robot
    if workers <= 1 or len(cases) <= 1:
        return live_runs(world, name, scenario, CommandedPolicy(policy, begin), cases)
    source = copy_of(world, leave_out=(name, world[name].components.index(policy)))
    experiment = Experiment(source, replace(scenario, policy=policy.copy()), name)
    plan = ExperimentPlan(experiment.with_cases(cases), "a policy runs in a world of its own")
    return traces(plan, backend="processes", workers=min(workers, len(cases)))
