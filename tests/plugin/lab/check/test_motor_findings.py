"""Pre-flight: limits that a named motor cannot give, and values that differ from its own."""

from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.components import DCMotor, PDController
from mjrig.lab.check.preflight import findings
from tests.preflight import SOFT, edits, findings_of, found
from tests.wording import mentions
from tests.worlds import make_world

XML = """<mujoco><worldbody><body><joint name="knee" axis="0 1 0" {joint}/>
<geom size=".1"/></body></worldbody><actuator>{drive}</actuator></mujoco>"""
MOTOR, SERVO = '<motor joint="knee"/>', '<position joint="knee" kp="5" {}/>'


def xml(drive: str = MOTOR, joint: str = "") -> str:
    return XML.format(drive=drive, joint=joint)


def test_a_torque_limit_above_the_motors() -> None:
    law = PDController(torque_limit=60, **SOFT)
    (finding,) = findings_of("motor-limit", xml(), law, motors="n5020-16")
    assert (finding.paths, finding.here) == (["robot.knee"], 60.0)
    assert finding.expected == pytest.approx(24.8)
    assert edits(finding) == ["robot.PDController.torque_limit: patch {knee: 24.8}"]
    assert (
        findings_of(
            "motor-limit", xml(), PDController(torque_limit=24.8, **SOFT), motors="n5020-16"
        )
        == []
    )
    assert (
        findings_of("motor-limit", xml(), PDController(**SOFT), motors="n5020-16") == []
    )  # the default


def test_a_tighter_limit_of_the_model_is_the_one_to_name() -> None:
    law, tight = PDController(torque_limit=60, **SOFT), '<motor joint="knee" forcerange="-9 9"/>'
    assert findings_of("motor-limit", xml(tight), law, motors="n5020-16") == []


def test_its_fix_can_be_applied() -> None:
    world = make_world(xml(), [PDController(torque_limit=60, **SOFT)], motors="n5020-16")
    (finding,) = [f for f in findings(world) if f.kind == "motor-limit"]
    scene = world.scene
    assert isinstance(scene, mjrig.Scene)
    finding.remedies[0].apply(scene)
    law: Any = scene.actors[0].components[0]
    assert law.authored("torque_limit") == 24.8


def test_a_forcerange_above_the_motors() -> None:
    servo = xml(SERVO.format('forcerange="-90 90"'))
    (finding,) = findings_of("motor-limit", servo, motors="n5020-16")
    assert mentions(finding.text, "forcerange ±90 N·m … n5020-16 … (24.8 N·m)")
    gains = {"forcerange": {"knee": [-50, 50]}}
    (finding,) = findings_of(
        "motor-limit", xml(SERVO.format("")), motors="mx-106", native_gains=gains
    )
    assert "forcerange ±50 N·m" in finding.text
    assert findings_of("motor-limit", xml(SERVO.format("")), motors="mx-106") == []


def test_clamps_that_allow_more() -> None:
    law = PDController(clamps=[DCMotor(300, 50, 30)], **SOFT)
    speed, effort = findings_of("motor-limit", xml(), law, motors="n5020-16")
    assert speed.paths == effort.paths == ["robot.knee"]
    assert mentions(speed.text, "velocity_limit 50 rad/s … n5020-16 … (40.13)")
    assert mentions(effort.text, "max_effort 30 N·m … n5020-16 … (24.8)")
    law = PDController(clamps=[DCMotor(300, 50, 30)], **SOFT)
    (finding,) = found(make_world(xml(), [law], motors="n5020-16"), "motor-overridden")
    assert finding.evidence == {"clamp": "DCMotor", "motor": "n5020-16"}


@pytest.mark.parametrize(("kind", "unit"), [("hinge", "kg·m²"), ("slide", "kg")])
def test_an_armature_has_the_unit_of_its_joint(kind: str, unit: str) -> None:
    said = f'type="{kind}" armature="0.5"'
    (finding,) = findings_of("motor-armature", xml(joint=said), motors="mx-106")
    assert mentions(finding.text, f"armature 0.5 {unit} … {unit})")
    dynamics = {"armature": {"knee": 0.5}}
    (finding,) = findings_of("motor-armature", xml(joint=said), motors="mx-106", dynamics=dynamics)
    assert mentions(finding.text, f"dynamics.armature 0.5 {unit} … {unit})")


def test_another_armature() -> None:
    (finding,) = findings_of("motor-armature", xml(joint='armature="0.5"'), motors="mx-106")
    assert mentions(finding.text, "the model's armature 0.5 kg·m² … mx-106")
    assert findings_of("motor-armature", xml(joint='armature="0.0266"'), motors="mx-106") == []
    assert findings_of("motor-armature", xml(), motors="mx-106") == []
    dynamics = {"armature": {"knee": 0.5}, "frictionloss": {"knee": 1}, "damping": {"knee": 1}}
    (finding,) = findings_of("motor-armature", xml(), motors="mx-106", dynamics=dynamics)
    assert mentions(finding.text, "dynamics.armature 0.5 kg·m² … mx-106")
    world = make_world(xml(), [], motors="mx-106", dynamics=dynamics)
    (finding,) = found(world, "motor-overridden")
    assert finding.evidence["attributes"] == ["dynamics.damping", "dynamics.frictionloss"]


def test_a_start_faster_than_the_motor() -> None:
    (finding,) = findings_of("motor-speed", xml(), motors="mx-106", joint_velocities={"knee": -9})
    assert (finding.here, finding.evidence["motor"]) == (9.0, "mx-106")
    assert finding.expected == pytest.approx(6.58825)
    assert findings_of("motor-speed", xml(), motors="mx-106", joint_velocities={"knee": 6}) == []


@pytest.mark.parametrize(("motor", "count"), [("n5020-16", 1), ("mx-106", 0), ("m107-15", 1)])
def test_a_servo_of_mujoco_does_not_follow_a_curve(motor: str, count: int) -> None:
    assert len(findings_of("motor-curve", xml(SERVO.format("")), motors=motor)) == count
    assert findings_of("motor-curve", xml(SERVO.format("")), motors=motor, use_motors=True) == []


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
        about = findings_of("motor-kind", model, motors=path.stem)
        assert len(about) == (kind == "slide"), path
        for finding in about:
            assert (finding.here, finding.expected) == ("rotary", "linear")
            assert finding.evidence["motor"] == path.stem
            read_as = finding.evidence["read_as"]
            assert read_as[:2] == ["effort [N·m] as N", "speed [rad/s] as m/s"]


@pytest.mark.parametrize(("kind", "fits"), [("slide", True), ("hinge", False)])
def test_a_linear_motor_is_for_slides(tmp_path: Path, kind: str, fits: bool) -> None:
    text = "mjrig_motor: 1\noutput: linear\nline: {saturation_effort: 200, velocity_limit: 0.5}\n"
    (tmp_path / "motors").mkdir()
    (tmp_path / "motors" / "spindle.yaml").write_text(text)
    (tmp_path / "one.xml").write_text(xml(MOTOR, f'type="{kind}"'))
    scene = tmp_path / "one.yaml"
    actor = "{name: robot, model: one.xml, motors: motors/spindle.yaml}"
    scene.write_text(f"mjrig: 1\nactors:\n- {actor}\n")
    about = found(mjrig.World(scene), "motor-kind")
    assert len(about) == (not fits)
    for finding in about:
        assert (finding.here, finding.expected) == ("linear", "rotary")
        read_as = finding.evidence["read_as"]
        assert read_as[:2] == ["effort [N] as N·m", "speed [m/s] as rad/s"]
