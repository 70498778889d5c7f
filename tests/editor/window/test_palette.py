"""The palette and the sheet of keys: made from the same list of commands as the menus."""

from typing import Any

import pytest
from imgui_bundle import hello_imgui, imgui

from mjrig.editor.ui.key_chords import chord, global_chord
from tests.editor.windows import SWINGS, Bench, press

KEY = imgui.Key


def test_a_command_is_found_by_some_letters_and_run_by_enter() -> None:
    bench = Bench.on(SWINGS)

    def finds(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("wiref")
        ctx.yield_(2)
        press(ctx, KEY.enter)

    bench.run(finds)
    assert not bench.window.palette.is_open
    assert bench.drawing.scene.flags[1]  # wireframe


def test_a_property_is_selected_and_seen_in_the_inspector_beside_the_others() -> None:
    """Whatever was searched for or closed there; nothing of the palette's text stays behind."""
    bench = Bench.on(SWINGS)
    seen: list[str] = []
    shown: list[bool] = []
    rows = "//Inspector/**/"

    def finds(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("right.pdcontroller.kv")
        ctx.yield_(2)
        seen.extend(entry.text for entry in bench.window.palette.found())
        press(ctx, KEY.enter)
        ctx.yield_(3)
        shown.extend(ctx.item_exists(f"{rows}{name}/###label") for name in ("kp", "kv"))

    def hides(ctx: Any) -> None:
        bench.state.selection.only("right.PDController")
        ctx.yield_(3)
        ctx.item_close(f"{rows}Gains##category")
        ctx.item_input("//Inspector/##search")
        ctx.key_chars("decim")
        ctx.yield_(2)
        shown.append(ctx.item_exists(f"{rows}kv/###label"))

    bench.run(hides, finds)
    assert seen == ["right.PDController.kv"]
    assert bench.state.selection.paths == ["right.PDController"]
    assert shown == [False, True, True]
    inspector = bench.window.inspector
    assert inspector._search == "" and inspector.sheet.revealed.is_it("right.PDController.kv")


def test_what_the_menus_of_actors_offer_is_found_and_done() -> None:
    bench = Bench.on(SWINGS)

    def finds(ctx: Any) -> None:
        for typed in (
            "capture pose right",
            "remove left.pdcontroller",
            "add component passthrough left",
            "go to pose",
        ):
            press(ctx, KEY.mod_ctrl, KEY.p)
            ctx.key_chars(typed)
            ctx.yield_(2)
            press(ctx, KEY.enter)
            ctx.yield_(3)

    bench.run(finds)
    assert bench.entries == [
        "Capture pose of right",
        "Delete left.PDController",
        "Add PassthroughController to left",
    ]
    assert any("reset to the keyframe 'pose'" in line for line in bench.said)


def test_the_palette_offers_every_entry_of_every_menu_of_an_actor() -> None:
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def looks(ctx: Any) -> None:
        ctx.item_click("//Hierarchy/###left", 1)
        ctx.yield_(2)
        labels = [entry.label for entry in bench.window.hierarchy._menu]
        lines = [e.text for e in bench.window.palette.entries() if e.about == "left"]
        seen.append((labels, [label for label in labels if not any(label in t for t in lines)]))

    bench.run(looks)
    [(labels, missing)] = seen
    assert {"Capture pose as keyframe", "Focus", "Follow", "PDController"} <= set(labels)
    assert not missing


def test_escape_closes_it_and_nothing_is_done() -> None:
    bench = Bench.on(SWINGS)

    def gives_up(ctx: Any) -> None:
        press(ctx, KEY.mod_ctrl, KEY.p)
        ctx.key_chars("quit")
        press(ctx, KEY.escape)

    bench.run(gives_up)
    assert not bench.window.palette.is_open
    assert not bench.state.wants_to_close


def test_every_command_is_in_the_palette_and_every_key_in_the_sheet() -> None:
    bench = Bench.on(SWINGS)
    counts: list[Any] = []

    def looks(ctx: Any) -> None:
        ctx.yield_(2)
        window = bench.window
        commands = window.all_commands.all()
        texts = {entry.text for entry in window.palette.entries()}
        counts.append([c.label for c in commands if c.enabled and c.label not in texts])
        listed = {(what, keys) for _, what, keys in window.sheet.rows(window.all_commands)}
        keyed = [c for c in commands if c.keys]
        pairs = [(c.label, ", ".join(filter(None, (c.keys, c.other_keys)))) for c in keyed]
        counts.append([pair for pair in pairs if pair not in listed])
        press(ctx, KEY.f1)
        counts.append(window.sheet.is_open)
        ctx.item_input("//Keys and commands/##search")
        ctx.key_chars("undo")
        ctx.yield_(2)
        counts.append([row[1] for row in window.sheet.rows(window.all_commands)])

    bench.run(looks)
    assert counts == [[], [], True, ["Undo"]]


PARTS = """\
mjrig: 1
frames: [{name: dock}]
actors:
  - name: left
    model: package:tests.editor/pendulum.xml
    pose: {position: [0, 0, 1]}
    components:
      - {type: PDController, kp: 10, delay: {steps: 2}, clamps: [{type: MaxEffort, max_effort: 3}]}
"""


def test_every_property_action_joint_and_panel_can_be_found_and_is_shown_not_hidden() -> None:
    bench = Bench.on(PARTS)
    seen: dict[str, Any] = {}

    def looks(ctx: Any) -> None:
        bench.state.selection.only("left.PDController")
        ctx.yield_(2)
        palette = bench.window.palette
        seen["lines"] = [line.text for line in palette.entries()]
        palette.open()
        for panel in bench.window.app.panels:
            next(line.run for line in palette.entries() if line.text == panel.title)()
        ctx.yield_(2)
        windows = hello_imgui.get_runner_params().docking_params.dockable_windows
        seen["shown"] = [window.is_visible for window in windows]
        palette._show("left.PDController", "set_gains")
        ctx.yield_(3)
        ctx.set_ref(ctx.window_info("//Inspector/rows").window)
        seen["action"] = ctx.item_exists("set_gains/set gains##call")
        seen["others"] = ctx.item_exists("**/kp/###label")

    bench.run(looks)
    lines = set(seen["lines"])
    controller = "left.PDController"
    for path in ("scene", "left", "left.pose", controller, f"{controller}.delay",
                 f"{controller}.clamps[0]", "frames[0]"):  # fmt: skip
        obj = bench.state.described(path)
        assert obj is not None
        wanted = {path, *(f"{path}.{prop.name}" for prop in obj.properties() if prop.shown)}
        assert not wanted - lines
    assert {f"{controller}.set_gains", "left.joint:swing"} <= lines
    first = next(line for line in seen["lines"] if bench.state.described(line) is not None)
    assert first == controller  # what is selected comes before the rest of the scene
    assert all(seen["shown"])
    assert (seen["action"], seen["others"]) == (True, True)
    assert not bench.problems


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Ctrl+Shift+S", (KEY.mod_ctrl, KEY.mod_shift, KEY.s)),
        ("Ctrl+1", (KEY.mod_ctrl, KEY._1)),
        ("F12", (KEY.f12,)),
    ],
)
def test_keys_with_ctrl_and_function_keys_act_anywhere(text: str, keys: tuple[Any, ...]) -> None:
    assert global_chord(text) == chord(*keys)


@pytest.mark.parametrize("text", ["", "Del", "Esc", "W", "Space", "Right", "F"])
def test_single_keys_do_not(text: str) -> None:
    assert global_chord(text) is None
