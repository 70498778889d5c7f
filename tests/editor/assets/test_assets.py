"""Assets: what is found, how it is listed, drawn and dragged."""

import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.core.errors import PropertyError
from mjrig.core.properties import registry
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.assets import assets as shelf_module
from mjrig.editor.assets import thumbnail_worker
from mjrig.editor.assets.asset_panel import AssetPanel
from mjrig.editor.assets.assets import (
    AssetShelf,
    Root,
    add_folder,
    bundled_roots,
    component_types,
    own_folders,
    remove_folder,
    roots_of,
    scan,
)
from mjrig.editor.assets.thumbnails import SIZE, Picture, Thumbnails, key_of
from mjrig.editor.session.state import EditorState
from mjrig.editor.ui.panel import Panel
from tests.conftest import HINGE
from tests.editor.ui_driver import app_with, editor_state, plain_imgui, run_ui_tests
from tests.wording import matches
from tests.worlds import refused


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the settings or caches of who runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder of all sorts."""
    folder = tmp_path / "my lab ä"
    write(folder / "hinge.xml", HINGE)
    write(folder / "robots" / "r.urdf", "<robot name='r'/>")
    write(folder / "scene.yaml", "mjrig: 1\nactors:\n  - name: swing\n    model: hinge.xml\n")
    write(folder / "gains.yaml", "mjrig_gains: 1\n")
    write(folder / "walk.onnx", "x")
    write(folder / "web.xml", "<html/>")
    write(folder / "compose.yaml", "services: {}\n")
    write(folder / "notes.txt", "x")
    write(folder / ".git" / "hidden.xml", "<mujoco/>")
    return folder


# Folders ----------------------------------------------------------------------------------------


def test_a_folder_gives_what_can_be_dropped_and_nothing_else(lab: Path) -> None:
    found = scan(Root("lab", lab))
    assert [(a.kind, a.name, a.doc) for a in found.assets] == [
        ("preset", "gains.yaml", "gains.yaml"),
        ("model", "hinge.xml", "hinge.xml"),
        ("scene", "scene.yaml", "scene.yaml"),
        ("policy", "walk.onnx", "walk.onnx"),
        ("model", "r.urdf", "robots/r.urdf"),
    ]
    assert {a.value for a in found.assets} == {str(a.path) for a in found.assets}
    assert not found.notes


def test_what_comes_with_mjrig_is_named_by_its_package() -> None:
    by_label = {root.label: root for root in bundled_roots()}
    models = {a.value for a in scan(by_label["mjrig assets"]).assets}
    assert "package:mjrig.assets/quadruped/quadruped.xml" in models
    scenes = [a.name for a in scan(by_label["mjrig scenes"]).assets]
    assert "quadruped.yaml" in scenes


def test_a_folder_without_end_is_cut_with_a_notice(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf_module, "FILES", 2)
    assert scan(Root("lab", lab)).notes == ("lab: only the first 2 files were looked at",)
    monkeypatch.setattr(shelf_module, "FILES", 100)
    monkeypatch.setattr(shelf_module, "DEPTH", 0)
    assert scan(Root("lab", lab)).notes == (f"{lab}: folders below it were not looked at",)


def test_roots_are_the_bundled_ones_the_scenes_and_the_users_own(lab: Path) -> None:
    scene = Scene.load(lab / "scene.yaml")
    bundled = [r.label for r in roots_of(Scene())]
    assert bundled[:2] == ["mjrig assets", "mjrig scenes"]
    labels = [r.label for r in roots_of(scene, [lab / "robots", lab, lab / "gone"])]
    assert labels == [*bundled, "scene folder", "robots"]  # the scene's folder is there once


def test_folders_of_the_user_are_kept(lab: Path) -> None:
    assert own_folders() == []
    add_folder(lab)
    add_folder(lab / "robots")
    add_folder(lab)
    assert own_folders() == [lab / "robots", lab]
    remove_folder(lab)
    assert own_folders() == [lab / "robots"]
    with refused(PropertyError, f"there is no folder '{lab / 'none'}'"):
        add_folder(lab / "none")


# Types ------------------------------------------------------------------------------------------


def test_types_are_grouped_and_parts_of_controllers_are_left_out() -> None:
    found = component_types()
    groups = {a.name: (a.kind, a.group) for a in found.assets}
    assert groups["PDController"] == ("component", "Controllers")
    assert groups["TrotGait"] == ("component", "Other components")
    assert "MaxEffort" not in groups and "PID" not in groups
    doc = next(a.doc for a in found.assets if a.name == "PDController")
    assert doc and "\n" not in doc


def test_a_type_that_cannot_be_loaded_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("BrokenController", "no.such:BrokenController", registry.GROUP)
    ours = list(entry_points(group=registry.GROUP))
    with monkeypatch.context() as patch:
        patch.setattr(registry, "entry_points", lambda group: [*ours, broken])
        registry.refresh()
        found = component_types()
    registry.refresh()
    (note,) = found.notes
    assert note.startswith("component 'BrokenController' cannot be loaded")
    assert "PDController" in [a.name for a in found.assets]


# The shelf --------------------------------------------------------------------------------------


def test_the_shelf_lists_by_group_and_words(lab: Path) -> None:
    shelf = AssetShelf()
    shelf.search(Scene.load(lab / "scene.yaml"))
    shelf.wait()
    names = {g: [a.name for a in found] for g, found in shelf.listed().items()}
    assert {"hinge.xml", "r.urdf", "quadruped.xml"} <= set(names["Models"])
    assert "PDController" in names["Controllers"]
    assert {"gains.yaml", "quadruped_soft.yaml"} <= set(names["Presets"])
    shown = shelf.listed(root="scene folder", group="Recordings and policies")
    assert [a.name for a in shown["Recordings and policies"]] == ["walk.onnx"]
    assert {"policy.yaml", "walk.npz"} <= set(names["Recordings and policies"])
    found = shelf.listed("ROBOTS r", root="scene folder", group="Models")
    assert [a.name for a in found["Models"]] == ["r.urdf"]
    assert shelf.listed("no such thing") == {}


# Thumbnails -------------------------------------------------------------------------------------


def _can_draw() -> bool:
    code = "import mujoco; mujoco.Renderer(mujoco.MjModel.from_xml_string('<mujoco/>'), 8, 8)"
    run = subprocess.run(
        ["env", "MUJOCO_GL=egl", sys.executable, "-c", code], capture_output=True, check=False
    )
    return run.returncode == 0


def test_a_thumbnail_is_drawn_once_and_kept(lab: Path, tmp_path: Path) -> None:
    if not _can_draw():
        pytest.skip("no EGL here")
    good, bad = lab / "hinge.xml", write(lab / "bad.xml", "<mujoco><worldbody><x/></worldbody>")
    scene = write(lab / "one.yaml", "mjrig: 1\nactors: [{name: one, model: hinge.xml}]\n")
    thumbnails = Thumbnails(tmp_path / "kept", ("egl",))
    try:
        assert thumbnails.get(good) is None
        thumbnails.get(bad)
        thumbnails.get(scene)
        thumbnails.wait()
        of_scene = thumbnails.get(scene)
        assert of_scene is not None and of_scene.std() > 5.0, thumbnails.why_not(scene)
        assert tuple(of_scene[0, 0]) == thumbnail_worker.SKY  # not black where nothing is
        drawn = thumbnails.get(good)
        assert drawn is not None
        assert drawn.shape == (SIZE[1], SIZE[0], 3)
        assert drawn.std() > 5.0  # there is something in it
        assert thumbnails.get(bad) is None
        assert "XML parse error" in thumbnails.why_not(bad)
    finally:
        thumbnails.stop()
        thumbnails.stop()
    again = Thumbnails(tmp_path / "kept", ())  # nothing to draw with
    again.get(good)
    again.wait()
    kept = again.get(good)
    again.stop()
    np.testing.assert_array_equal(kept, drawn)


def test_where_nothing_can_be_drawn_the_reason_is_told(lab: Path, tmp_path: Path) -> None:
    thumbnails = Thumbnails(tmp_path / "kept", ("no_such_backend",))
    try:
        thumbnails.get(lab / "hinge.xml")
        thumbnails.get(lab / "gone.xml")
        thumbnails.wait()
        assert thumbnails.get(lab / "hinge.xml") is None
        why = thumbnails.why_not(lab / "hinge.xml")
        assert why.startswith("no rendering backend works (no_such_backend: ")
        assert "No such file" in thumbnails.why_not(lab / "gone.xml")
    finally:
        thumbnails.stop()


def test_a_worker_that_dies_takes_only_one_picture_with_it(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = write(
        tmp_path / "worker.py",
        "import os\nimport numpy as np\nfrom mjrig.core.processes.child_process import serve\n"
        "def work(job, tell):\n"
        "    if 'hinge' in job['model']: os.abort()\n"
        "    shape = (job['height'], job['width'], 3)\n"
        "    np.save(job['picture'], np.full(shape, 7, np.uint8)); tell('')\n"
        "serve(work, ready='ready')\n",
    )
    monkeypatch.setattr(thumbnail_worker, "__file__", str(script))
    thumbnails = Thumbnails(tmp_path / "kept", ("",))
    other = lab / "robots" / "r.urdf"
    try:
        for path in (lab / "hinge.xml", other):
            thumbnails.get(path)
        thumbnails.wait()
        assert matches(thumbnails.why_not(lab / "hinge.xml"), "the process that drew …")
        picture = thumbnails.get(other)
        assert picture is not None and (picture == 7).all()
    finally:
        thumbnails.stop()


def test_a_damaged_picture_is_drawn_again(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lab / "hinge.xml"
    kept = write(tmp_path / "kept" / f"{key_of(path)}.npy", "no picture")
    thumbnails = Thumbnails(tmp_path / "kept", ())
    thumbnails.get(path)
    thumbnails.wait()
    thumbnails.stop()
    assert thumbnails.why_not(path) == "no rendering backend works ()"
    assert not kept.exists()


def test_pictures_are_kept_by_content(lab: Path) -> None:
    before = key_of(lab / "hinge.xml")
    assert key_of(lab / "hinge.xml") == before
    scene = write(lab / "one.yaml", "mjrig: 1\nactors: [{name: one, model: hinge.xml}]\n")
    scene_before = key_of(scene)
    write(lab / "hinge.xml", HINGE.replace("0.02", "0.05"))
    assert key_of(lab / "hinge.xml") != before
    assert key_of(scene) != scene_before  # a picture of a scene is one of its models


# The panel --------------------------------------------------------------------------------------


class _Drawn(Thumbnails):
    """Has every picture at once."""

    def __init__(self) -> None:
        super().__init__(Path("unused"), ())

    def get(self, path: Path) -> Picture | None:
        return np.zeros((SIZE[1], SIZE[0], 3), dtype=np.uint8)


class _Floor(Panel):
    """Something to drop on."""

    title = "Floor"
    place = "centre"
    got: tuple[str, Any] | None = None

    def draw(self) -> None:
        imgui.button("here", (100, 100))
        if imgui.begin_drag_drop_target():
            if imgui.accept_drag_drop_payload_py_id("MJRIG") is not None:
                self.got = self.state.dragged
            imgui.end_drag_drop_target()


def _panel(lab: Path) -> tuple[EditorState, AssetPanel]:
    state = editor_state(Scene.load(lab / "scene.yaml"))
    panel = AssetPanel(state, thumbnails=_Drawn())
    panel.draw = _searched(panel, panel.draw)  # type: ignore[method-assign]
    return state, panel


def _searched(panel: AssetPanel, draw: Any) -> Any:
    def drawn() -> None:
        draw()
        panel.shelf.wait()

    return drawn


def test_assets_are_searched_and_dragged(lab: Path) -> None:
    state, panel = _panel(lab)
    floor = _Floor(state)
    got: list[Any] = []

    def drags(ctx: Any) -> None:
        for words, asset in (
            ("hinge", f"model:{lab / 'hinge.xml'}"),
            ("pdcontroller", "component:PDController"),
            ("gains.yaml", f"preset:{lab / 'gains.yaml'}"),
        ):
            ctx.item_input_value("//Assets/##words", words)
            ctx.yield_(2)
            tile = f"//Assets/**/{asset.replace('/', chr(92) + '/')}/##tile"
            ctx.item_drag_and_drop(tile, "//Floor/here")
            ctx.yield_(2)
            got.append(floor.got)

    run_ui_tests(app_with(state, [panel, floor]), drags)
    assert got == [
        ("model", str(lab / "hinge.xml")),
        ("component", "PDController"),
        ("preset", str(lab / "gains.yaml")),
    ]


def test_a_double_click_drops_on_what_is_selected(lab: Path) -> None:
    state, panel = _panel(lab)
    state.selection.only("swing")

    def clicks(ctx: Any) -> None:
        ctx.item_input_value("//Assets/##words", "PDController")
        ctx.yield_(2)
        ctx.item_double_click("//Assets/**/component:PDController/##tile")

    run_ui_tests(app_with(state, [panel]), clicks)
    assert [c.label for c in state.scene["swing"].components] == ["swing.PDController"]


def test_folders_are_added_and_removed_in_the_panel(lab: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "more.xml", HINGE)
    state, panel = _panel(lab)
    seen: list[bool] = []

    def adds(ctx: Any) -> None:
        ctx.item_click("//Assets/Folders")
        ctx.set_ref("//$FOCUSED")
        ctx.item_input_value("##folder", str(tmp_path / "none"))  # ends with Enter
        ctx.item_input_value("##folder", str(other))
        ctx.yield_(3)
        seen.append("more.xml" in [a.name for a in panel.shelf.assets])
        ctx.item_click("**/x##remove")
        ctx.yield_(3)
        seen.append("more.xml" in [a.name for a in panel.shelf.assets])

    run_ui_tests(app_with(state, [panel]), adds)
    assert seen == [True, False]
    assert [line.text for line in state.console.lines] == [
        f"there is no folder '{tmp_path / 'none'}'"
    ]


def test_pictures_are_uploaded_once_per_model(lab: Path) -> None:
    uploads: list[Picture] = []

    def upload(picture: Picture) -> int:
        uploads.append(picture)
        return 7

    state = editor_state(Scene.load(lab / "scene.yaml"))
    panel = AssetPanel(state, upload, _Drawn())
    panel._words = "hinge"
    with plain_imgui(panel.draw) as frames:
        frames()
        panel.shelf.wait()
        frames(5)
    panel.close()
    assert len(uploads) == 1
    assert uploads[0].shape == (SIZE[1], SIZE[0], 3)


def test_another_scene_brings_its_own_folder(lab: Path, tmp_path: Path) -> None:
    state, panel = _panel(lab)
    with plain_imgui(panel.draw) as frames:
        frames(2)
        assert "hinge.xml" in [a.name for a in panel.shelf.assets]
        state.session = editor_state("mjrig: 1\nactors: []\n").session
        frames(2)
        names = [a.name for a in panel.shelf.assets]
    assert "hinge.xml" not in names
    assert "quadruped.xml" in names
