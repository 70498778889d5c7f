"""Commands for a policy from sliders, keys and a gamepad; nothing of it is an edit."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imgui_bundle import imgui

from mjrig.editor.panels import gamepad
from mjrig.editor.panels.commands_panel import Driving
from mjrig.editor.panels.gamepad import sticks
from mjrig.editor.session.state import EditorState
from tests.editor.ui_driver import editor_state
from tests.editor.windows import Bench, press

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")
KEY = imgui.Key
PANEL = "//Command/"
WALKS = """\
mjrig: 1
actors:
  - name: dog
    model: package:mjrig.assets/quadruped/quadruped.xml
    keyframe: home
    components:
      - {type: PDController, kp: {".*_calf": 220, default: 150}, kv: 5}
      - {type: Policy, file: "package:mjrig.assets/walk/policy.yaml"}
"""


def command(state: EditorState) -> list[float]:
    """What the running policy is told."""
    state.simulation.drain()
    state.simulation.publish()
    policy = state.simulation.frame.robots["dog"].policy
    assert policy is not None
    return [float(value) for value in policy.command]


def driving(text: str = WALKS) -> Driving:
    return Driving(editor_state(text))


def test_the_frame_shows_the_policy() -> None:
    state = editor_state(WALKS)
    state.simulation.step_once(45)
    policy = state.simulation.frame.robots["dog"].policy
    assert policy is not None
    assert (policy.label, policy.ticks) == ("dog.Policy", 3)
    assert policy.rate == pytest.approx(50.0)
    assert (policy.observation.shape, policy.action.shape) == ((47,), (12,))


def test_keys_approach_their_share_of_the_range_and_decay_when_let_go() -> None:
    drive = driving()
    drive.turn_on(True)
    drive.tick(0.01, (1.0, 0.0, -1.0))
    first = command(drive.state)
    assert 0.0 < first[0] < 0.05
    for _ in range(200):
        drive.tick(0.01, (1.0, 0.0, -1.0))
    assert command(drive.state) == pytest.approx([0.4, 0.0, -0.4], abs=1e-3)
    for _ in range(100):
        drive.tick(0.01, (0.0, 0.0, 0.0))
    assert command(drive.state) == [0.0, 0.0, 0.0]
    drive.turn_on(False)
    assert command(drive.state) == [0.5, 0.0, 0.0]  # the file's own again
    assert not len(drive.state.session.undo_stack)


def test_backwards_has_a_range_of_its_own() -> None:
    drive = driving()
    drive.share = 1.0
    drive.turn_on(True)
    drive.tick(100.0, (-1.0, 1.0, 0.0))
    assert command(drive.state) == pytest.approx([-0.4, 0.25, 0.0])


def test_released_it_is_what_the_scene_says() -> None:
    drive = driving(WALKS.replace('yaml"}', 'yaml", command: [0.1, 0, 0.2]}'))
    driven = drive.driven()
    assert driven is not None
    drive.hold(driven, [0.3, 0.0, 0.0])
    drive.tick(0.01, (0.0, 0.0, 0.0))
    assert command(drive.state) == [0.3, 0.0, 0.0]
    drive.release()
    assert command(drive.state) == [0.1, 0.0, 0.2]


def test_kept_it_is_one_edit() -> None:
    drive = driving()
    driven = drive.driven()
    assert driven is not None
    drive.hold(driven, [0.3, 0.0, 0.1])
    drive.keep(driven)
    assert drive.state.session.undo_stack.names == ["Set dog.Policy.command"]
    assert command(drive.state) == [0.3, 0.0, 0.1]
    drive.state.session.undo()
    assert command(drive.state) == [0.5, 0.0, 0.0]


def test_a_new_world_is_told_again() -> None:
    drive = driving()
    driven = drive.driven()
    assert driven is not None
    drive.hold(driven, [0.3, 0.0, 0.0])
    drive.tick(0.01, (0.0, 0.0, 0.0))
    drive.state.session.set("dog.pose.position", [1, 0, 0])
    drive.tick(0.01, (0.0, 0.0, 0.0))
    assert command(drive.state) == [0.3, 0.0, 0.0]


def test_without_a_policy_there_is_nobody_to_tell() -> None:
    drive = driving("mjrig: 1\nactors: []\n")
    drive.turn_on(True)
    drive.tick(0.01, (1.0, 0.0, 0.0))
    assert (drive.driven(), drive.is_on, drive.held) == (None, False, None)


def test_sticks_have_a_dead_middle_and_reach_their_ends() -> None:
    assert sticks([0.1, -0.1, 0.14, 0.0]) == (0.0, 0.0, 0.0)
    assert sticks([-1.0, -1.0, 1.0, 0.0]) == (1.0, 1.0, -1.0)
    assert sticks([0.0, 0.575, 0.0, 0.0])[0] == pytest.approx(-0.5)


def test_the_first_gamepad_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import glfw

    axes = SimpleNamespace(axes=[0.0, -1.0, 0.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr(glfw, "joystick_is_gamepad", lambda joystick: joystick == 3)
    monkeypatch.setattr(glfw, "get_gamepad_state", lambda joystick: axes)
    assert gamepad.read() == (1.0, 0.0, 0.0)
    monkeypatch.setattr(glfw, "joystick_is_gamepad", lambda joystick: False)
    assert gamepad.read() is None


def test_keys_drive_only_with_the_toggle_and_in_the_viewport() -> None:
    bench = Bench.on(WALKS)
    seen: dict[str, Any] = {}
    state = bench.state

    def hold(ctx: Any, key: Any) -> list[float]:
        ctx.key_down(int(key))
        ctx.yield_(20)
        values = command(state)
        ctx.key_up(int(key))
        ctx.yield_(2)
        return values

    def drives(ctx: Any) -> None:
        ctx.window_focus("//Viewport")
        flags = np.array(bench.drawing.option.flags)
        seen["off"] = hold(ctx, KEY.up_arrow)
        ctx.window_focus("//Command")
        ctx.item_click(PANEL + "Drive")
        seen["elsewhere"] = hold(ctx, KEY.w)
        ctx.window_focus("//Viewport")
        ctx.yield_(2)
        flags = np.array(bench.drawing.option.flags)
        seen["forward"] = hold(ctx, KEY.w)
        seen["left"] = hold(ctx, KEY.left_arrow)
        press(ctx, KEY.c)  # no drawing option meanwhile
        seen["same picture"] = np.array_equal(flags, bench.drawing.option.flags)
        seen["steps"] = state.simulation.frame.steps
        bench.window.commands.read_pad = lambda: (0.0, -1.0, 0.0)
        ctx.yield_(20)
        seen["pad"] = command(state)
        bench.window.commands.read_pad = lambda: None
        ctx.window_focus("//Command")
        ctx.item_click(PANEL + "Drive")
        ctx.yield_(2)
        seen["after"] = command(state)

    bench.run(drives)
    assert seen["off"] == [0.5, 0.0, 0.0]
    assert seen["elsewhere"] == [0.0, 0.0, 0.0]
    assert seen["forward"][0] > 0.0
    assert seen["left"][2] > 0.0
    assert seen["same picture"]
    assert seen["steps"] == 0
    assert seen["pad"][1] < 0.0
    assert seen["after"] == [0.5, 0.0, 0.0]
    assert not bench.problems
    assert not bench.entries


def test_sliders_tell_and_buttons_give_back(tmp_path: Path) -> None:
    bench = Bench.on(WALKS, tmp_path)
    seen: list[list[float]] = []

    def slides(ctx: Any) -> None:
        ctx.window_focus("//Command")
        ctx.item_input_value(PANEL + "vx", 0.25)
        ctx.yield_(2)
        seen.append(command(bench.state))
        ctx.item_click(PANEL + "Zero")
        ctx.yield_(2)
        seen.append(command(bench.state))
        ctx.item_click(PANEL + "Release")
        ctx.yield_(2)
        seen.append(command(bench.state))
        ctx.item_input_value(PANEL + "wz", 0.5)
        ctx.yield_(2)
        ctx.item_click(PANEL + "Keep")

    bench.run(slides)
    assert seen == [[0.25, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
    assert bench.entries == ["Set dog.Policy.command"]
    assert bench.state.scene["dog"].components[1].to_data()["command"] == [0.5, 0.0, 0.5]
    assert not bench.problems


SWITCHES = WALKS.replace(
    '- {type: Policy, file: "package:mjrig.assets/walk/policy.yaml"}',
    """- type: PolicySwitch
        options:
          - {name: walk, file: "package:mjrig.assets/walk/policy.yaml"}
          - {name: stand, when: still}
""",
)


def test_the_panel_shows_and_changes_who_is_in_charge() -> None:
    bench = Bench.on(SWITCHES)
    state = bench.state
    seen: list[str] = []

    def current() -> str:
        state.simulation.drain()
        state.simulation.step_once(1)
        policy = state.simulation.frame.robots["dog"].policy
        assert policy is not None
        return str(policy.current)

    def chooses(ctx: Any) -> None:
        seen.append(current())
        ctx.window_focus("//Command")
        for item in ("stand", "walk", "Auto", "Drive"):
            ctx.item_click(PANEL + item)
            ctx.yield_(2)
            seen.append(current())
        ctx.window_focus("//Viewport")
        ctx.yield_(2)
        press(ctx, KEY._1)
        ctx.yield_(2)
        seen.append(current())

    bench.run(chooses)
    assert seen == ["walk", "stand", "walk", "walk", "stand", "walk"]
    assert not bench.problems
