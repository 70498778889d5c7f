"""Numbers of a fit have the units of their joints, in text, JSON, HTML and plots."""

import json
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.lab.fit.estimates import Correlations, Estimate
from mjrig.lab.fit.identifiability import too_little
from mjrig.lab.fit.plant import OF_JOINTS, drives_of
from mjrig.lab.fit.report import correlation_matrix, interval_figures, magnified
from mjrig.lab.report.svg import intervals_svg
from tests.plugin.lab.fit.fit_worlds import chirp, swing, taken, with_others

#: What parameters are, of a force F, a length or an angle x, and a mass or an inertia I.
MADE_OF = {
    "kp": "F/x", "kv": "F·s/x", "damping": "F·s/x", "armature": "I", "frictionloss": "F",
    "torque_limit": "F", "encoder_offset": "x", "delay": "steps", "feedback_delay": "steps",
    "torque_gain": "",
}  # fmt: skip
OF_KIND = {
    "hinge": {"F": "N·m", "x": "rad", "I": "kg·m²"},
    "slide": {"F": "N", "x": "m", "I": "kg"},
}


def unit(parameter: str, kind: str) -> str:
    letters = OF_KIND[kind]
    return "".join(letters.get(letter, letter) for letter in MADE_OF[parameter])


def chain(kinds: list[str]) -> str:
    """A robot with such joints, one on the other, each with a motor."""
    bodies = "".join(
        f'<body><joint name="j{k}" type="{kind}" axis="0 1 0" damping="0.5" armature="0.1"/>'
        '<geom size="0.05" pos="0 0 -0.2" mass="0.5" contype="0"/>'
        for k, kind in enumerate(kinds)
    )
    motors = "".join(f'<motor name="j{k}" joint="j{k}"/>' for k in range(len(kinds)))
    return (
        f'<mujoco><option timestep="0.002"/><worldbody>{bodies}{"</body>" * len(kinds)}'
        f"</worldbody><actuator>{motors}</actuator></mujoco>"
    )


@pytest.mark.parametrize("seed", range(6))
def test_units_follow_the_kinds_of_joints(tmp_path: Path, seed: int) -> None:
    kinds = np.random.default_rng(seed).choice(["hinge", "slide"], 4).tolist()
    world = mjrig.World(swing(tmp_path, model=chain(kinds)))
    drives = drives_of(world, "robot")
    for place, kind in enumerate(kinds):
        for name in OF_JOINTS:
            found = Estimate.of(drives, place, name, 1.0, 1.0, 1.0, 1.0)
            assert found.unit == drives.unit(name, place) == unit(name, kind)


def test_reports_say_the_unit_of_each_joint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = swing(tmp_path, model=chain(["slide", "hinge"]))
    world = mjrig.World(with_others(scene, {"robot.PDController.kp": 35.0}))
    taken(world, tmp_path, chirp(0.2, 0.5, 4.0, 2.2), 1100)
    scene.save(tmp_path / "scene.yaml")
    names = "kp,kv,torque_limit"
    files = [str(tmp_path / "scene.yaml"), str(tmp_path / "walk.h5")]
    command = ["tune", "fit", *files, "--parameters", names, "--report", str(tmp_path / "out")]
    assert main(command) == 0
    said = capsys.readouterr().out
    data = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    kinds = {"j0": "slide", "j1": "hinge"}
    for one in data["estimates"]:
        assert one["unit"] == unit(one["parameter"], kinds[one["joint"]])
        (row,) = (s for s in said.splitlines() if s.split()[:2] == [one["joint"], one["parameter"]])
        assert row.split()[6] == one["unit"]
    assert [c["units"] for c in data["curves"]] == [["m", "rad"]] * len(data["curves"])
    assert data["units"]["position"] == {"j0": "m", "j1": "rad"}
    for joint, kind in kinds.items():
        limit = next(s for s in said.splitlines() if s.startswith(f"  {joint} ") and "never" in s)
        assert f" {unit('torque_limit', kind)};" in limit
    errors = next(line for line in said.splitlines() if line.startswith("  largest rms"))
    assert "now [m]" in errors and "now [rad]" in errors
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for shown in ("j0 [m]", "j1 [rad]", '<td class="l">N/m</td>', "kp [N·m/rad]", "kp [N/m]"):
        assert shown in page
    assert page.count('<rect class="span"') == 4  # two joints, motion and what is left


# Figures ----------------------------------------------------------------------------------------


def test_what_is_left_is_magnified_by_powers_of_ten() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        before, factor = rng.normal(size=40), 10.0 ** rng.uniform(-9, 1)
        times = magnified(before, factor * before)
        assert times in (1, 10, 100, 1000)
        assert times * factor <= 1.0 or times == 1
        assert times == 1000 or 10 * times * factor > 1.0 - 1e-12
    assert magnified(np.zeros(3), np.zeros(3)) == 1


def test_intervals_are_drawn_inside_whatever_they_are() -> None:
    rng = np.random.default_rng(1)
    ends = [0.0, 1e-15, 1.0, 1e6, np.inf, np.nan]
    for _ in range(60):
        own = []
        for k in range(int(rng.integers(1, 13))):
            value, old = (float(v) for v in rng.choice(ends[:4], 2))
            low, high = (float(v) for v in rng.choice(ends, 2))
            own.append(Estimate(f"j{k}", "a", "kp", value, old, min(low, high), high, k % 3 > 0))
        own.append(Estimate("last", "a", "kp", 2.0, 2.0, 2.0, 2.0))
        (figure,) = map(intervals_svg, interval_figures(own))
        assert figure.count("<circle") == sum(e.identifiable for e in own)
        assert "nan" not in figure.split("<title>")[0]
        assert all(e.joint in figure for e in own)


def test_a_matrix_is_ordered_by_joints() -> None:
    labels = tuple(f"{name} j{k}" for name in ("kp", "kv", "armature") for k in range(3))
    matrix = np.eye(9)
    figure = correlation_matrix(Correlations(labels, matrix))
    assert figure is not None
    names = [f"j{k} {name}" for k in range(3) for name in ("kp", "kv", "armature")]
    assert list(figure.labels) == names
    many = Correlations(tuple(f"kp j{k}" for k in range(91)), np.eye(91))
    assert correlation_matrix(many) is None


def test_an_interval_is_said_in_units_and_never_as_a_share() -> None:
    for share in np.geomspace(0.5, 1e6, 30):
        said = too_little(share, 0.0, 40.0, "N·s/m")
        assert "%" not in said
        assert ("0 to 40 N·s/m" in said) == (share <= 1e3)
