"""Delays of logs are real numbers, those of scenes whole steps: what is written is said."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.lab.fit.estimates import Estimate
from mjrig.lab.fit.identification import Fit
from mjrig.lab.fit.write_back import rounded_delays
from mjrig.tuning import put_fit
from tests.plugin.data.robot_logs import simulated as sim

SAID = re.compile(
    r"delays are whole (step|tick)s: ([\d.]+)(?: to ([\d.]+))? ms of ([\w, ]+) (?:is|are) "
    r"written as (\d+) \1s? of ([\d.]+) ms"
)


@pytest.mark.parametrize("every", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_every_delay_that_is_rounded_is_said_as_it_is_written(
    tmp_path: Path, seed: int, every: int
) -> None:
    rng = np.random.default_rng(seed)
    step = float(rng.choice([0.0005, 0.001, 0.002]))
    model = sim.MODEL.replace('timestep="0.001"', f'timestep="{step}"')
    (tmp_path / "arm.xml").write_text(model)
    (tmp_path / "arm.yaml").write_text(sim.SCENE.replace("kv: 2", f"kv: 2, decimation: {every}"))
    scene = mjrig.Scene.load(tmp_path / "arm.yaml")
    values = dict(zip(sim.NAMES, rng.uniform(0.0, 12.0, 2), strict=True))
    if seed % 3 == 0:
        values["wrist"] = round(values["wrist"])  # nothing is rounded
    if seed % 3 == 1:
        values["wrist"] = round(values["shoulder"]) + 0.3
    found = Fit(
        "arm",
        tuple(Estimate(n, n, "delay", v, 0.0, v - 0.1, v + 0.1) for n, v in values.items()),
        ("log",), {}, {}, (), 0.0,
    )  # fmt: skip
    put_fit(found, scene)
    world = mjrig.World(scene)
    controller: Any = world["arm"].controllers[0]
    lags = dict(zip(sim.NAMES, controller.delay.lags(step * every), strict=True))
    said: dict[str, str] = {}
    for line in rounded_delays(found, scene):
        match = SAID.fullmatch(line)
        assert match, line
        noun, low, high, joints, steps, tick = match.groups()
        assert (noun == "tick") == (every > 1)
        assert float(tick) == pytest.approx(1e3 * step * every)
        for joint in joints.split(", "):
            said[joint] = line
            assert int(steps) == lags[joint]
            ms = values[joint] * float(tick)
            assert float(low) - 0.006 <= ms <= float(high or low) + 0.006
    assert {*said} == {n for n, v in values.items() if abs(v - lags[n]) > 0.005}
