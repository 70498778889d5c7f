"""Mirror images alike, extreme poses found, springs of tendons taken off, modes as they are."""

import math
import random
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from mjrig.tuning.assignment.assign import Wish, assign
from mjrig.tuning.assignment.mirror import mirrored_names
from tests.campaign import Tally
from tests.plugin.tuning.responses.test_delay_margin import chain
from tests.plugin.tuning.scenes import scene, write_scene
from tests.worlds import hinge

SOFT = "{type: PDController, kp: 20, kv: 2, torque_limit: 1000}"
PAIR = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.004" gravity="0 0 0"><flag contact="disable"/></option>
  <worldbody>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="2"/>{left}{right}
    </body>
  </worldbody>
  <actuator>{motors}</actuator>
  <keyframe><key name="asym" qpos="0 0 1 1 0 0 0 0.1 1.2 -0.4 0.2"/></keyframe>
</mujoco>"""


def leg(side: str, y: float, mass: float) -> str:
    return f"""
      <body name="{side}_upper" pos="0 {y} 0">
        <joint name="{side}_hip" axis="0 1 0" range="-2 2" limited="true"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="0.6"/>
        <body name="{side}_lower" pos="0 0 -.3">
          <joint name="{side}_knee" axis="0 1 0" range="-2 2" limited="true"/>
          <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="{mass}"/>
        </body>
      </body>"""


def legs(names: tuple[str, str], masses: tuple[float, float] = (0.4, 0.4)) -> str:
    motors = "".join(
        f'<motor name="{s}_{j}" joint="{s}_{j}"/>' for s in names for j in ("hip", "knee")
    )
    parts = [leg(s, y, m) for s, y, m in zip(names, (0.1, -0.1), masses, strict=True)]
    return PAIR.format(left=parts[0], right=parts[1], motors=motors)


@pytest.mark.parametrize("names", [("left", "right"), ("FL", "FR")])
def test_mirror_images_get_the_same_gains_whatever_the_seed(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    path = write_scene(tmp_path, legs(names), SOFT)
    text = path.read_text().replace("    components", "    keyframe: asym\n    components")
    path.write_text(text)
    for seed in (0, 1):
        plan = assign(path, Wish(12.0, 0.7), poses=1, seed=seed)
        found = {a.row.joint: (a.kp, a.kv) for a in plan.assignments}
        for joint in ("hip", "knee"):
            assert found[f"{names[0]}_{joint}"] == found[f"{names[1]}_{joint}"]


def test_a_name_alone_makes_no_mirror_image(tmp_path: Path) -> None:
    path = write_scene(tmp_path, legs(("left", "right"), (0.4, 0.6)), SOFT)
    plan = assign(path, Wish(1.0), poses=4)
    found = {a.row.joint: a.kp for a in plan.assignments}
    assert found["right_knee"] / found["left_knee"] == pytest.approx(1.5, rel=0.01)


def test_names_of_the_other_side() -> None:
    assert "right_hip" in mirrored_names("left_hip")
    assert "RR_calf" in mirrored_names("RL_calf") and "r_elbow" in mirrored_names("l_elbow")
    assert not mirrored_names("hip")


@pytest.mark.campaign
def test_extreme_inertias_are_found(tmp_path: Path, tally: Tally) -> None:
    """As extreme as in any of many random poses."""
    for rng in tally.cases("extreme inertias", 1, 200):
        links = rng.choice((2, 3, 4))
        xml = bent_chain(rng, links)
        plan = assign(write_scene(tmp_path, xml, SOFT), Wish(1.0), poses=8, seed=rng.randrange(99))
        model = mujoco.MjModel.from_xml_string(xml)
        truth = _sampled(model, rng, 1000)
        for i, a in enumerate(plan.assignments):
            low, high = truth[:, i].min(), truth[:, i].max()
            if a.seen.smallest > 1.01 * low or a.seen.largest < 0.99 * high:
                tally.found(
                    f"joint {i} of {links}: {a.seen.smallest:.4g} to {a.seen.largest:.4g}, "
                    f"but {low:.4g} to {high:.4g}: {xml}"
                )


def bent_chain(rng: random.Random, links: int) -> str:
    """Links with random axes, masses and ranges."""
    text = motors = ""
    for i in reversed(range(links)):
        axis = " ".join(f"{rng.gauss(0, 1):.3f}" for _ in range(3))
        low, high = -rng.uniform(0.5, 3.0), rng.uniform(0.5, 3.0)
        limited = f'range="{low} {high}" limited="true"' if rng.random() < 0.7 else ""
        text = (
            f'<body pos="{0.3 * (i > 0)} 0 0"><joint name="j{i}" axis="{axis}" {limited}/>'
            f'<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="{rng.uniform(0.2, 2)}"/>'
            f"{text}</body>"
        )
        motors = f'<motor name="m{i}" joint="j{i}"/>' + motors
    return (
        '<mujoco><compiler angle="radian"/><option><flag contact="disable"/></option>'
        f"<worldbody>{text}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def _sampled(model: Any, rng: random.Random, count: int) -> Any:
    data, found = mujoco.MjData(model), np.empty((count, model.nv))
    full = np.zeros((model.nv, model.nv))
    for k in range(count):
        for j in range(model.njnt):
            low, high = model.jnt_range[j] if model.jnt_limited[j] else (-math.pi, math.pi)
            data.qpos[j] = rng.choice((low, high, rng.uniform(low, high)))
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fullM(model, data, full)
        found[k] = np.diag(full)
    return found


def test_a_spring_of_a_tendon_is_taken_off(tmp_path: Path) -> None:
    fixed = '<fixed stiffness="5" damping="0.25"><joint joint="swing" coef="2"/></fixed>'
    xml = hinge(joint='stiffness="3"').replace("</mujoco>", f"<tendon>{fixed}</tendon></mujoco>")
    (found,) = assign(scene(tmp_path, xml, SOFT), Wish(4.0, 0.7)).assignments
    omega = 2.0 * math.pi * 4.0
    assert found.kp == pytest.approx(0.5 * omega**2 - 3.0 - 5.0 * 4.0)
    assert found.kv == pytest.approx(2.0 * 0.7 * 0.5 * omega - 0.25 * 4.0)
    assert found.mode is not None
    assert found.mode[0] == pytest.approx(4.0, rel=0.015)
    assert found.mode[1] == pytest.approx(0.7, rel=0.015)


@pytest.mark.parametrize("zeta", [0.3, 0.9])
def test_a_held_law_acts_as_if_faster_by_half_of_zeta_omega_h(tmp_path: Path, zeta: float) -> None:
    (found,) = assign(scene(tmp_path, hinge(), SOFT), Wish(8.0, zeta)).assignments
    more = 0.5 * zeta * 2.0 * math.pi * 8.0 * 0.001
    assert found.mode is not None
    assert found.mode[0] / 8.0 - 1.0 == pytest.approx(more, rel=0.1)
    assert found.mode[1] / zeta - 1.0 == pytest.approx(more, rel=0.1)


def test_the_modes_are_those_of_plain_mujoco_with_all_new_gains(tmp_path: Path) -> None:
    xml = chain(3, 0.1, 0.001)
    plan = assign(write_scene(tmp_path, xml, SOFT), Wish(5.0, 0.5), poses=2)
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    a, b = np.zeros((6, 6)), np.zeros((6, 3))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, a, b, None, None)
    gains = np.array([(p.kp, p.kv) for p in plan.assignments])
    closed = a - b @ np.hstack([np.diag(gains[:, 0]), np.diag(gains[:, 1])])
    rates = np.log(np.linalg.eigvals(closed).astype(complex)) / 0.001
    swinging = np.abs(rates[rates.imag > 1e-6]) / (2.0 * np.pi)
    for p in plan.assignments:
        assert p.mode is not None
        if p.mode[1] < 1.0:
            assert np.abs(swinging / p.mode[0] - 1.0).min() < 1e-3
    # Coupled, the joints are not what they are alone.
    modes = [p.mode[0] for p in plan.assignments if p.mode is not None]
    assert max(modes) / min(modes) > 1.5
