"""The question whether the code beside a scene may be run."""

from pathlib import Path
from typing import Any

import pytest

from mjrig.core.files.sandbox import trusted_folders
from mjrig.editor.session.user_files import trust_store
from tests.editor.windows import SWINGS, Bench
from tests.worlds import hinge

TRUST = "//Trust this folder?/"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "hinge.xml").write_text(hinge())
    (folder / "code.py").write_text(
        "from mjrig import ArticulationController\n\n\n"
        "class Idle(ArticulationController):\n"
        "    def compute_and_apply(self, model, data, source):\n"
        "        pass\n"
    )
    path = folder / "s.yaml"
    path.write_text(
        "mjrig: 1\nactors:\n  - name: arm\n    model: hinge.xml\n"
        "    components: [{type: code:Idle}]\n"
    )
    return path


def test_no_leaves_the_scene_closed_and_yes_opens_and_remembers_it(scene: Path) -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def answers(ctx: Any) -> None:
        bench.window.files.open_path(scene)
        ctx.yield_(2)
        ctx.item_click(TRUST + "Don't trust")
        ctx.yield_(2)
        seen.append((bench.state.scene.path, trusted_folders(trust_store())))
        bench.window.files.open_path(scene)
        ctx.yield_(2)
        ctx.item_click(TRUST + "Trust")
        ctx.yield_(2)
        seen.append((bench.state.scene.path, trusted_folders(trust_store())))
        bench.window.files.open_path(scene)  # is not asked again
        ctx.yield_(2)
        seen.append(bench.window.files.trust.is_open)

    bench.run(answers)
    assert seen[0][0] != scene
    assert seen[0][1] == []
    assert seen[1] == (scene, [scene.parent.resolve()])
    assert seen[2] is False
