"""The ten lines of docs/sim2sim.md."""

import re
from pathlib import Path

import pytest

import mjrig
from mjrig.components import PDController
from tests.places import DOCS
from tests.plugin.lab.replay.recorded import BIPED, write_ticks

PAGE = DOCS / "sim2sim.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not in a checkout")


def test_the_ten_lines_do_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line]) <= 10
    monkeypatch.chdir(tmp_path)
    Path("biped.xml").write_text(BIPED)
    scene = mjrig.Scene()
    scene.add_actor("robot", model=Path("biped.xml")).add_component(PDController(kp=80, kv=3))
    scene.save("scene.yaml")
    write_ticks(Path("run.npz"))
    exec(compile(code, "sim2sim.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "matches True 0.0",
        "kp left_knee 80.0 96.0 1.0",
    ]
