"""Gains by natural frequency and damping ratio: right on paper, in motion and in the file."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from mjrig.cli.main import main
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.check.preflight import findings
from mjrig.lab.gains.assignment import Assignment, AssignmentPlan, Wish, assign
from mjrig.lab.gains.gain_presets import read_preset
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.campaign import campaign_only
from tests.plugin.lab.scenes import BUNDLED, PD, scene, write_scene
from tests.worlds import GRIPPER, arm, hinge, refused

Output = pytest.CaptureFixture[str]
OMEGA = 2.0 * math.pi * 4.0


def one(plan: AssignmentPlan) -> Assignment:
    (found,) = plan.assignments
    return found


def test_gains_are_those_on_paper(tmp_path: Path) -> None:
    found = one(assign(scene(tmp_path, hinge(), PD), Wish(4.0, 0.7)))
    assert found.kp == pytest.approx(0.5 * OMEGA**2)
    assert found.kv == pytest.approx(2.0 * 0.7 * 0.5 * OMEGA)
    assert found.notes == ()
    assert found.frequency(0.5) == pytest.approx(4.0)
    assert found.damping(0.5) == pytest.approx(0.7)


def test_rotors_count_with_the_square_of_their_gear(tmp_path: Path) -> None:
    geared = '<motor name="drive" joint="swing" gear="10" armature="0.002"/>'
    found = one(assign(scene(tmp_path, hinge(geared), PD), Wish(4.0)))
    assert found.seen.inertia == pytest.approx(0.5 + 0.002 * 100)


def test_what_the_joint_has_itself_is_taken_off(tmp_path: Path) -> None:
    xml = hinge(joint='damping="3" stiffness="20"')
    found = one(assign(scene(tmp_path, xml, PD), Wish(4.0)))
    assert found.kp == pytest.approx(0.5 * OMEGA**2 - 20.0)
    assert found.kv == pytest.approx(2.0 * 0.5 * OMEGA - 3.0)
    assert found.notes == (
        "damping 3 is the joint's own",
        "stiffness 20 is the joint's own",
    )


def test_more_damping_than_asked_for_leaves_no_gain(tmp_path: Path) -> None:
    found = one(assign(scene(tmp_path, hinge(joint='damping="30"'), PD), Wish(4.0, 0.5)))
    assert found.kv == 0.0
    assert found.damping(0.5) == pytest.approx(30.0 / (2.0 * 0.5 * OMEGA))


def test_the_step_that_saturates_is_told_and_honoured_if_asked(tmp_path: Path) -> None:
    weak = "{type: PDController, torque_limit: 10}"
    free = one(assign(scene(tmp_path, hinge(), weak), Wish(4.0)))
    assert free.saturating_step == pytest.approx(10.0 / free.kp)
    held = one(assign(scene(tmp_path, hinge(), weak), Wish(4.0, step=0.2)))
    assert held.kp == pytest.approx(50.0)
    assert held.saturating_step == pytest.approx(0.2)
    assert held.notes == ("torque: 1.59 Hz, for a step of 0.2",)
    assert held.damping(0.5) == pytest.approx(1.0)


def test_the_largest_inertia_keeps_every_pose_damped(tmp_path: Path) -> None:
    path = write_scene(tmp_path, arm(), "{type: PDController, kp: 20, kv: 2}")
    pose = assign(path, Wish(3.0), joint="shoulder").assignments[0]
    most = assign(path, Wish(3.0, inertia="largest"), joint="shoulder").assignments[0]  # type: ignore[arg-type]
    assert pose.seen == most.seen
    assert pose.seen.smallest < pose.seen.inertia <= pose.seen.largest
    assert most.damping(most.seen.largest) == pytest.approx(1.0)
    assert most.damping(most.seen.smallest) > 1.0


def test_inertias_are_the_same_for_every_seed(tmp_path: Path) -> None:
    path = write_scene(tmp_path, arm(), PD)
    one, two = (assign(path, Wish(3.0), poses=4, seed=s).assignments[0].seen for s in (1, 2))
    assert one == two


# Stability --------------------------------------------------------------------------------------


def test_a_frequency_the_timestep_cannot_carry_is_lowered(tmp_path: Path) -> None:
    slow = scene(tmp_path, hinge(), PD, sim="{timestep: 0.01}")
    found = one(assign(slow, Wish(30.0)))
    assert found.hertz < 30.0
    assert found.notes == (f"stability: {found.hertz:.3g} Hz",)
    assert found.damping(0.5) == pytest.approx(1.0)
    # Twice the gains are stable, and 1/0.95 times the frequency would not be: 4ζωh + 2(ωh)² < 4·½.
    for hertz, stable in ((found.hertz, True), (found.hertz / 0.95, False)):
        turn = 2.0 * math.pi * hertz * 0.01
        assert (2.0 * turn**2 + 2.0 * 2.0 * 2.0 * turn < 4.0) is stable


def test_an_implicit_law_carries_any_frequency(tmp_path: Path) -> None:
    sim = "{timestep: 0.01, integrator: implicitfast, actuation: implicit}"
    assert one(assign(scene(tmp_path, hinge(), PD, sim=sim), Wish(30.0))).hertz == 30.0


def test_joints_that_are_not_asked_for_may_be_unstable(tmp_path: Path) -> None:
    path = write_scene(tmp_path, arm(), "{type: PDController, kp: 5, kv: {a: 1, b: 5000}}")
    plan = assign(path, Wish(3.0), joint="a", poses=2)
    assert plan.unstable == ("robot",)
    assert one(plan).hertz == 3.0


@pytest.mark.campaign
@pytest.mark.parametrize(
    "name", ["pendulum", "arm", "quadruped", pytest.param("humanoid", marks=campaign_only)]
)
def test_robots_with_assigned_gains_pass_the_check(name: str) -> None:
    described = Scene.load(BUNDLED / f"{name}.yaml")
    assign(described, Wish(8.0), poses=0).put(described)
    world = World(described)
    codes = {f.kind for f in findings(world)}
    assert not codes & {"unstable-pd", "close-to-unstable"}
    world.step(300)
    assert not world.events


# In the simulation ------------------------------------------------------------------------------


def natural(described: Scene, joint: str) -> tuple[float, float]:
    """Frequency and damping ratio of a joint that follows a chirp: phase −90°, gain 1 / 2ζ."""
    # Large enough that the arm's dry friction does not matter much.
    signal = Signal(Kind.CHIRP, 0.15, 0.5, 10.0, 3.0)
    shown = respond(described, joint=joint, signal=signal)[0].measured
    assert shown is not None
    k = int(np.flatnonzero(shown.phase < -90.0)[0])
    at = np.interp(90.0, -shown.phase[k - 1 : k + 1], shown.frequency[k - 1 : k + 1])
    return float(at), float(shown.gain[0] / (2.0 * np.interp(at, shown.frequency, shown.gain)))


@pytest.mark.parametrize(
    ("name", "joint", "rel"), [("pendulum", "swing", 0.04), ("arm", "elbow", 0.04)]
)
def test_a_response_shows_what_was_asked_for(name: str, joint: str, rel: float) -> None:
    described = Scene.load(BUNDLED / f"{name}.yaml")
    assign(described, Wish(3.0, 0.7), joint=joint, poses=0).put(described)
    hertz, ratio = natural(described, joint)
    assert hertz == pytest.approx(3.0, rel=rel)
    assert ratio == pytest.approx(0.7, rel=rel)


# Writing ----------------------------------------------------------------------------------------


def test_the_command_writes_the_gains_and_nothing_else(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), "{type: PDController, kp: 50, kv: 5}  # by hand")
    before = path.read_text()
    assert main(["tune", "assign", str(path), "--frequency", "4", "--write"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {path}; {path}~ is the backup"
    assert path.read_text() == before.replace("kp: 50, kv: 5", "kp: 315.83, kv: 25.133")
    assert Path(f"{path}~").read_text() == before


def test_a_dry_run_shows_the_lines(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    before = path.read_text()
    command = ["tune", "assign", str(path), "--frequency", "4"]
    assert main([*command, "--write", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "+      - {type: PDController, kp: 315.83, kv: 25.133}" in out.splitlines()
    assert main([*command, "--preset", str(tmp_path / "p.yaml"), "--dry-run"]) == 0
    assert main(command) == 0
    last = "nothing was written; --write puts the gains into the scene, --preset into a file"
    assert capsys.readouterr().out.splitlines()[-1] == last
    assert path.read_text() == before
    assert not (tmp_path / "p.yaml").exists()


def test_the_command_writes_a_preset(tmp_path: Path, capsys: Output) -> None:
    path, preset = write_scene(tmp_path, hinge(), PD), tmp_path / "p.yaml"
    assert main(["tune", "assign", str(path), "--frequency", "4", "--preset", str(preset)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {preset}"
    gains = {"kp": {"drive": 315.83}, "kv": {"drive": 25.133}}
    assert read_preset(preset) == {"PDController": gains}


def test_a_preset_of_two_actors_is_refused(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD, actors=("left", "right"))
    command = ["tune", "assign", str(path), "--frequency", "4", "--preset", "p.yaml"]
    assert main(command) == 1
    text = "mjrig: a preset holds the gains of one actor; these are of left, right\n"
    assert capsys.readouterr().err == text


def test_write_refuses_what_set_changed(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, hinge(), PD)
    command = ["tune", "assign", str(path), "--frequency", "4", "--write"]
    assert main([*command, "--set", "robot.PDController.torque_limit=1"]) == 1
    text = "mjrig: --write would also write the values of --set; use --preset, or drop --set\n"
    assert capsys.readouterr().err == text


def test_the_gains_of_an_included_file_are_not_written(tmp_path: Path) -> None:
    write_scene(tmp_path, hinge(), PD)
    outer = Scene.parse("mjrig: 1\ninclude: [scene.yaml]\n", tmp_path)
    text = "robot.PDController.drive: it is described in scene.yaml, …"
    with refused(BindingError, text):
        assign(outer, Wish(4.0)).put(outer)


def test_the_gains_of_a_law_are_written_into_the_law(tmp_path: Path) -> None:
    described = scene(tmp_path, hinge(), "{type: LawController, law: {type: PD, kp: 50, kv: 5}}")
    assign(described, Wish(4.0)).put(described)
    assert "law: {type: PD, kp: 315.83, kv: 25.133}" in described.to_text()


def test_the_report_is_json_on_demand(tmp_path: Path, capsys: Output) -> None:
    path = write_scene(tmp_path, GRIPPER, PD)
    assert main(["tune", "assign", str(path), "--frequency", "4", "--poses", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["joints"][0]["actuator"] == "leg"
    assert found["joints"][0]["kp"]["old"] == 50
    reason = "drives the tendon 'grip', not a joint"
    assert found["skipped"] == [{"actor": "robot", "actuator": "grip", "reason": reason}]


# Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ({"frequency": 0.0}, "the frequency must be > 0, … 0"),
        ({"frequency": math.nan}, "the frequency must be > 0, … nan"),
        ({"frequency": 4.0, "damping": -1.0}, "the damping must be >= 0, … -1"),
        ({"frequency": 4.0, "step": 0.0}, "the step must be > 0, … 0"),
        ({"frequency": 4.0, "inertia": "larges"},
         "unknown inertia 'larges'; did you … 'largest'?"),
    ],
)  # fmt: skip
def test_wrong_wishes_are_refused(wish: dict[str, float], text: str) -> None:
    with refused(PropertyError, text):
        Wish(**wish)  # type: ignore[arg-type]


def test_negative_poses_are_refused(tmp_path: Path) -> None:
    with refused(PropertyError, "poses must be >= 0, got -1"):
        assign(scene(tmp_path, hinge(), PD), Wish(4.0), poses=-1)


def test_a_law_on_a_tendon_is_refused(tmp_path: Path) -> None:
    xml = GRIPPER.replace(
        '<position name="grip" tendon="grip" kp="50" kv="3"/>', '<motor name="grip" tendon="grip"/>'
    )
    path = write_scene(tmp_path, xml, "{type: PDController, transmissions: all}")
    text = "nothing to tune: robot.grip: its …"
    with refused(BindingError, text):
        assign(path, Wish(4.0), joint="grip")


def test_a_mode_has_the_name_of_the_joint_that_moves_most_in_it() -> None:
    """The fingers are on a tendon, which no controller holds; nor are they the arm's own doing."""
    plan = assign(BUNDLED / "arm.yaml", Wish(5.0), poses=0)
    notes = {a.row.actuator: [n for n in a.notes if "Hz" in n] for a in plan.assignments}
    assert notes["shoulder_pan"] == notes["wrist_roll"] == []
    (also,) = notes["elbow"]
    assert also.startswith("also ") and also.endswith(" of shoulder_lift")
    (also,) = notes["forearm_roll"]
    assert also.startswith("also ") and " of finger_" in also
    assert also.endswith(", which no controller holds")
    alone = one(assign(BUNDLED / "arm.yaml", Wish(5.0), joint="forearm_roll", poses=0))
    assert any(n.startswith("Hz and ζ are those of finger_") for n in alone.notes)


def test_a_mode_is_that_of_its_own_joint_where_it_moves_alone(tmp_path: Path) -> None:
    for damping in (0.2, 0.7, 1.0, 3.0):
        found = one(assign(scene(tmp_path, hinge(), PD), Wish(4.0, damping)))
        assert found.mode is not None and found.mode.dof == 0
        assert not any(" of " in note for note in found.notes)
