"""LEAPP bundles: what their graphs are fed, what feeds back, and what is refused."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.policies.policy_file import PolicyFile
from tests.components.importers.isaac import bundles, runs
from tests.wording import mentions, regex

COMMAND = (0.3, -0.1, 0.2)


def imported(folder: Path, bundle: Path, **options: Any) -> Imported:
    return import_policy(
        [bundle], None, runs.model(folder), folder / "out" / "scene.yaml", **options
    )


def policy_of(world: mjrig.World) -> Any:
    found: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    return found


def reference(path: Path, ticks: int, height: float, twice: float = 1.0) -> Any:
    """The bundle's sum in numpy, and a PD law: the state after some ticks."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qpos[2] = height
    joints = [m.joint(name) for name in runs.JOINTS]
    motors = [next(i for i in range(m.nu) if m.actuator_trnid[i, 0] == j.id) for j in joints]
    for joint, value in zip(joints, bundles.DEFAULT, strict=True):
        d.qpos[joint.qposadr[0]] = value
    last = np.full(5, 0.1, np.float32)
    targets = np.zeros(5)
    for step in range(ticks * 10):
        q = np.array([d.qpos[j.qposadr[0]] for j in joints])
        v = np.array([d.qvel[j.dofadr[0]] for j in joints])
        if step % 10 == 0:
            w, x, y, z = d.qpos[3:7]
            seen = [twice * d.qvel[3:6], (x, y, z, w), COMMAND, q - bundles.DEFAULT, v, last]
            last = np.concatenate(seen).astype(np.float32) @ bundles.weights()["w"]
            targets = (0.25 * last + bundles.DEFAULT).astype(np.float64)
        d.ctrl[motors] = bundles.KP * (targets - q) - bundles.KD * v
        mujoco.mj_step(m, d)
    return d.qpos.copy()


@pytest.mark.parametrize(("make", "twice"), [(bundles.write, 1.0), (bundles.two_nodes, 2.0)])
def test_a_bundle_does_what_its_graph_says(tmp_path: Path, make: Any, twice: float) -> None:
    found = imported(tmp_path, make(tmp_path), copy=True)
    assert found.found.stack == "leapp"
    assert PolicyFile.load(found.policy).default.tolist() == pytest.approx(bundles.DEFAULT.tolist())
    world = mjrig.World(mjrig.Scene.load(found.scene))
    policy_of(world).follow([(0.0, COMMAND)])
    height = float(world.data.qpos[2])
    world.step(30)
    wanted = reference(tmp_path / "walker.xml", 3, height, twice)
    np.testing.assert_allclose(world.data.qpos, wanted, atol=1e-6)


def test_a_snapshot_and_a_reset_carry_what_feeds_back(tmp_path: Path) -> None:
    world = mjrig.World(mjrig.Scene.load(imported(tmp_path, bundles.write(tmp_path)).scene))
    world.step(25)
    kept = world.snapshot()
    world.step(20)
    once = world.data.qpos.copy()
    world.restore(kept)
    world.step(20)
    assert (world.data.qpos == once).all()
    world.reset()
    world.step(45)
    assert (world.data.qpos == once).all()


def test_an_env_file_beside_a_bundle_gives_the_plant(tmp_path: Path) -> None:
    bundle = bundles.write(tmp_path, kp=0.0)
    with pytest.raises(mjrig.SceneError, match=regex("kp and kd are 0 … right_hip_joint")):
        imported(tmp_path, bundle)
    env = runs.write(tmp_path, runs.env())
    found = import_policy([bundle, env], None, tmp_path / "walker.xml", tmp_path / "out/scene.yaml")
    world = mjrig.World(mjrig.Scene.load(found.scene))
    assert {b.kind for b in world["robot"].actuators} == {"position"}
    assert world.timestep == 0.005
    world.step(8)


def change(folder: Path, edit: Any) -> Path:
    bundles.write(folder)
    data = bundles.description(folder)
    edit(data, data["models"]["Walk"])
    return runs.write(folder, data, bundles.FILE)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda d, n: n["parameters"].update(sha256sum="0" * 64), "its sha256 is not sha256sum"),
        (lambda d, n: n["parameters"].update(warp_segments=2), "has 2 warp_segments"),
        (lambda d, n: n["parameters"].update(backend="jit"), "(backend jit), which needs torch"),
        (lambda d, n: n["parameters"].update(model_path="../Walk.onnx"), "must lie beside it"),
        (lambda d, n: n["inputs"][0].update(isaaclab_connection="state:robot:root_ang_vel_w"),
         "1 input that nothing here … 'ang' (state:robot:root_ang_vel_w)"),
        (lambda d, n: n["inputs"][0].update(isaaclab_connection="observation:policy:height_scan"),
         "'ang' (observation:policy:height_scan)"),
        (lambda d, n: n["outputs"][0].update(kind="target/body/pose"), "no output that commands"),
        (lambda d, n: d["pipeline"]["feedback_flow"].update({"Walk/x": ["Walk/last_in"]}),
         "pipeline names 'Walk/x': there is …"),
        (lambda d, n: d["pipeline"]["configs"].update(frequency=0), "frequency must be > 0 Hz"),
        (lambda d, n: n["outputs"].pop(2), "has no kp_gains"),
        (lambda d, n: n["inputs"][3]["element_names"][0].__setitem__(0, "wing_joint"),
         "has no joint for wing_joint"),
    ],
)  # fmt: skip
def test_bundles_that_cannot_run_are_refused(tmp_path: Path, edit: Any, text: str) -> None:
    with pytest.raises(mjrig.MjrigError) as caught:
        imported(tmp_path, change(tmp_path, edit))
    assert mentions(str(caught.value), text)


def test_gains_that_vary_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError, match=regex("variable impedance is not …")):
        imported(tmp_path, bundles.write(tmp_path, varying=True))


def test_a_bundle_that_was_changed_after_the_import_does_not_run(tmp_path: Path) -> None:
    found = imported(tmp_path, bundles.write(tmp_path))
    bundles.policy_network(tmp_path / "Walk.onnx", kp=10.0)
    with pytest.raises(mjrig.MjrigError, match="its sha256 is not sha256sum"):
        mjrig.World(mjrig.Scene.load(found.scene))
