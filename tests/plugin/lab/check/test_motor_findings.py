"""Pre-flight: limits that a named motor cannot give, and values that differ from its own."""

from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.components import DCMotor, PDController
from mjrig.lab.check.preflight import findings
from tests.preflight import SOFT, found, told
from tests.worlds import make_world

XML = """<mujoco><worldbody><body><joint name="knee" axis="0 1 0" {joint}/>
<geom size=".1"/></body></worldbody><actuator>{drive}</actuator></mujoco>"""
MOTOR, SERVO = '<motor joint="knee"/>', '<position joint="knee" kp="5" {}/>'


def xml(drive: str = MOTOR, joint: str = "") -> str:
    return XML.format(drive=drive, joint=joint)


def test_a_torque_limit_above_the_motors() -> None:
    law = PDController(torque_limit=60, **SOFT)
    assert told("motor-limit", xml(), law, motors="n5020-16") == [
        "robot.knee: torque limit 60 N·m is more than its motor n5020-16 can drive with "
        "(24.8 N·m); torque_limit: 24.8"
    ]
    assert (
        told("motor-limit", xml(), PDController(torque_limit=24.8, **SOFT), motors="n5020-16") == []
    )
    assert told("motor-limit", xml(), PDController(**SOFT), motors="n5020-16") == []  # the default


def test_a_tighter_limit_of_the_model_is_the_one_to_name() -> None:
    law, tight = PDController(torque_limit=60, **SOFT), '<motor joint="knee" forcerange="-9 9"/>'
    assert told("motor-limit", xml(tight), law, motors="n5020-16") == []


def test_its_fix_can_be_applied() -> None:
    world = make_world(xml(), [PDController(torque_limit=60, **SOFT)], motors="n5020-16")
    (finding,) = [f for f in findings(world) if f.kind == "motor-limit"]
    scene = world.scene
    assert isinstance(scene, mjrig.Scene)
    finding.remedies[0].apply(scene)
    law: Any = scene.actors[0].components[0]
    assert law.authored("torque_limit") == 24.8


def test_a_forcerange_above_the_motors() -> None:
    (text,) = told("motor-limit", xml(SERVO.format('forcerange="-90 90"')), motors="n5020-16")
    assert "forcerange ±90 N·m is more than its motor n5020-16 can drive with (24.8 N·m)" in text
    gains = {"forcerange": {"knee": [-50, 50]}}
    (text,) = told("motor-limit", xml(SERVO.format("")), motors="mx-106", native_gains=gains)
    assert "forcerange ±50 N·m" in text
    assert told("motor-limit", xml(SERVO.format("")), motors="mx-106") == []


def test_clamps_that_allow_more() -> None:
    law = PDController(clamps=[DCMotor(300, 50, 30)], **SOFT)
    said = [t.partition(";")[0] for t in told("motor-limit", xml(), law, motors="n5020-16")]
    more = "is more than its motor n5020-16 has"
    assert said == [
        f"robot.knee: the clamp's velocity_limit 50 rad/s {more} (40.13)",
        f"robot.knee: the clamp's max_effort 30 N·m {more} (24.8)",
    ]
    law = PDController(clamps=[DCMotor(300, 50, 30)], **SOFT)
    (finding,) = found(make_world(xml(), [law], motors="n5020-16"), "motor-overridden")
    assert finding.evidence == {"clamp": "DCMotor", "motor": "n5020-16"}


@pytest.mark.parametrize(("kind", "unit"), [("hinge", "kg·m²"), ("slide", "kg")])
def test_an_armature_has_the_unit_of_its_joint(kind: str, unit: str) -> None:
    said = f'type="{kind}" armature="0.5"'
    (text,) = told("motor-armature", xml(joint=said), motors="mx-106")
    assert f"armature 0.5 {unit} was replaced" in text and f" {unit})" in text
    dynamics = {"armature": {"knee": 0.5}}
    (text,) = told("motor-armature", xml(joint=said), motors="mx-106", dynamics=dynamics)
    assert f"dynamics.armature 0.5 {unit} differs" in text and f" {unit})" in text


