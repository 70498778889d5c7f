"""The affine form of pid actuators: in MuJoCo it has their bits, and the torque of the law."""

import random
from typing import Any

import mujoco
import numpy as np
import pytest

from mjrig.core.control.lowering import FF, POS, VEL, delay_seconds
from mjrig.core.sim.warp_batch import AffineServos, turns_without_end
from tests.campaign import Tally

INTEGRATORS = ("Euler", "implicitfast", "implicit", "RK4", "discrete")
WORLDS = 2
#: Unlike the others: of a servo on a ball joint or with a reference site MuJoCo takes the position
#: error to the nearest turn. With kp = 1 and no position input, one that is none may look like it.
SPECIAL = """
  <body pos="0 2 0"><joint name="ball" type="ball"/><geom type="box" size=".1 .2 .3"/>
    <site name="moving"/></body>
  <site name="still" pos="0 2 0"/>
"""


def random_model(rng: random.Random) -> tuple[Any, list[int]]:
    """A chain of joints with one pid each, and the delay of each in steps."""
    timestep = rng.choice((0.001, 0.002, 0.005))
    links, ends = "", ""
    count = rng.randint(1, 4)
    for i in range(count):
        kind = rng.choice(("hinge", "hinge", "slide"))
        most = f'actuatorfrcrange="-{rng.uniform(1, 9)} 5"' if rng.random() < 0.3 else ""
        links += (
            f'<body pos="0.2 0 0"><joint name="j{i}" type="{kind}" axis="0 1 {rng.choice((0, 1))}" '
            f'damping="{rng.choice((0, 0.1))}" armature="{rng.choice((0, 0.01))}" {most}/>'
            '<geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/>'
        )
        ends += "</body>"
    motors = "".join(
        f'<motor name="a{i}" joint="j{i}" gear="{rng.choice((1, -1, 2.5, -7, 0.3))}"/>'
        for i in range(count)
    )
    motors += '<motor name="ball" joint="ball" gear="0 1 0"/>'
    motors += '<motor name="site" site="moving" refsite="still" gear="0 0 0 1 0 0"/>'
    spec = mujoco.MjSpec.from_string(
        f'<mujoco><option timestep="{timestep}" integrator="{rng.choice(INTEGRATORS)}">'
        '<flag contact="disable"/></option>'
        f"<worldbody>{links}{ends}{SPECIAL}</worldbody><actuator>{motors}</actuator></mujoco>"
    )
    lags = []
    for actuator in spec.actuators:
        inputs = rng.choice((POS, POS | VEL, POS | VEL | FF, POS | FF, VEL | FF, VEL, FF))
        kp = rng.choice((1.0, 0.0, rng.uniform(1, 90)))
        if actuator.name in ("ball", "site"):
            inputs, kp = rng.choice((VEL | FF, VEL, FF)), 1.0
        actuator.set_to_pid(kp=kp, kv=rng.uniform(0, 2), ki=-1.0, ctrlspec=inputs)
        if rng.random() < 0.7:
            actuator.forcelimited = 1
            actuator.forcerange = [-rng.uniform(0.5, 5), rng.uniform(0.5, 5)]
        if rng.random() < 0.3:
            actuator.ctrllimited = 1
            actuator.ctrlrange = [-0.4, 0.3]
        lags.append(rng.choice((0, 0, 1, 3, 6)))
        if lags[-1]:
            actuator.delay = delay_seconds(lags[-1], timestep)
            actuator.nsample, actuator.interp = lags[-1] + 1, 0
    return spec.compile(), lags


@pytest.mark.campaign
def test_the_affine_form_has_the_bits_of_the_pid(tally: Tally) -> None:
    for rng in tally.cases("affine servos", 30, 3000):
        model, _ = random_model(rng)
        servos = AffineServos(model)
        twin, numbers = servos.twin(), np.random.default_rng(rng.randrange(2**32))
        pairs = [(mujoco.MjData(model), mujoco.MjData(twin)) for _ in range(WORLDS)]
        offsets = numbers.uniform(-3, 3, (WORLDS, int(model.nu)))
        for data, other in pairs:
            data.qpos[:] += 0.3  # the ball as well: it is normalised
            other.qpos[:] = data.qpos
        for k in range(80):
            ctrl = offsets + np.sin(0.05 * k) + 0.1 * numbers.normal(size=offsets.shape)
            folded = servos.fold(ctrl, np.asarray(model.actuator_biasprm)[None])
            for (data, other), given, own in zip(pairs, ctrl, folded, strict=True):
                data.ctrl[:], other.ctrl[:] = given, own
                mujoco.mj_step(model, data)
                mujoco.mj_step(twin, other)
                for field in ("qpos", "qvel", "actuator_force", "qfrc_actuator"):
                    ours, theirs = getattr(other, field), getattr(data, field)
                    if not np.array_equal(ours, theirs):
                        tally.found(f"{field}, step {k}: {np.abs(ours - theirs).max()}")
                        break
        if not np.isfinite(pairs[0][0].qpos).all():
            tally.found("diverged: shows nothing")


