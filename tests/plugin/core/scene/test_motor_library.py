"""The library of motors: its numbers, its names, files of one's own, and what is wrong in them."""

import math
from pathlib import Path

import pytest

from mjrig.cli.schema import motor_schema
from mjrig.core.errors import MotorError, PropertyError
from mjrig.core.files.sandbox import Sandbox
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.motor_file import (
    COEFFICIENTS,
    FrictionLaw,
    MotorFile,
    bundled,
    choices,
    find_motor,
)
from tests.wording import regex

jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

HOLDER = HasProperties()
#: K [N·m/rad], L [N·m], kt²/R, Kv, Kc, armature, no-load speed [rad/s] of voltage servos with M1.
SERVOS = {
    "mx-64": (31.156, 5.931, 0.6665, 0.01169, 0.09039, 0.011951, 8.90),
    "mx-106": (56.052, 10.671, 1.6196, 0.03520, 0.10352, 0.026609, 6.59),
    "xl-320": (0.336, 0.208, 0.0274, 0.00332, 0.02751, 0.001119, 7.60),
    "xl330-288": (0.831, 0.722, 0.0372, 0.00366, 0.01283, 0.001814, 19.40),
    "sts3215": (17.797, 3.250, 0.5486, 0.05909, 0.05239, 0.028403, 5.92),
}
#: Stall effort of the DC line with the same driving quadrant.
STALLS = {"n7520-14.3": 195.65, "n7520-22.5": 307.28, "n5020-16": 107.36, "w4010-25": 12.56,
          "go2hv": 36.73}  # fmt: skip


def rounded_like(value: float, shown: float) -> bool:
    """Whether a value is a shown one to the digits that were shown (4 or so)."""
    return math.isclose(value, shown, rel_tol=2e-3, abs_tol=1e-9)


@pytest.mark.parametrize("name", SERVOS)
def test_voltage_servos_have_their_native_form(name: str) -> None:
    motor = find_motor(name, HOLDER)
    form, line = motor.servo, motor.line
    assert form is not None
    assert line is not None
    found = (form.stiffness, form.limit, form.damping, motor.fit.viscous, motor.fit.coulomb,
             motor.fit.armature, line.velocity_limit)  # fmt: skip
    assert all(
        value is not None and rounded_like(value, shown)
        for value, shown in zip(found, SERVOS[name], strict=True)
    ), found


@pytest.mark.parametrize("name", STALLS)
def test_curves_have_the_known_stall_efforts(name: str) -> None:
    curve = find_motor(name, HOLDER).curve
    assert curve is not None
    assert curve.x1 is not None
    assert curve.x2 is not None
    assert curve.y1 is not None
    assert rounded_like(curve.y1 * curve.x2 / (curve.x2 - curve.x1), STALLS[name])


def test_every_bundled_motor_is_complete() -> None:
    assert len(bundled()) >= 15
    schema = motor_schema()
    for name, path in bundled().items():
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        jsonschema.validate(data, schema)
        motor = find_motor(name, HOLDER)
        assert motor.file.title
        assert motor.file.sources
        assert math.isfinite(motor.peak)
        for fit in motor.file.fits[1:]:
            given = {n for n in COEFFICIENTS[fit.law] if fit.is_authored(n)}
            assert given == set(COEFFICIENTS[fit.law]), (name, fit.law)
            assert find_motor(f"{name}:{fit.law}", HOLDER).law is fit.law
    assert {"mx-106", "mx-106:m4", "mx-106:m6", "sts3215"} <= set(choices())


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("MX106", "mx-106"),
        ("mx_106", "mx-106"),
        ("eRob80:50", "erob80-50"),
        ("STS 3215", "sts3215"),
        ("N7520-22.5", "n7520-22.5"),
        ("XL330-288", "xl330-288"),
    ],
)
def test_spelling_does_not_matter(spelled: str, name: str) -> None:
    assert find_motor(spelled, HOLDER).file is find_motor(name, HOLDER).file
    assert find_motor(spelled, HOLDER).law is FrictionLaw.M1


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("mx-107", "there is no motor 'mx-107'; did you mean 'mx-10?6'|'mx-106'"),
        ("sts3251", "did you mean 'sts3215'"),
        ("mx-106:m9", "the motor 'mx-106' has no fit 'm9'; it has m1, m4, m6"),
        ("flux capacitor", "there is no motor 'flux capacitor'; available: anydrive-3"),
        ("sts3215:m6", "the motor 'sts3215' has no fit 'm6'; it has m1"),
        ("go2hv:m1", "the motor 'go2hv' has no fit 'm1'; it has none"),
        ("own.yaml", "there is no file"),
    ],
)
def test_a_wrong_name_is_told_the_nearest(name: str, problem: str) -> None:
    with pytest.raises(PropertyError, match=problem):
        find_motor(name, HOLDER)