def test_another_armature() -> None:
    (text,) = told("motor-armature", xml(joint='armature="0.5"'), motors="mx-106")
    assert "the model's armature 0.5 kg·m² was replaced by that of its motor mx-106" in text
    assert told("motor-armature", xml(joint='armature="0.0266"'), motors="mx-106") == []
    assert told("motor-armature", xml(), motors="mx-106") == []
    dynamics = {"armature": {"knee": 0.5}, "frictionloss": {"knee": 1}, "damping": {"knee": 1}}
    (text,) = told("motor-armature", xml(), motors="mx-106", dynamics=dynamics)
    assert "dynamics.armature 0.5 kg·m² differs from that of its motor mx-106" in text
    world = make_world(xml(), [], motors="mx-106", dynamics=dynamics)
    (finding,) = found(world, "motor-overridden")
    assert finding.evidence["attributes"] == ["dynamics.damping", "dynamics.frictionloss"]


def test_a_start_faster_than_the_motor() -> None:
    (text,) = told("motor-speed", xml(), motors="mx-106", joint_velocities={"knee": -9})
    assert "begins at 9 rad/s, faster than its motor mx-106 can drive it (6.58825 rad/s)" in text
    assert told("motor-speed", xml(), motors="mx-106", joint_velocities={"knee": 6}) == []


@pytest.mark.parametrize(("motor", "count"), [("n5020-16", 1), ("mx-106", 0), ("m107-15", 1)])
def test_a_servo_of_mujoco_does_not_follow_a_curve(motor: str, count: int) -> None:
    assert len(told("motor-curve", xml(SERVO.format("")), motors=motor)) == count
    assert told("motor-curve", xml(SERVO.format("")), motors=motor, use_motors=True) == []


def test_without_motors_nothing_is_said() -> None:
    world = make_world(xml(joint='armature="0.5"'), [PDController(torque_limit=900, **SOFT)])
    assert not [f for f in findings(world) if f.kind.startswith("motor")]


@pytest.mark.parametrize("kind", ["hinge", "slide"])
@pytest.mark.parametrize("gear", [1.0, 40.0])
@pytest.mark.parametrize("drive", ["motor", "position"])
def test_every_motor_of_the_library_is_for_hinges(kind: str, gear: float, drive: str) -> None:
    """The gear of an actuator does not make a slide of a hinge: armature is the joint's own."""
    model = xml(f'<{drive} joint="knee" gear="{gear}"/>', f'type="{kind}"')
    for path in sorted(Path("config/motors").glob("*.yaml")):
        said = told("motor-kind", model, motors=path.stem)
        assert len(said) == (kind == "slide"), path
        assert all(f"is a slide, and its motor {path.stem} is rotary" in text for text in said)
        assert all("effort [N·m] as N, speed [rad/s] as m/s" in text for text in said)


@pytest.mark.parametrize(("kind", "fits"), [("slide", True), ("hinge", False)])
def test_a_linear_motor_is_for_slides(tmp_path: Path, kind: str, fits: bool) -> None:
    text = "mjrig_motor: 1\noutput: linear\nline: {saturation_effort: 200, velocity_limit: 0.5}\n"
    (tmp_path / "motors").mkdir()
    (tmp_path / "motors" / "spindle.yaml").write_text(text)
    (tmp_path / "one.xml").write_text(xml(MOTOR, f'type="{kind}"'))
    scene = tmp_path / "one.yaml"
    actor = "{name: robot, model: one.xml, motors: motors/spindle.yaml}"
    scene.write_text(f"mjrig: 1\nactors:\n- {actor}\n")
    said = [str(f) for f in findings(mjrig.World(scene)) if f.kind == "motor-kind"]
    assert len(said) == (not fits)
    assert all("effort [N] as N·m, speed [m/s] as rad/s" in t for t in said)
