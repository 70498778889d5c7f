"""Mirror images alike, extreme poses found, springs of tendons taken off, modes as they are."""

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.lab.gains.assignment import Wish, assign, assign_report, mirrored_names
from mjrig.lab.gains.pose_sampling import SampledPoses
from mjrig.lab.rollouts.actuator_selection import Chosen
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.lab.responses.test_delay_margin import chain
from tests.plugin.lab.scenes import scene, write_scene
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
    kept = []
    for seed in (0, 1):
        plan = assign(path, Wish(12.0, 0.7), poses=1, seed=seed)
        found = {a.row.joint: (a.kp, a.kv) for a in plan.assignments}
        kept.append([found[a.row.joint] for a in plan.assignments])
        for joint in ("hip", "knee"):
            assert found[f"{names[0]}_{joint}"] == found[f"{names[1]}_{joint}"]
    np.testing.assert_allclose(kept[0], kept[1], rtol=0.01)


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


@pytest.mark.campaign
def test_gains_are_stable_in_every_pose_and_the_same_for_every_seed(
    tmp_path: Path, tally: Tally
) -> None:
    """Nearly twice the gains are stable in plain MuJoCo, in random poses and at joint limits."""
    for rng in tally.cases("gains in random poses", 1, 100):
        xml = bent_chain(rng, rng.choice((2, 3, 4)) if CAMPAIGN else 2)
        xml = xml.replace("<option>", '<option timestep="0.004" gravity="0 0 0">')
        xml = xml.replace("<joint ", '<joint armature="0.01" ')
        path = write_scene(tmp_path, xml, SOFT)
        wish = Wish(rng.uniform(10, 25), rng.uniform(0.5, 1))
        poses = 32 if CAMPAIGN else 8
        plans = [assign(path, wish, poses=poses, seed=rng.randrange(99)) for _ in range(2)]
        one, two = (np.array([(a.kp, a.kv) for a in p.assignments]) for p in plans)
        # A check pose that is worse than all that the search found lowers the gains of its seed: by
        # the width of what lies between two poses of a search, some percent.
        if not np.allclose(one, two, rtol=0.05):
            tally.found(f"seeds differ by {np.abs(two / one - 1.0).max():.3f}: {xml}")
        model = mujoco.MjModel.from_xml_string(xml)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        for growth in _growth(model, rng, 1.9 * one, 200 if CAMPAIGN else 20):
            if growth > 1.0 + 1e-6:
                tally.found(f"grows by {growth} a step: {xml}")
                break


def _growth(model: Any, rng: random.Random, gains: Any, count: int) -> Iterator[float]:
    """Spectral radius of a step of plain MuJoCo under PD, pose by pose."""
    data, n = mujoco.MjData(model), model.nv
    a, b = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    law = np.hstack([np.diag(gains[:, 0]), np.diag(gains[:, 1])])
    for _ in range(count):
        mujoco.mj_resetData(model, data)
        data.qpos[:] = _pose(model, rng)
        mujoco.mjd_transitionFD(model, data, 1e-6, True, a, b, None, None)
        yield float(np.abs(np.linalg.eigvals(a - b @ law)).max())


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
        data.qpos[:] = _pose(model, rng)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fullM(model, data, full)
        found[k] = np.diag(full)
    return found


def _pose(model: Any, rng: random.Random) -> list[float]:
    """Joints within their ranges, many of them at an end."""
    turn = (-math.pi, math.pi)
    ends = [model.jnt_range[j] if model.jnt_limited[j] else turn for j in range(model.njnt)]
    return [rng.choice((low, high, rng.uniform(low, high))) for low, high in ends]


def test_a_spring_of_a_tendon_is_taken_off(tmp_path: Path) -> None:
    fixed = '<fixed stiffness="5" damping="0.25"><joint joint="swing" coef="2"/></fixed>'
    xml = hinge(joint='stiffness="3"').replace("</mujoco>", f"<tendon>{fixed}</tendon></mujoco>")
    (found,) = assign(scene(tmp_path, xml, SOFT), Wish(4.0, 0.7)).assignments
    omega = 2.0 * math.pi * 4.0
    assert found.kp == pytest.approx(0.5 * omega**2 - 3.0 - 5.0 * 4.0)
    assert found.kv == pytest.approx(2.0 * 0.7 * 0.5 * omega - 0.25 * 4.0)
    assert found.mode is not None
    assert found.mode.frequency == pytest.approx(4.0, rel=0.015)
    assert found.mode.damping == pytest.approx(0.7, rel=0.015)


@pytest.mark.parametrize("zeta", [0.3, 0.9])
def test_a_held_law_acts_as_if_faster_by_half_of_zeta_omega_h(tmp_path: Path, zeta: float) -> None:
    (found,) = assign(scene(tmp_path, hinge(), SOFT), Wish(8.0, zeta)).assignments
    more = 0.5 * zeta * 2.0 * math.pi * 8.0 * 0.001
    assert found.mode is not None
    assert found.mode.frequency / 8.0 - 1.0 == pytest.approx(more, rel=0.1)
    assert found.mode.damping / zeta - 1.0 == pytest.approx(more, rel=0.1)


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
        if p.mode.damping < 1.0:
            assert np.abs(swinging / p.mode.frequency - 1.0).min() < 1e-3
    # Coupled, the joints are not what they are alone.
    modes = [p.mode.frequency for p in plan.assignments if p.mode is not None]
    assert max(modes) / min(modes) > 1.5


