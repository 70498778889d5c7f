"""Position actuators as motors under a controller: the same motion, or a warning."""

import logging
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from tests.campaign import Tally
from tests.worlds import arm, make_scene

INTEGRATORS = ("Euler", "implicit", "implicitfast", "discrete", "RK4")


def servo_chain(rng: Random) -> tuple[str, list[float]]:
    """A chain with a position actuator on each joint, and their gears."""
    bodies, servos, gears = "", "", []
    size = rng.randint(1, 4)
    timestep, integrator = rng.choice((0.001, 0.004)), rng.choice(INTEGRATORS)
    for k in range(size):
        limits = rng.choice(("", f'range="{-rng.uniform(0.1, 1):.3f} {rng.uniform(0.1, 1):.3f}"'))
        kind, axis = rng.choice(("hinge", "hinge", "slide")), rng.choice(("0 1 0", "1 0 0"))
        bodies += f"""<body pos="0 0 -0.2"><joint name="j{k}" type="{kind}" axis="{axis}" {limits}
            damping="{rng.choice((0, 0.2))}" armature="0.05"/><geom/>"""
        gears.append(rng.choice((1.0, 1.0, 2.0, -1.0, 0.3, 7.1)))
        kp, kv = rng.uniform(1, 200), rng.choice((0.0, rng.uniform(0, 30)))
        if not integrator.startswith("implicit"):  # a loop that is not stable blows up a last bit
            kp = min(kp, 0.1 * 0.05 / (timestep * gears[-1]) ** 2)
            kv = min(kv, 0.3 * 0.05 / (timestep * gears[-1] ** 2))
        ctrl = rng.choice(("", "", 'ctrlrange="-0.2 0.3"'))
        if limits and gears[-1] > 0 and rng.random() < 0.5:
            ctrl = 'inheritrange="1"'
        if gears[-1] != 1.0 and "inherit" in ctrl:
            ctrl = ""
        force = rng.choice(("", "", 'forcerange="-3 2"', 'forcerange="-4 4"'))
        more = rng.choice(("", "", 'damping="0.1"', 'armature="0.02"', 'group="2"'))
        delay = rng.choice(("", "", "", "", 'delay="0.004" nsample="5"'))
        servos += f"""<position name="a{k}" joint="j{k}" kp="{kp:.4g}"
            kv="{kv:.4g}" gear="{gears[-1]}"
            {ctrl} {force} {more} {delay}/>"""
    option = f'timestep="{timestep}" integrator="{integrator}"'
    return (
        f"""<mujoco><compiler angle="radian" autolimits="true"/><option {option}/>
      <default><geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0"
        conaffinity="0"/></default>
      <worldbody>{bodies}{"</body>" * size}</worldbody>
      <actuator>{servos}</actuator></mujoco>""",
        gears,
    )


@pytest.mark.campaign
def test_motors_move_as_the_servos_did_or_a_warning_says_why_not(
    tally: Tally, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for MuJoCo's own log
    kept = 0
    for rng in tally.cases("use_motors", 20, 20_000):
        xml, gears = servo_chain(rng)
        caplog.clear()
        scene = make_scene({"robot": xml}, str(tmp_path), {}, None)
        before = mjrig.World(scene)
        try:
            scene.actors[0].use_motors()
        except mjrig.BindingError as error:
            if "matches no position actuator" not in str(error) or "delay" not in xml:
                tally.found(f"{error}: {xml}")
            continue
        after = mjrig.World(scene)
        worst = 0.0
        for step in range(60):
            targets = 0.4 * np.sin(0.1 * step + np.arange(len(gears)))
            before["robot"].setpoints.position[:] = targets * gears
            laws = {b.actuator for b in after["robot"].controllers[0].bindings}
            owned = [name in laws for name in after["robot"].setpoints.names]
            after["robot"].setpoints.position[:] = np.where(owned, targets, targets * gears)
            before.step()
            after.step()
            if before.events:
                break
            worst = max(worst, float(np.abs(before.data.qpos - after.data.qpos).max()))
        warned = any("use_motors" in r.message for r in caplog.records)
        kept += not warned
        if worst > 1e-9 and not warned:
            tally.found(f"{worst} rad apart: {xml}")
    assert kept > tally.tried / 4


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_implicit_actuation_is_carried_over(
    integrator: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servo = '<position name="a" joint="shoulder" kp="900" kv="40"/>'
    xml = arm(servo, option=f'integrator="{integrator}"')
    scene = make_scene({"robot": xml}, str(tmp_path), {}, {"timestep": 0.002})
    scene.actors[0].use_motors()
    sim = {"timestep": 0.002}
    if integrator.startswith("impl") or integrator == "discrete":
        sim |= {"actuation": "implicit"}  # type: ignore[dict-item]
    assert scene.sim is not None
    assert scene.sim.to_data() == sim
    assert bool(caplog.records) == (integrator == "RK4")
    without_native = "compiled" if find_spec("numba") else "python"
    assert mjrig.World(scene).execution == ("native" if integrator != "RK4" else without_native)


def test_it_is_not_carried_over_where_it_would_change_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servo = '<position name="a" joint="shoulder" kp="900" kv="40"/>'
    models = {
        "one": arm(option='integrator="implicitfast"'),
        "two": arm(servo, option='integrator="implicitfast"'),
    }
    scene = make_scene(models, str(tmp_path), {"one": {"components": [PDController()]}}, None)
    with caplog.at_level(logging.WARNING):
        scene.actors[1].use_motors()
    assert scene.sim is None
    assert [r.message for r in caplog.records] == [
        "two.use_motors: the integrator took the gains of the position actuators implicitly and "
        "does not do so with the PDController's, which is less stable; sim: {actuation: implicit} "
        "would keep it, and change one.PDController as well"
    ]
