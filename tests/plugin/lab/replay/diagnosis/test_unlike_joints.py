"""Causes that are of several joints: of one kind, with each one's value; limits of any place."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.core.control.plant import Plant
from mjrig.data.recording.recording import Recording
from tests.plugin.data.robot_logs import simulated as sim
from tests.plugin.lab.replay.recorded import from_world

GANTRY = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.05" mass="8"/>
<body><joint name="y" type="slide" axis="0 1 0"/><geom size="0.05" mass="3"/>
<body><joint name="tilt" axis="0 1 0" armature="0.02"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.3"/></body></body></body>
</worldbody>
<actuator><motor name="x" joint="x" {}/><motor name="y" joint="y"/><motor name="tilt" joint="tilt"/>
</actuator></mujoco>"""
KP = {"x": 9000.0, "y": 3000.0, "tilt": 30.0}
KV = {"x": 600.0, "y": 200.0, "tilt": 1.8}
STEPS = 600


def _world(folder: Path, kv: dict[str, float], limit: str = "", run: str = "") -> mjrig.World:
    folder.mkdir()
    (folder / "gantry.xml").write_text(GANTRY.format(limit))
    path = folder / "gantry.yaml"
    path.write_text(
        "mjrig: 1\nactors:\n- name: robot\n  model: gantry.xml\n  components:\n"
        f"  - {{type: PDController, kp: {KP}, kv: {kv}}}\n"
    )
    return mjrig.World(path, run) if run else mjrig.World(path)


def _drive(k: int, world: mjrig.World) -> None:
    time = 0.002 * k
    sizes, rates = np.array([0.2, 0.15, 0.6]), np.array([6.0, 9.0, 7.0])
    world["robot"].set_targets(sizes * np.sin(rates * time))


def _unlisted(run: Recording, **more: Any) -> Recording:
    actors = {n: replace(a, plant=Plant(), **more) for n, a in run.actors.items()}
    return replace(run, actors=actors)


@pytest.mark.parametrize("factor", [0.45, 1.7])
def test_unlike_joints_have_their_own_values_and_the_units_of_their_kind(
    tmp_path: Path, factor: float
) -> None:
    truth = {"x": KV["x"] * factor, "y": KV["y"] * factor, "tilt": KV["tilt"]}
    run = from_world(_world(tmp_path / "there", truth), STEPS, _drive)
    result = mjrig.replay(_unlisted(run, efforts=None), _world(tmp_path / "here", KV))
    found = result.diagnosis[0]
    assert (found.kind, found.where, found.unit) == ("kv", "x, y", "N·s/m")
    assert found.here == {"x": 600.0, "y": 200.0}
    assert isinstance(found.expected, dict)
    assert found.expected == {j: pytest.approx(truth[j], rel=0.02) for j in ("x", "y")}
    assert found.text.startswith("kv of x, y is 600, 200 N·s/m here, ")
    for other in result.diagnosis:
        kinds = {"tilt" in name for name in other.where.split(", ")}
        assert len(kinds) == 1


@pytest.mark.parametrize("execution", ["python", "native"])
@pytest.mark.parametrize(
    "limit", ['ctrlrange="-60 60"', 'forcerange="-60 60"', 'gear="2" ctrlrange="-30 30"']
)
def test_a_limit_of_the_model_is_undone_wherever_it_acts(
    tmp_path: Path, limit: str, execution: str
) -> None:
    free = 'gear="2"' if "gear" in limit else ""
    run = from_world(_world(tmp_path / "there", KV, free), STEPS, _drive)
    world = _world(tmp_path / "here", KV, limit, execution)
    found = mjrig.replay(_unlisted(run), world).diagnosis[0]
    assert (found.kind, found.where, found.here) == ("torque_limit", "x", 60.0)
    assert found.share == pytest.approx(1.0, abs=0.02)
    # The limit is back: the same replay finds the same.
    again = mjrig.replay(_unlisted(run), world).diagnosis[0]
    assert again == found


@pytest.mark.parametrize("steps", [1, 6, 12])
def test_a_log_does_not_say_that_its_delay_is_none(tmp_path: Path, steps: int) -> None:
    (tmp_path / "arm.xml").write_text(sim.MODEL)
    law = f"kp: {1.3 * sim.KP}, kv: {sim.KV}, delay: {{steps: {steps}}}"
    (tmp_path / "arm.yaml").write_text(sim.SCENE.replace("kp: 40, kv: 2", law))
    log = sim.write_csv(tmp_path / "log.csv", sim.simulated(1.5))
    recording = mjrig.read_recording(log, timestep=0.001)
    result = mjrig.replay(recording, mjrig.World(tmp_path / "arm.yaml"))
    assert result.verdict == "differs"
    assert not [f for f in result.diagnosis if f.kind == "delay" and f.expected == 0.0]