@pytest.mark.campaign
def test_the_mode_is_the_one_that_a_step_in_plain_mujoco_shows(
    tmp_path: Path, tally: Tally
) -> None:
    """The map of a step is identified from simulated steps, nothing is linearised."""
    for rng in tally.cases("modes of a step response", 3, 300):
        links, h = rng.choice((2, 3, 4)), 0.001
        xml = bent_chain(rng, links).replace("<option>", f'<option timestep="{h}" gravity="0 0 0">')
        wish = Wish(rng.uniform(2, 8), rng.uniform(0.2, 0.6))
        plan = assign(write_scene(tmp_path, xml, SOFT), wish, poses=0)
        gains = np.array([(a.kp, a.kv) for a in plan.assignments])
        values, vectors = np.linalg.eig(_identified(xml, gains))
        for j, a in enumerate(plan.assignments):
            start = np.zeros(2 * links)
            start[j] = -1.0  # a step of the target, seen from there
            residues = vectors[j] * np.linalg.solve(vectors, start)
            rates = np.log(values) / h
            time = np.linspace(0.0, 0.5, 500)[:, None]
            size = np.abs(2.0 * (residues * np.exp(rates * time)).real).max(axis=0)
            size[rates.imag < 0.0] = 0.0
            first, second = np.argsort(-size)[:2]
            if abs(rates[first].imag) < 1.0 or size[second] > 0.7 * size[first]:
                continue
            assert a.mode is not None
            shown = abs(rates[first]) / (2.0 * math.pi)
            if abs(a.mode.frequency / shown - 1.0) > 0.01:
                tally.found(f"joint {j}: {a.mode.frequency:.4g} Hz, but {shown:.4g}: {xml}")


def _identified(xml: str, gains: Any) -> Any:
    """The map of a step under PD towards 0 of plain MuJoCo, from motions that begin elsewhere."""
    model = mujoco.MjModel.from_xml_string(xml)
    data, n = mujoco.MjData(model), model.nv
    before, after = [], []
    for k in range(2 * n):
        mujoco.mj_resetData(model, data)
        (data.qpos if k < n else data.qvel)[k % n] = 1e-5
        for _ in range(20):
            data.ctrl[:] = -gains[:, 0] * data.qpos - gains[:, 1] * data.qvel
            before.append(np.concatenate([data.qpos, data.qvel]))
            mujoco.mj_step(model, data)
            after.append(np.concatenate([data.qpos, data.qvel]))
    return np.linalg.lstsq(np.array(before), np.array(after), rcond=None)[0].T


def test_a_joint_on_a_soft_one_shows_the_frequency_it_has_then(tmp_path: Path) -> None:
    """As a knee below a hip that stability keeps soft: it moves less inertia than M."""
    path = write_scene(tmp_path, legs(("left", "right")), SOFT)
    hips = "{type: PDController, kp: 1, kv: 0.1, torque_limit: 1000}"
    path.write_text(path.read_text().replace(SOFT, hips))
    plan = assign(path, Wish(5.0, 0.5), joint=".*_knee", poses=0)
    for found in plan.assignments:
        assert found.mode is not None
        assert found.mode.frequency > 6.0


@pytest.mark.parametrize("active", [True, False])
def test_equality_constraints_are_said_to_be_left_out(tmp_path: Path, active: bool) -> None:
    on = str(active).lower()
    tie = f'<equality><joint name="tie" joint1="j0" joint2="j1" active="{on}"/></equality>'
    xml = bent_chain(random.Random(1), 2).replace("</mujoco>", f"{tie}</mujoco>")
    plan = assign(write_scene(tmp_path, xml, SOFT), Wish(2.0), poses=0)
    expected = ["robot: an equality constraint (tie): left out of M, Hz, ζ and the stability bound"]
    assert [note.split(";")[0] for note in plan.notes] == expected * active
    assert ("left out of M" in assign_report(plan)) is active


#: An arm whose elbow is nearly as unstable turned one way as turned the other.
ELBOW = """
<mujoco><compiler angle="radian"/><option timestep="0.004" gravity="0 0 0"/><worldbody><body>
  <joint name="j0" axis="0.521 -0.125 -1.161" armature="0.01"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="0.56"/><body pos="0.3 0 0">
    <joint name="j1" axis="1.235 1.338 0.330" armature="0.01"/>
    <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1.62"/>
  </body></body></worldbody>
  <actuator><motor name="m0" joint="j0"/><motor name="m1" joint="j1"/></actuator></mujoco>"""


def test_poses_nearly_as_unstable_as_the_worst_are_searched_for_too(tmp_path: Path) -> None:
    world = mjrig.World(write_scene(tmp_path, ELBOW, SOFT), execution="python")
    (robot,) = world.articulations.values()
    chosen = [Chosen(robot, robot.controllers[0], index) for index in range(2)]
    poses = SampledPoses(world, 8, 0)
    found = poses.strained(chosen, np.array([18.4, 3.25]))
    coupling = [group.plant.mass[0, 1] for group in found]
    assert min(coupling) < -0.05 and max(coupling) > 0.05