@pytest.mark.campaign
def test_the_force_is_that_of_the_law(tally: Tally) -> None:
    """kp·(q* − q) + kv·(v* − v) + feedforward, cut at the limits, of commands some steps ago."""
    cut = 0
    for rng in tally.cases("affine servos against the law", 12, 1000):
        model, lags = random_model(rng)
        model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_EULER)
        servos, numbers = AffineServos(model), np.random.default_rng(rng.randrange(2**32))
        twin, bias = servos.twin(), np.asarray(model.actuator_biasprm)
        data, given = mujoco.MjData(twin), []
        for k in range(60):
            given.append(numbers.uniform(-0.5, 0.5, int(model.nu)) + np.sin(0.1 * k))
            data.ctrl[:] = servos.fold(given[-1][None], bias[None])[0]
            mujoco.mj_step(twin, data)
            for i, lag in enumerate(lags):
                acts = given[k - lag] if k >= lag else np.zeros(int(model.nu))
                wanted = _law(model, i, acts, data.actuator_length[i], data.actuator_velocity[i])
                cut += wanted in model.actuator_forcerange[i]
                if abs(wanted - data.actuator_force[i]) > 1e-12 * (1.0 + abs(wanted)):
                    tally.found(f"step {k}, actuator {i}: {data.actuator_force[i]}, not {wanted}")
    assert cut > 100


def test_servos_that_turn_without_end_are_found() -> None:
    """They are those whose force stays when the command is a turn further."""
    for inputs in (POS, POS | VEL | FF, VEL | FF):
        xml = '<motor name="hinge" joint="hinge"/><motor name="ball" joint="ball" gear="0 1 0"/>'
        xml += '<motor name="site" site="moving" refsite="still" gear="0 0 0 1 0 0"/>'
        xml += '<motor name="moved" site="moving" refsite="still" gear="1 0 0 1 0 0"/>'
        hinge = '<body><joint name="hinge"/><geom size=".1"/></body>'
        spec = mujoco.MjSpec.from_string(
            f"<mujoco><worldbody>{hinge}{SPECIAL}</worldbody><actuator>{xml}</actuator></mujoco>"
        )
        for actuator in spec.actuators:
            actuator.set_to_pid(kp=5.0, kv=1.0, ki=-1.0, ctrlspec=inputs)
        model = spec.compile()
        forces = []
        for turn in (0.0, 2.0 * np.pi):
            data = mujoco.MjData(model)
            if inputs & POS:
                data.ctrl[np.asarray(model.actuator_ctrladr)] = 0.1 + turn
            mujoco.mj_forward(model, data)
            forces.append(data.actuator_force.copy())
        same = np.isclose(*forces) & bool(inputs & POS)
        found = [turns_without_end(model, i) for i in range(int(model.nactuator))]
        assert found == same.tolist()
        assert sum(found) == (2 if inputs & POS else 0)


def _law(model: Any, i: int, ctrl: Any, length: float, velocity: float) -> float:
    first, target = int(model.actuator_ctrladr[i]), {POS: 0.0, VEL: 0.0, FF: 0.0}
    has = [bit for bit in target if int(model.actuator_ctrlspec[i]) & bit]
    for place, bit in enumerate(has, first):
        value = float(ctrl[place])
        if model.actuator_ctrllimited[place]:
            value = min(max(value, -0.4), 0.3)
        target[bit] = value
    kp, kv = -model.actuator_biasprm[i, 1:3]
    force = kp * (target[POS] - length) + kv * (target[VEL] - velocity) + target[FF]
    low, high = model.actuator_forcerange[i]
    return float(np.clip(force, low, high)) if model.actuator_forcelimited[i] else float(force)
