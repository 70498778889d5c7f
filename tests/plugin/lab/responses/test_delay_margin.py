"""The delay margin separates stable from unstable: eigenvalues and bare MuJoCo are the judges."""

import random
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from mjrig.core.sim.world import World
from mjrig.lab.responses.frequency_response import LinearResponse, Margins
from mjrig.lab.responses.joint_response import respond
from mjrig.lab.rollouts.signals import Kind, Signal
from tests.campaign import Tally
from tests.places import SCENES
from tests.plugin.lab.scenes import scene

#: Longer delays are not tried [steps].
LONGEST = 150
#: Steps around a margin that are not judged: it is computed to this.
NEAR = 0.05


def chain(links: int, damping: float, timestep: float) -> str:
    """Links in a row about parallel axes, with a motor each."""
    body = '<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass="1"/>'
    text = motors = ""
    for i in reversed(range(links)):
        place = f' pos="{0.3 * (i > 0)} 0 0"'
        joint = f'<joint name="j{i}" axis="0 1 0" damping="{damping}"/>'
        text = f"<body{place}>{joint}{body}{text}</body>"
        motors = f'<motor name="m{i}" joint="j{i}"/>' + motors
    return (
        f'<mujoco><option timestep="{timestep}" gravity="0 0 0"><flag contact="disable"/></option>'
        f"<worldbody>{text}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def law(kp: list[float], kv: list[float]) -> str:
    gains = [", ".join(f"m{i}: {v}" for i, v in enumerate(values)) for values in (kp, kv)]
    return f"{{type: PDController, kp: {{{gains[0]}}}, kv: {{{gains[1]}}}, torque_limit: .inf}}"


class Delayed:
    """The closed loop of plain MuJoCo with one drive's feedback some steps late."""

    def __init__(self, xml: str, kp: list[float], kv: list[float], late: int) -> None:
        self.model: Any = mujoco.MjModel.from_xml_string(xml)
        self.data: Any = mujoco.MjData(self.model)
        self.gain = np.hstack([np.diag(kp), np.diag(kv)])
        self.late = late

    def growth(self, steps: int) -> float:
        """Spectral radius with a delay, from MuJoCo's own finite differences."""
        n = int(self.model.nv)
        a, b = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
        mujoco.mjd_transitionFD(self.model, self.data, 1e-6, True, a, b, None, None)
        prompt = self.gain.copy()
        prompt[self.late] = 0.0
        wide = np.zeros((2 * n + steps, 2 * n + steps))
        wide[: 2 * n, : 2 * n] = a - b @ prompt
        if steps == 0:
            wide -= np.outer(b[:, self.late], self.gain[self.late])
        else:  # the effort of now enters at the end of a queue
            wide[: 2 * n, 2 * n] = b[:, self.late]
            wide[2 * n : -1, 2 * n + 1 :] = np.eye(steps - 1)
            wide[-1, : 2 * n] = -self.gain[self.late]
        return float(np.abs(np.linalg.eigvals(wide)).max())

    def grows(self, steps: int, seconds: float = 3.0) -> bool:
        """Whether a small deflection grows when simulated."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = 1e-7
        queue: list[float] = [0.0] * steps
        size = []
        for _ in range(round(seconds / self.model.opt.timestep)):
            effort = -self.gain @ np.concatenate([self.data.qpos, self.data.qvel])
            queue.append(float(effort[self.late]))
            self.data.ctrl[:] = effort
            self.data.ctrl[self.late] = queue.pop(0)
            mujoco.mj_step(self.model, self.data)
            size.append(float(np.abs(self.data.qpos).max()))
            if size[-1] > 1e-3:
                return True
        half = len(size) // 2
        return max(size[half:]) > max(size[:half])


def margins(folder: Path, xml: str, kp: list[float], kv: list[float]) -> list[Margins]:
    linear = LinearResponse.of(World(scene(folder, xml, law(kp, kv))))
    found = [linear.margins("robot", f"m{i}") for i in range(len(kp))]
    return [m for m in found if m is not None]


@pytest.mark.campaign
def test_the_delay_margin_separates_stable_from_unstable(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("delay margins", 8, 1000):
        links, h = rng.choice((1, 2, 2, 3)), rng.choice((0.001, 0.002))
        xml = chain(links, rng.choice((0.0, 0.1)), h)
        kp = [10 ** rng.uniform(0.0, 3.0) for _ in range(links)]
        kv = [10 ** rng.uniform(-1.5, 1.5) for _ in range(links)]
        for i, found in enumerate(margins(tmp_path, xml, kp, kv)):
            truth = Delayed(xml, kp, kv, i)
            if wrong := disagreement(found, truth, h, rng):
                tally.found(f"m{i}: kp {kp}, kv {kv}, {links} links, {h} s: {wrong}")


def disagreement(found: Margins, truth: Delayed, h: float, rng: random.Random) -> str:
    """What is wrong about a margin, by the eigenvalues."""
    if found.stable != (truth.growth(0) <= 1.0 + 1e-6):
        return "stability without delay"
    if not found.stable:
        return "" if found == Margins(stable=False) else "an unstable loop has margins"
    steps = LONGEST if found.delay_margin is None else found.delay_margin / h
    if steps < 0.0:
        return f"negative margin {steps}"
    below, above = int(min(steps - NEAR, LONGEST)), int(steps + NEAR) + 1
    for k in {below, rng.randint(0, max(below, 0))}:
        if k > 0 and truth.growth(k) > 1.0 + 1e-6:
            return f"unstable with {k} steps, reported {steps:.2f}"
    if above <= LONGEST and truth.growth(above) <= 1.0:
        return f"stable with {above} steps, reported {steps:.2f}"
    return ""


@pytest.mark.parametrize(
    ("kp", "kv"), [([282.0, 417.0], [43.4, 1.08]), ([3.1, 225.0], [52.0, 4.4])]
)
def test_a_simulation_with_dead_time_agrees(
    tmp_path: Path, kp: list[float], kv: list[float]
) -> None:
    xml = chain(2, 0.0, 0.001)
    for i, found in enumerate(margins(tmp_path, xml, kp, kv)):
        truth = Delayed(xml, kp, kv, i)
        assert found.delay_margin is not None and found.delay_margin > 0.0
        steps = found.delay_margin / 0.001
        if steps < LONGEST:
            assert truth.grows(int(steps) + 2) and not truth.grows(max(int(steps) - 1, 0))


def test_an_unstable_loop_has_no_margins(tmp_path: Path) -> None:
    (found,) = margins(tmp_path, chain(1, 0.0, 0.001), [50.0], [500.0])
    assert found == Margins(stable=False)


@pytest.mark.parametrize("kp", [1.0, 10.0])
def test_a_weak_loop_beside_one_that_grows_has_no_margins(tmp_path: Path, kp: float) -> None:
    """It has hardly a part in what grows; the robot flies apart all the same."""
    xml, gains = chain(2, 0.1, 0.002), ([kp, 1.36], [0.04, 29.6])
    assert Delayed(xml, *gains, 0).grows(0)
    assert margins(tmp_path, xml, *gains) == [Margins(stable=False)] * 2


def test_a_slow_mode_of_other_joints_does_not_take_the_margins() -> None:
    """The gripper's fingers, held together by a constraint, creep apart in the linear map."""
    found = respond(SCENES / "arm.yaml", joint="elbow", signal=Signal(Kind.CHIRP, duration=1.0))
    margins = found[0].margins
    assert margins is not None and margins.stable
    assert margins.phase_margin is not None and margins.phase_margin > 45.0
    assert margins.delay_margin is not None and margins.delay_margin > 0.002
