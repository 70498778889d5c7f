"""What nothing couples is searched and judged apart."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.data.recording.recording import Recording
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.fit.problem import Blocks, Point, Unknown
from tests.plugin.lab.fit.fit_worlds import chirp, edited, noisy, record, with_others

PAIR = """
<mujoco>
  <option timestep="0.002" integrator="Euler"/>
  <worldbody>
    <body>
      <joint name="left" axis="0 1 0" armature="0.01" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="1" contype="0"
        conaffinity="0"/>
    </body>
    <body pos="0 1 0">
      <joint name="right" axis="0 1 0" armature="0.01" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.8" contype="0"
        conaffinity="0"/>
    </body>
  </worldbody>
  <actuator><motor name="left" joint="left"/><motor name="right" joint="right"/></actuator>
</mujoco>"""
KP = "robot.PDController.kp"


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    (tmp_path / "pair.xml").write_text(PAIR)
    text = "mjrig: 1\nactors:\n- {name: robot, model: pair.xml, components: "
    return mjrig.Scene.parse(f"{text}[{{type: PDController, kp: 40, kv: 2}}]}}", tmp_path)


def swinging(scene: mjrig.Scene) -> Recording:
    world = mjrig.World(with_others(scene, {KP: [31.0, 52.0]}))
    return noisy(record(world, chirp(0.5, 0.5, 5.0, 1.9), 1.9), 3, 2e-4, 2e-3)


def misled(recording: Recording) -> Recording:
    """The right joint moves as no gains would make it."""
    (share,) = recording.actors.values()
    qpos, qvel = share.qpos.copy(), np.array(share.qvel)
    qpos[:, 1] += 0.2 * np.sin(9.0 * share.time)
    qvel[:, 1] += 1.8 * np.cos(9.0 * share.time)
    return edited(recording, qpos=qpos, qvel=qvel)


def test_a_joint_that_fits_badly_leaves_those_of_other_trees_alone(scene: mjrig.Scene) -> None:
    recording = misled(swinging(scene))
    kinds = ["kp", "kv"]
    both = fit(scene, [recording], kinds, validate=None)
    alone = fit(scene, [recording], kinds, joints="left", validate=None)
    assert both.rejection and both.rms_after["right"] > 0.02
    for name in kinds:
        assert both["left", name].value == pytest.approx(alone["left", name].value, rel=1e-3)
    assert alone["left", "kp"].value == pytest.approx(31.0, rel=5e-3)
    assert _width(alone) < 0.5


def test_intervals_are_those_of_their_own_tree(
    scene: mjrig.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = swinging(scene)
    clean = fit(scene, [recording], ["kp", "kv"], validate=None)
    # Nothing is rejected here, so that intervals are given although the right joint fits badly.
    monkeypatch.setattr("mjrig.lab.fit.lack_of_fit.Verdicts.rejection", lambda *rest: "")
    other = fit(scene, [misled(recording)], ["kp", "kv"], validate=None)
    assert _width(other) == pytest.approx(_width(clean), rel=0.05)


def _width(found: Fit) -> float:
    one = found["left", "kp"]
    return one.high - one.low


def test_every_block_is_taken_from_the_trial_that_is_picked_for_it() -> None:
    rng = random.Random(5)
    for _ in range(50):
        trees = np.array([rng.randrange(3) for _ in range(rng.randint(1, 6))])
        joints = [rng.randrange(len(trees)) for _ in range(rng.randint(0, 8))]
        own = [int(trees[j]) for j in joints]
        unknowns = [Unknown(f"u{k}", 0, -9.0, 9.0, 1.0) for k in range(len(joints))]
        nothing = np.zeros(len(joints))
        measured = rng.choice([len(trees), 2 * len(trees)])
        blocks = Blocks(unknowns, trees, own, [(7, measured)], nothing, nothing)
        now, *trials = (_trial(unknowns, trees, measured, value) for value in range(4))
        picks = [rng.choice([None, 0, 1, 2]) for _ in range(len(blocks))]
        point, (residuals,) = blocks.merged(now[0], now[1], trials, picks)
        chosen = {
            int(tree): 0 if pick is None else pick + 1
            for tree, pick in zip(dict.fromkeys(trees.tolist()), picks, strict=True)
        }
        assert point.get(unknowns).tolist() == [chosen[tree] for tree in own]
        expected = [chosen[int(t)] for t in trees] * 2
        assert point.moves[0].tolist() == expected
        assert residuals[0].tolist() == expected[:measured]
        costs = blocks.costs(point, [residuals], [np.ones(measured)])
        assert costs.sum() == pytest.approx(float(np.square(residuals).sum()))
        assert blocks.sizes.sum() == 7 * measured


def _trial(unknowns: list[Unknown], trees: Any, measured: int, value: int) -> Any:
    values = {u.parameter: np.array([float(value)]) for u in unknowns}
    moves = np.full((1, 2 * len(trees)), float(value))
    point = Point(values, np.zeros(1, dtype=np.int64), moves)
    return point, [np.full((7, measured), float(value))]
