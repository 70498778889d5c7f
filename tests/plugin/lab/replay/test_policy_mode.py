"""A policy in the loop: verdicts, trials, and what it was made for."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import Plant
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.properties.scalar_kinds import Bool, Float, Int
from mjrig.data.recording.recording import PolicyTicks, Recording
from mjrig.lab.replay.trials import KINDS, perturbations, tracking
from tests.campaign import campaign_only
from tests.plugin.lab.replay.recorded import BIPED, biped, from_world
from tests.wording import matches, mentions
from tests.worlds import hinge, make_world, make_worlds, refused

SETTINGS: dict[str, Any] = {"duration": 0.6}


class Sway(PolicyComponent):
    """Moves all joints a little, `lean` lets the hips go and the robot fall."""

    enabled = Bool(True)
    lean = Float(0.0)
    trained_kp = Float(80.0)
    stand = Int(0)

    def prepare(self) -> None:
        self._robot: Any = None
        self._steps = 0
        self._told: Sequence[float] = (0.0, 0.0, 0.0)
        self._schedule: Sequence[tuple[float, Sequence[float]]] = ()

    def attach(self, articulation: Any) -> None:
        self._robot = articulation

    def reset(self) -> None:
        self._steps = 0

    def before_controls(self, time: float) -> None:
        if self.enabled:
            if self._steps % 10 == 0:
                targets = self._robot.setpoints.values[0]
                targets[:] = 0.05 * np.sin(0.02 * self._steps + np.arange(len(targets)))
                targets[0] += self.lean
                targets[2] += self.lean
            self._steps += 1

    @property
    def ticks(self) -> int:
        return -(-self._steps // 10)

    @property
    def tick_steps(self) -> int:
        return 10

    @property
    def stand_steps(self) -> int:
        return self.stand

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(b.joint for b in self._robot.actuators)

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        return np.zeros(1, np.float32)

    @property
    def action(self) -> npt.NDArray[np.float32]:
        return np.zeros(len(self.joints), np.float32)

    @property
    def command_now(self) -> FloatArray:
        return np.array(self._told)

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        self._schedule, self._told = schedule, schedule[0][1]

    def plant(self) -> Plant:
        return Plant({"decimation": 10}, {"kp": dict.fromkeys(self.joints, self.trained_kp)})


def test_a_policy_that_stays_up_transfers() -> None:
    result = mjrig.replay(Sway(), biped(), **SETTINGS)
    assert result.verdict == "transfers"
    assert matches(result.evidence, "policy in the loop, 8 … (7 … 8 … 8 …")


def test_one_run_alone_does_not_show_that_a_policy_transfers() -> None:
    world = biped()
    result = mjrig.replay(Sway(), world, trials=0, **SETTINGS)
    assert (result.verdict, result.fell) == ("stays up", False)
    assert matches(result.evidence, "policy in the loop, 1 …")
    assert mentions(result.notes, "judging transfer needs perturbed …")
    assert result.duration == pytest.approx(0.6)
    assert result.base_start == pytest.approx([0.0, 0.0, 0.62])
    assert set(result.joints) == {"left_hip", "left_knee", "right_hip", "right_knee"}
    assert (result.joints["left_hip"]["rmse_position"] or 0.0) > 0.0
    assert len(world["robot"].components) == 1


def test_a_policy_that_falls_does_not_transfer() -> None:
    result = mjrig.replay(Sway(lean=-1.6), biped(), duration=1.5)
    assert (result.verdict, result.fell) == ("does not transfer", True)
    assert result.fell_at is not None and result.fell_at < 1.5


def test_a_policy_of_the_scene_is_used_where_it_is() -> None:
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0), Sway(enabled=False)])
    result = mjrig.replay(from_world(biped(), 100), world, mode="policy")
    assert result.max_abs_position_error is not None and result.max_abs_position_error > 0.0
    sway = world["robot"].components[1]
    assert isinstance(sway, Sway) and not sway.enabled


def test_a_recording_of_the_same_policy_is_met_to_the_bit() -> None:
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0), Sway()])
    run = from_world(world, 100, lambda step, world: None)
    result = mjrig.replay(run, world, mode="policy")
    assert result.bit_exact
    assert result.duration == pytest.approx(0.2)


def test_gains_other_than_it_was_trained_with_are_a_finding() -> None:
    result = mjrig.replay(Sway(trained_kp=70.0), biped(), **SETTINGS)
    finding = result.diagnosis[0]
    assert (finding.kind, finding.expected, finding.here) == ("kp", 70.0, 80.0)
    assert finding.where == "4 joints: left_hip, left_knee, right_hip, right_knee"
    assert finding.form == "undone, little changes"
    assert str(finding.evidence["moved"]).startswith("the base ends 0.0")


def test_trials_perturb_in_turn_and_repeat_with_their_seed() -> None:
    world = biped()
    before = world.model.body_mass.copy(), world.model.geom_friction.copy()
    one, two = (mjrig.replay(Sway(), world, trials=5, seed=3, **SETTINGS) for _ in range(2))
    assert [t.to_data() for t in one.trials] == [t.to_data() for t in two.trials]
    assert [t.name.split()[0] for t in one.trials] == [
        "nominal", "start", "friction", "payload", "motor", "pushes",
    ]  # fmt: skip
    assert len({tuple(t.base_end or ()) for t in one.trials[:-1]}) == 5
    assert one.evidence.startswith("policy in the loop, 6 runs (5 runs perturbed): ")
    assert np.array_equal(world.model.body_mass, before[0])
    assert np.array_equal(world.model.geom_friction, before[1])


@pytest.mark.campaign
@campaign_only
@pytest.mark.slow
def test_trials_on_processes_are_the_same_trials() -> None:
    pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")
    scene = Path(str(files("mjrig.config").joinpath("scenes", "quadruped_walk.yaml")))
    policy = Path(str(files("mjrig.assets").joinpath("walk", "policy.yaml")))
    runs = [
        mjrig.replay(policy, mjrig.World(scene), trials=2, workers=n, duration=0.1) for n in (1, 2)
    ]
    assert runs[0].trials == runs[1].trials


def test_the_kinds_of_perturbations_come_in_turn() -> None:
    seen = [p.kind for p in perturbations(9, 0)]
    assert seen == [*KINDS, *KINDS[:2]]


@pytest.mark.parametrize("seed", range(3))
def test_friction_and_strength_are_tried_in_both_directions_harder_ones_first(seed: int) -> None:
    result = mjrig.replay(Sway(), biped(), seed=seed, duration=0.02, diagnose=False)
    factors: dict[str, list[float]] = {"friction": [], "motor strength": []}
    for trial in result.trials:
        what, times, factor = trial.name.partition(" × ")
        if times:
            factors[what].append(float(factor))
    assert all(len(f) == 2 and f[0] < 1.0 < f[1] for f in factors.values())
    assert not any(note.startswith("not judged") for note in result.notes)
    few = mjrig.replay(Sway(), biped(), seed=seed, trials=2, duration=0.02, diagnose=False)
    assert mentions(few.notes, "not judged, for want … strength, pushes, more …")


def test_tracking_is_the_error_of_mean_speeds() -> None:
    time = np.linspace(0.0, 2.0, 201)
    forward = np.zeros((201, 3))
    forward[:, 0] = 0.5 * time
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (201, 1))
    told = np.tile([0.7, 0.0, 0.0], (200, 1))
    assert tracking(forward, upright, told, 0.01, 200) == pytest.approx(0.2)
    assert tracking(forward, upright, told[:, :1], 0.01, 200) is None
    assert tracking(forward, upright, told, 0.01, 50) is None


def test_a_command_reaches_the_policy() -> None:
    policy = Sway()
    world = biped()
    world["robot"].add_component(policy)
    mjrig.replay(policy, world, command=[0.5, 0.0, 0.1], duration=0.1)
    assert policy.command_now.tolist() == [0.5, 0.0, 0.1]


def with_commands(rows: Sequence[tuple[int, Sequence[float]]], **about: Any) -> Recording:
    """A recording of the biped whose policy was commanded so: steps and values."""
    run = from_world(biped(), 60, **about)
    ticks = PolicyTicks(
        np.array([step for step, _ in rows]),
        np.zeros((len(rows), 1), np.float32),
        np.zeros((len(rows), 4), np.float32),
        np.array([values for _, values in rows], dtype=np.float64),
    )
    return replace(run, actors={"robot": replace(run.actors["robot"], policy=ticks)})


TOLD: list[tuple[int, list[float]]] = [
    (0, [0, 0, 0]),
    (10, [0.5, 0, 0]),
    (20, [0.5, 0, 0]),
    (30, [0.5, 0, 0.2]),
    (40, [0, 0, 0]),
]


@pytest.mark.parametrize(
    ("stand", "schedule"),
    [
        (0, [(0.0, [0, 0, 0]), (0.02, [0.5, 0, 0]), (0.06, [0.5, 0, 0.2]), (0.08, [0, 0, 0])]),
        (10, [(0.0, [0.5, 0, 0]), (0.04, [0.5, 0, 0.2]), (0.06, [0, 0, 0])]),
        (35, [(0.0, [0.5, 0, 0.2]), (0.01, [0, 0, 0])]),
        (900, [(0.0, [0, 0, 0])]),
    ],
)
def test_recorded_commands_are_given_again_from_where_the_policy_begins(
    stand: int, schedule: list[tuple[float, list[float]]]
) -> None:
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0), Sway(stand=stand)])
    result = mjrig.replay(with_commands(TOLD), world, mode="policy", trials=0, diagnose=False)
    sway = world["robot"].components[1]
    assert isinstance(sway, Sway)
    assert [(round(time, 9), list(values)) for time, values in sway._schedule] == schedule
    assert mentions(result.notes, "the commands are those …")


def test_commands_that_somebody_gives_win_and_others_that_do_not_fit_are_told() -> None:
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0), Sway()])
    settings: dict[str, Any] = {"mode": "policy", "trials": 0, "diagnose": False}
    result = mjrig.replay(with_commands(TOLD), world, command=[0.1, 0, 0], **settings)
    sway = world["robot"].components[1]
    assert isinstance(sway, Sway) and sway._schedule == [(0.0, [0.1, 0, 0])]
    assert "the commands are those of the recording" not in result.notes
    result = mjrig.replay(with_commands([(0, [1.0])]), world, **settings)
    note = "the recorded commands have 1 value, the policy takes 3: not used"
    assert note in result.notes


def test_a_recording_s_seed_draws_its_perturbations() -> None:
    run = with_commands(TOLD)
    run = replace(run, attributes={**run.attributes, "seed": 5})
    world = make_world(BIPED, [PDController(kp=80.0, kv=3.0), Sway()])
    settings: dict[str, Any] = {"mode": "policy", "trials": 2, "diagnose": False}
    seeds: list[dict[str, Any]] = [{}, {"seed": 5}, {"seed": 6}]
    own, told, other = (mjrig.replay(run, world, **settings, **more) for more in seeds)
    assert own.trials == told.trials != other.trials


def test_which_robot_must_be_known() -> None:
    world = make_worlds({"a": hinge(), "b": hinge()})
    with refused(mjrig.RecordingError, "several robots could run … robot=…"):
        mjrig.replay(Sway(), world, **SETTINGS)


def test_a_robot_without_a_policy_is_refused() -> None:
    with refused(mjrig.RecordingError, "robot has no policy; … policy=…, … --policy"):
        mjrig.replay(from_world(biped(), 10), biped(), mode="policy")


def test_a_missing_policy_file_is_refused() -> None:
    with refused(mjrig.RecordingError, "nowhere.yaml: there is no such …"):
        mjrig.replay("nowhere.yaml", biped())


def test_a_policy_has_no_setpoints_to_replay() -> None:
    with refused(mjrig.RecordingError, "p.yaml: a policy is replayed …"):
        mjrig.replay("p.yaml", biped(), mode="targets")


def test_a_command_and_a_schedule_are_one_too_many() -> None:
    with refused(mjrig.PropertyError, "give a command or …"):
        mjrig.replay(Sway(), biped(), command=[1], schedule=[(0.0, [1])], **SETTINGS)
