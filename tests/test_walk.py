"""The example policy walks, and the script that made it still makes one."""

import importlib.util
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.control.policy import PolicyComponent
from tests.places import ROOT

SCENE = Path(str(files("mjrig.config").joinpath("scenes", "quadruped_walk.yaml")))
RECORDING = Path(str(files("mjrig.assets").joinpath("walk", "walk.npz")))
SCRIPT = ROOT / "tools" / "train_quadruped.py"

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")


@pytest.mark.parametrize(
    ("command", "moved", "turned"),
    [((0.5, 0.0, 0.0), (1.5, 0.0), 0.0), ((0.0, 0.0, 0.0), (0.0, 0.0), 0.0),
     ((-0.3, 0.0, 0.0), (-0.9, 0.0), 0.0), ((0.0, 0.2, 0.0), (0.0, 0.6), 0.0),
     ((0.0, 0.0, 0.6), (0.0, 0.0), 1.8)],
)  # fmt: skip
def test_it_goes_where_it_is_told(
    command: tuple[float, ...], moved: tuple[float, float], turned: float
) -> None:
    scene = mjrig.Scene.load(SCENE)
    scene.set("quadruped.Policy.command", list(command))
    world = mjrig.World(scene)
    world.step(3000)
    x, y, z, qw, qx, qy, qz = world.data.qpos[:7]
    assert (x, y) == pytest.approx(moved, abs=0.35)
    assert 0.25 < z < 0.36
    assert 1.0 - 2.0 * (qx * qx + qy * qy) > 0.95
    assert 2.0 * np.arctan2(qz, qw) == pytest.approx(turned, abs=0.5)
    assert world.events == ()


# Its recording ----------------------------------------------------------------------------------


def test_the_recording_is_met_to_the_bit_in_its_own_scene(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(RECORDING), "--report", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["verdict"], report["bit_exact"]) == ("matches", True)
    assert (report["max_abs_position_error"], report["diagnosis"]) == (0.0, [])
    assert capsys.readouterr().out.startswith(f"{RECORDING}: matches\n")


@pytest.mark.parametrize("joint", ["FR_pitch_calf", "RL_roll_hip", "RR_pitch_thigh"])
def test_a_gain_that_is_a_fifth_higher_is_named_first(joint: str) -> None:
    scene = mjrig.Scene.load(SCENE)
    world = mjrig.World(scene)
    controller: Any = world["quadruped"].controllers[0]
    index = [b.joint for b in controller.bindings].index(joint)
    controller.patch(kp={joint: 1.2 * controller.kp[index]})
    found = mjrig.replay(RECORDING, world)
    assert (found.verdict, found.bit_exact) == ("differs", False)
    assert (found.diagnosis[0].kind, found.diagnosis[0].where) == ("kp", joint)
    assert found.first_divergence is not None


def test_the_policy_in_the_loop_does_what_was_recorded() -> None:
    found = mjrig.replay(RECORDING, mjrig.World(SCENE), mode="policy", trials=0, diagnose=False)
    assert found.max_abs_position_error is not None
    assert found.max_abs_position_error < 1e-3


def test_a_recording_knows_its_scene_when_it_is_written_elsewhere(tmp_path: Path) -> None:
    assert main(["convert", str(RECORDING), str(tmp_path / "deep" / "walk.npz")]) == 0
    assert main(["replay", str(tmp_path / "deep" / "walk.npz"), "--fail-above", "1e-9"]) == 0


# How it is trained ------------------------------------------------------------------------------


@pytest.fixture
def script() -> Any:
    if not SCRIPT.is_file():
        pytest.skip("there is no checkout beside the tests")
    pytest.importorskip("onnx", reason="writing a network needs onnx")
    spec = importlib.util.spec_from_file_location("train_quadruped", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_writes_a_network_that_says_what_it_trained(script: Any, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")

    rng = np.random.default_rng(1)
    start = script.imitate(script.Course(1).default, rng, rounds=200)
    net = script.search(start, rng, iterations=1, directions=2, tries=2)
    assert not np.array_equal(net.flat(), start.flat())
    script.write_onnx(net, tmp_path / "walk.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "walk.onnx")
    seen = rng.normal(size=(1, script.WIDTH))
    (said,) = session.run(None, {"obs": seen.astype(np.float32)})
    one = script.Network.of(net.flat()[None])
    meant = script.Course(1)._act(one, seen)
    assert said == pytest.approx(meant, abs=1e-4)


def test_what_the_network_sees_in_training_is_what_the_policy_sees(script: Any) -> None:
    world = mjrig.World(SCENE)
    course = script.Course(1)
    world.step(1)
    seen = course.observe(0, np.array([[0.5, 0.0, 0.0]]), np.zeros((1, 12)))
    (policy,) = [c for c in world["quadruped"].components if isinstance(c, PolicyComponent)]
    assert np.asarray(policy.observation) == pytest.approx(seen[0], abs=1e-6)
