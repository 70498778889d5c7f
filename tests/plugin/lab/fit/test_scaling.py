"""Efforts of a joint that nothing else acts on: all in proportion change no motion."""

import random
from pathlib import Path

import pytest

import mjrig
from mjrig.lab.fit.identification import Fit, fit
from tests.campaign import CAMPAIGN
from tests.plugin.lab.fit.fit_worlds import chirp, noisy, record, with_others

KINDS = ("kp", "kv", "armature", "damping", "frictionloss")
JOINT = """
<mujoco>
  <option timestep="0.002" integrator="Euler"/>
  <worldbody>
    <body>
      <joint name="turn" type="{kind}" axis="0 0 1" armature="0.02" damping="0.1"
        frictionloss="0.05"/>
      <inertial pos="0 0 0" mass="{mass}" diaginertia="{mass} {mass} {mass}"/>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
</mujoco>"""
TEXT = """
mjrig: 1
actors:
  - name: robot
    model: joint.xml
    components:
      - {type: PDController, kp: 60, kv: 3}
"""


def fitted(
    folder: Path, kind: str, mass: float, noise: float, parameters: list[str]
) -> tuple[Fit, dict[str, float]]:
    """A fit to a joint without gravity, whose efforts are all others, and the true values."""
    (folder / "joint.xml").write_text(JOINT.format(kind=kind, mass=mass))
    scene = mjrig.Scene.parse(TEXT, folder)
    scene.set("sim.gravity", [0, 0, 0])
    rng = random.Random(f"{kind}{mass}{noise}")
    scale = rng.uniform(1.3, 3.0)
    truth = {"kp": 45.0, "kv": 2.0, "armature": 0.02, "damping": 0.1, "frictionloss": 0.05}
    truth = {name: scale * value for name, value in truth.items()}
    values: dict[str, object] = {f"robot.PDController.{n}": [truth[n]] for n in ("kp", "kv")}
    values |= {f"robot.dynamics.{n}": {"turn": truth[n]} for n in KINDS[2:]}
    world = mjrig.World(with_others(scene, values))
    clean = record(world, chirp(0.3, 0.5, 6.0, 2.0), 2.0)
    recorded = noisy(clean, 1, noise, 100.0 * noise) if noise else clean
    return fit(scene, [recorded], parameters), truth | {"encoder_offset": 0.0}


@pytest.mark.parametrize("noise", [0.0, 1e-4] if CAMPAIGN else [1e-4])
@pytest.mark.parametrize("mass", [1e-4, 1e-2] if CAMPAIGN else [1e-2])
@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_what_rests_on_the_scene_says_so(
    tmp_path: Path, kind: str, mass: float, noise: float
) -> None:
    found, truth = fitted(tmp_path, kind, mass, noise, list(KINDS))
    for one in found.estimates:
        holds = one.low <= truth[one.parameter] <= one.high
        assert holds or not one.identifiable or "as in the scene" in one.reason, one
    # With it all others are in proportion.
    kp, kv = found["turn", "kp"].value, found["turn", "kv"].value
    assert kp / kv == pytest.approx(truth["kp"] / truth["kv"], rel=0.05)


@pytest.mark.parametrize("noise", [0.0, 1e-4])
@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_an_offset_that_nothing_shows_is_not_found(tmp_path: Path, kind: str, noise: float) -> None:
    found, _ = fitted(tmp_path, kind, 1e-4, noise, ["kp", "kv", "encoder_offset"])
    assert not found["turn", "encoder_offset"].identifiable
    assert found["turn", "encoder_offset"].value == 0.0
