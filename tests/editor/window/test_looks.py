"""Icons beside words, order in the inspector, menus of actors, and edits with their values."""

from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.properties import registry
from mjrig.core.properties.component import Component
from mjrig.core.scene.editing.scene import Actor
from mjrig.editor.assets.actor_menu import icon_of_asset, icon_of_path
from mjrig.editor.assets.hierarchy import delete
from mjrig.editor.edits.edits import UNSET, Edit, change_text
from mjrig.editor.inspector.fields import EditedObject, fields_of
from mjrig.editor.inspector.property_rows import by_category
from mjrig.editor.session.panel_edits import PanelEdits
from mjrig.editor.ui import colours, icons
from mjrig.editor.viewport import cameras
from tests.editor.ui_driver import plain_imgui
from tests.editor.windows import SWINGS, Bench, menu


@pytest.fixture(scope="module")
def state() -> Any:
    """The state of a window."""
    return Bench.on(SWINGS).state


def test_every_icon_is_a_character_of_the_icon_font() -> None:
    signs = {n: v for n, v in vars(icons).items() if n.isupper() and isinstance(v, str)}
    assert len(signs) > 30
    assert all(len(sign) == 1 and 0xE000 <= ord(sign) <= 0xF8FF for sign in signs.values())
    label = icons.labelled(icons.PLAY, "Play", "play")
    assert label.startswith(icons.PLAY) and label.endswith("Play###play")


def test_whatever_stands_in_the_tree_or_on_a_tile_has_an_icon(state: Any) -> None:
    paths = ["scene", "left", "left.PDController", "left.joint:swing", "left.actuator:swing"]
    found = [icon_of_path(state, path) for path in paths]
    wanted = [icons.SCENE, icons.ROBOT, icons.CONTROLLER, icons.JOINT, icons.ACTUATOR]
    assert found == wanted
    for name in registry.names(Component):
        assert len(icon_of_asset("component", name)) == 1


def test_pose_and_gains_come_first_and_what_is_only_read_last(state: Any) -> None:
    edits = PanelEdits(state)
    for name in registry.names(Component):
        obj = registry.get(name, Component)()
        order = by_category(fields_of([EditedObject("x", obj)], edits))
        heads = list(order)
        assert "Gains" not in heads or heads[0] == "Gains"
        assert "Telemetry" not in heads or heads[-1] == "Telemetry"
        for rows in order.values():
            read = [row.prop.read_only for row in rows]
            assert read == sorted(read)
    actor = by_category(fields_of([EditedObject("x", Actor(name="x"))], edits))
    assert next(iter(actor)) == "Transform"


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        ([Edit(("a", "kp"), 10, 20)], "10 -> 20"),
        ([Edit(("a", "kp"), UNSET, 20.5)], "default -> 20.5"),
        ([Edit(("a", "kp"), 1, 2), Edit(("a", "kv"), 3, UNSET)], "kp 1 -> 2, kv 3 -> default"),
        ([Edit(("a", f"k{i}"), 0, i) for i in range(9)], "9 values"),
        ([Edit(("actors", 0), UNSET, {"name": "dog"})], ""),
        ([Edit(("a", "t"), "x" * 50, "y")], f"{'x' * 23}… -> y"),
    ],
)
def test_an_edit_tells_its_values(edits: list[Edit], text: str) -> None:
    assert change_text(edits) == text


@pytest.mark.parametrize("theme", list(colours.THEMES))
def test_menus_popups_and_dialogs_are_opaque(theme: str) -> None:
    with plain_imgui(lambda: None):
        assert not colours.is_applied(theme)
        colours.apply_theme(theme)
        assert colours.is_applied(theme)
        style = imgui.get_style()
        for kind in (imgui.Col_.popup_bg, imgui.Col_.window_bg, imgui.Col_.menu_bar_bg):
            assert style.color_(kind).w == 1.0


def test_the_menu_of_an_actor_adds_a_component_looks_at_it_and_follows_it() -> None:
    bench = Bench.on(SWINGS)
    seen: dict[str, Any] = {}

    def open_menu(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###right", 1)
        ctx.set_ref("//$FOCUSED")

    def works(ctx: Any) -> None:
        ctx.yield_(3)
        open_menu(ctx)
        ctx.item_click("Focus")
        ctx.yield_(2)
        seen["looks at"] = bench.drawing.camera.lookat.tolist()
        for step in ("follows", "again"):
            open_menu(ctx)
            ctx.item_click("Follow")
            ctx.yield_(2)
            seen[step] = cameras.text(bench.drawing)
        bench.state.session.set("right.pose.position", [0, 3, 0])
        delete(bench.state, "right.PDController")
        ctx.yield_(2)
        open_menu(ctx)
        ctx.menu_click("Add component/Controllers/PIDController")
        ctx.yield_(3)
        commands = bench.window.all_commands.all()
        seen["history"] = [c.label for c in commands if c.menu == "Edit/History"]
        menu(ctx, "Edit/History/0. As opened")

    bench.run(works)
    assert abs(seen["looks at"][1] - 2.0) < 0.5
    assert (seen["follows"], seen["again"]) == ("follow right", "free")
    lines = seen["history"]
    assert lines[1] == "1. Set right.pose.position: [0, 2, 0] -> [0, 3, 0]"
    assert len(lines) == 4 and "PIDController" in lines[3]
    assert bench.state.scene.to_text() == SWINGS  # all of it undone


def test_the_pose_of_an_actor_is_open_and_edited_also_where_the_scene_has_none() -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def moves(ctx: Any) -> None:
        bench.state.selection.only("left")
        ctx.yield_(3)
        ctx.set_ref(ctx.window_info("//Inspector/rows").window)
        ctx.item_input_value("props/pose/position/##2", 0.5)
        ctx.yield_(3)
        seen.append(bench.state.scene["left"].to_data().get("pose"))
        bench.window._menus.commands.parts.edits.undo()
        ctx.yield_(2)

    bench.run(moves)
    assert seen == [{"position": [0, 0, 0.5]}]
    assert bench.state.scene.to_text() == SWINGS
