"""Every kind of thing that MuJoCo draws, drawn by the page, beside MuJoCo's own picture."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.editor.web.chromium import PROGRAM, Chromium
from tests.editor.web.served import ServedEditor
from tests.editor.web.zoo import zoo
from tests.editor.web.zoo_page import difference, draw_in_page
from tests.editor.windows import SWINGS

#: Mean difference of 255, and share of pixels that differ by more than 24 from all around them.
MEAN, APART = 1.0, 0.005
#: Light is computed at every pixel of a plane here, at its corners there; wires are not culled
#: alike, and the two depth maps of a floor in grazing light are noise of their own.
LOOSER = {
    "endless_plain": (4.0, 0.005), "endless_uniform": (4.0, 0.005), "haze": (5.0, 0.02),
    "wireframe": (2.0, 0.01),
}  # fmt: skip


def reference(folder: Path, *names: str) -> Any:
    """What MuJoCo's own renderer makes of some of the zoo, or of all."""
    for backend in ("egl", "osmesa"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.editor.web.zoo", str(folder / "zoo.npz"), *names],
            env={**os.environ, "MUJOCO_GL": backend},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return np.load(folder / "zoo.npz")
    pytest.skip(f"MuJoCo cannot draw here: {done.stderr[-200:]}")


@pytest.mark.campaign
@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (apt: chromium)")
@pytest.mark.skipif(not os.environ.get("MJRIG_CAMPAIGN"), reason="only in `make campaign`")
def test_the_whole_zoo(tmp_path: Path) -> None:
    pictures = reference(tmp_path)
    (tmp_path / "scene.yaml").write_text(SWINGS)
    editor, wrong = ServedEditor(tmp_path / "scene.yaml", tmp_path), []
    with Chromium() as chromium:
        tab = chromium.new_tab()
        tab.open(editor.address)
        tab.wait_for("window.mjrig")
        for animal in zoo():
            mean, apart = difference(draw_in_page(tab, animal), pictures[animal.name])
            most, widest = LOOSER.get(animal.name, (MEAN, APART))
            print(f"{animal.name:22s} {mean:6.2f} {100 * apart:6.2f} %")
            if mean > most or apart > widest:
                wrong.append((animal.name, mean, apart))
    editor.stop()
    assert wrong == []