OWN = """mjrig_motor: 1
title: mine
curve: {x1: 5, x2: 9, y1: 2, y2: 3}
fits:
  - {law: m1, armature: 0.01, coulomb: 0.2, viscous: 0.1}
  - {law: m2, coulomb: 0.2, viscous: 0.1, stribeck: 0.3, stribeck_velocity: 2}
"""


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    motor = find_motor(f"{path}:m2", HOLDER)
    assert motor.law is FrictionLaw.M2
    assert (motor.peak, motor.top_speed, motor.fit.stribeck) == (2.0, 9.0, 0.3)
    assert motor.servo is None
    again = MotorFile.parse(yaml.safe_dump(motor.file.to_data()), path)
    assert again.to_data() == motor.file.to_data()


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("mjrig_motor: 1\n", "", "1:1: is not a motor's …"),
        ("mjrig_motor: 1", "mjrig_motor: 2", "1:14: mjrig_motor: is format 2"),
        ("x2: 9", "x2: 5", "3:20: curve.x2: …must be above x1 (5), got 5"),
        ("y2: 3", "y3: 3", "y3"),
        (", y2: 3", "", "3:8: curve: …needs y2"),
        ("coulomb: 0.2, viscous: 0.1}", "coulomb: -1}", "fits[0].coulomb: must be >= 0"),
        ("law: m2, coulomb", "law: m1, coulomb", "stribeck…: law m1 has none"),
        ("law: m1", "law: m7", "must be one of m1, m2, m3, m4, m5, m6; … 'm7'"),
        ("title: mine", "title: mine\nline: {saturation_effort: 1, velocity_limit: 2}",
         "has curve, line; give one"),
        ("title: mine", "title: [", "own.yaml:4:1: not valid YAML"),
        ("title: mine", "drive: {kind: steam}", "must be one of … 'steam'"),
        ("law: m2, coulomb: 0.2, viscous: 0.1, stribeck: 0.3, stribeck_velocity: 2",
         "law: m1, armature: 1", "law m1 is given twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_told_with_its_place(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    path = tmp_path / "own.yaml"
    assert before in OWN
    path.write_text(OWN.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(MotorError, match=regex(problem)) as caught:
        MotorFile.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(MotorError, match=regex("cannot be read: Is a …")):
        MotorFile.load(tmp_path)
    (tmp_path / "own.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MotorError, match="cannot be read"):
        MotorFile.load(tmp_path / "own.yaml")


def test_files_go_through_the_sandbox(tmp_path: Path) -> None:
    inside, outside = tmp_path / "scene", tmp_path / "elsewhere"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "own.yaml").write_text(OWN, encoding="utf-8")
    actor = ActorDescription.blank()
    actor._base, actor._gate = inside, Sandbox.at(inside)
    assert find_motor("own.yaml", actor).peak == 2.0
    assert find_motor("mx-106", actor).file.title
    with pytest.raises(PropertyError, match=r"sandbox|outside"):
        find_motor("../elsewhere/own.yaml", actor)
