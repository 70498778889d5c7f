"""The rays of a height scan in the viewport."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mjrig.editor.viewport import overlays
from mjrig.editor.viewport.overlays import ends_of, on_screen
from tests.components.policies.small import idle, write
from tests.editor.windows import Bench
from tests.worlds import ROVER

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")


def scene(folder: Path) -> str:
    """A rover with a policy that scans the floor."""
    idle(folder / "policy.onnx", 1)
    scan = {"type": "HeightScan", "extent": [0.4, 0.2]}
    path = write(folder, joints=["turn"], observation={"terms": [scan]})
    (folder / "rover.xml").write_text(ROVER)
    return f"""\
mjrig: 1
actors:
  - {{name: floor, prop: {{type: GroundProp}}, pose: {{position: [0, 0, -1]}}}}
  - name: rover
    model: {folder}/rover.xml
    components:
      - {{type: PDController, kp: 0, kv: 0}}
      - {{type: Policy, file: {path}}}
"""


def test_the_rays_of_the_selected_actor_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench.on(scene(tmp_path))
    drawn: list[Any] = []

    def noted(*given: Any) -> Any:
        drawn.append(on_screen(*given))
        return drawn[-1]

    monkeypatch.setattr(overlays, "on_screen", noted)
    found: dict[str, Any] = {}

    def looks(ctx: Any) -> None:
        bench.state.simulation.step_once(1)
        bench.state.selection.clear()
        ctx.yield_(2)
        found["unselected"] = len(drawn)
        bench.state.selection.only("rover")
        ctx.yield_(3)
        policy = bench.state.simulation.frame.robots["rover"].policy
        assert policy is not None
        found["rays"] = policy.rays

    bench.run(looks)
    rays = found["rays"]
    assert rays.shape == (15, 2, 3)
    assert rays[:, 1, 2] == pytest.approx(-1.0)  # on the floor
    assert np.ptp(rays[:, 1, 0]) == pytest.approx(0.4)
    assert found["unselected"] == 0 and drawn[-1].shape == (15, 2, 2)
    assert np.isfinite(drawn[-1]).all()
    assert not bench.problems


def test_a_ray_is_shown_by_its_end() -> None:
    rays = np.array([[[0, 0, 20.0], [0, 0, 0]], [[1, 0, 0.1], [1, 0, 0]]])
    assert ends_of(rays).tolist() == [[[0, 0, pytest.approx(0.3)], [0, 0, 0]], rays[1].tolist()]
