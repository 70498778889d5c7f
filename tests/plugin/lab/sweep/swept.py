"""A small scene file that the tests of sweeps share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import mjrig
from tests.wording import matches
from tests.worlds import hinge

KP = "arm.PDController.kp"
KV = "arm.PDController.kv"


def hinge_scene(folder: Path, *, more: str = "", component: str = "") -> Path:
    """A hinge that gravity pulls, with a PD controller, as `scene.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    model = hinge(option="", joint='range="-3 3"').replace('pos="0 0 0"', 'pos="0.1 0 0"')
    (folder / "arm.xml").write_text(model)
    path = folder / "scene.yaml"
    path.write_text(
        "mjrig: 1\n"
        f"{more}"
        "actors:\n"
        "  - name: arm\n"
        "    model: arm.xml\n"
        "    components:\n"
        f"      - {{type: PDController, kp: 40, kv: 4, torque_limit: 20{component}}}\n"
    )
    return path


@contextmanager
def refused(message: str) -> Iterator[None]:
    """Expect an error of mjrig with exactly this message."""
    with pytest.raises(mjrig.MjrigError) as caught:
        yield
    assert matches(caught.value, message)
