"""The command panel: command a policy by slider, key or gamepad, and watch it."""

import time
from collections.abc import Callable

import numpy as np
from imgui_bundle import ImVec2, imgui

from mjrig.editor.replay.driving import Driven, Driving
from mjrig.editor.replay.gamepad import Sticks
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.world_frame import PolicyFrame
from mjrig.editor.texts.texts import deferred, tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY
from mjrig.editor.ui.panel import Panel
from mjrig.editor.ui.scale import px

_KEY = imgui.Key
#: Keys that go forward, sideways and turn: (one way, the other).
_WAYS = (
    ((_KEY.w, _KEY.up_arrow), (_KEY.s, _KEY.down_arrow)),
    ((_KEY.q,), (_KEY.e,)),
    ((_KEY.a, _KEY.left_arrow), (_KEY.d, _KEY.right_arrow)),
)
#: Keys of the policies of a switch, in order.
_NUMBERS = tuple(getattr(_KEY, f"_{i}") for i in range(1, 10))
_ABOUT = deferred(
    "While the viewport has the mouse or the focus:\n"
    "W, S or up, down: forward, back\n"
    "A, D or left, right: turn\n"
    "Q, E: sideways\n"
    "1 to 9: the policies of a switch\n"
    "Gamepad: left stick walks, right stick turns.\n"
    "Releasing the keys stops. Other shortcuts on these keys are off meanwhile."
)


def drive_keys() -> tuple[tuple[str, str], ...]:
    """What the keys do while Drive is on: (what, keys)."""
    words = (
        (tr("Walk forward"), tr("Walk back")),
        (tr("Walk to the left"), tr("Walk to the right")),
        (tr("Turn to the left"), tr("Turn to the right")),
    )
    pairs = zip(words, _WAYS, strict=True)
    both = [pair for names, keys in pairs for pair in zip(names, keys, strict=True)]
    return tuple((what, ", ".join(map(imgui.get_key_name, keys))) for what, keys in both)


class CommandsPanel(Panel):
    """Sliders and keys for the policy of the selected actor.

    Args:
        state: state of the window.
        has_focus: whether keys are meant for the viewport.
    """

    title = "Command"
    place = "right"

    def __init__(self, state: EditorState, has_focus: Callable[[], bool] = lambda: False) -> None:
        super().__init__(state)
        self.driving = Driving(state)
        self._has_focus = has_focus
        self._last = time.perf_counter()
        #: The sticks of a gamepad; set where there is a window of the desktop.
        self.read_pad: Callable[[], Sticks | None] = lambda: None
        self._pad: Sticks | None = None

    @property
    def takes_keys(self) -> bool:
        """Whether letters and arrows are commands now, and nothing else."""
        return self.driving.is_on and self._has_focus()

    def tick(self) -> None:
        """Once per frame, inside of it: take the keys and the sticks."""
        now = time.perf_counter()
        wall, self._last = now - self._last, now
        axes = [0.0, 0.0, 0.0]
        if self.takes_keys and not imgui.get_io().want_text_input:
            axes = [_pressed(one) - _pressed(other) for one, other in _WAYS]
            self._choose_by_key()
        self._pad = self.read_pad() if self.driving.is_on else None
        if self._pad is not None:
            axes = [float(np.clip(a + b, -1.0, 1.0)) for a, b in zip(axes, self._pad, strict=True)]
        self.driving.tick(wall, axes)

    # Widgets ------------------------------------------------------------------------------------

    def draw(self) -> None:
        driven = self.driving.driven()
        if driven is None:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(tr("Select an actor that has a policy, or drop a policy on one."))
            imgui.pop_style_color()
            return
        imgui.text(driven.frame.label)
        imgui.same_line()
        imgui.text_disabled(
            tr("{rate:g} Hz, tick {ticks}", rate=driven.frame.rate, ticks=driven.frame.ticks)
        )
        if driven.frame.choices:
            self._choices(driven)
        if driven.names:
            self._drive()
            self._sliders(driven)
            self._buttons(driven)
        else:
            imgui.text_disabled(tr("This policy takes no command."))
        _watch(driven.frame)

    def _choices(self, driven: Driven) -> None:
        """Which policy of a switch is in charge; a click puts another one there."""
        for i, name in enumerate(driven.frame.choices):
            if i:
                imgui.same_line()
            if imgui.radio_button(name, name == driven.frame.current):
                self.driving.choose(driven, name)
            imgui.set_item_tooltip(tr("Put this policy in charge; key {key}", key=i + 1))
        imgui.same_line()
        if imgui.small_button(tr("Auto")):
            self.driving.choose(driven, "")
        imgui.set_item_tooltip(tr("Conditions and times of the switch decide"))

    def _choose_by_key(self) -> None:
        driven = self.driving.driven()
        choices = driven.frame.choices if driven is not None else ()
        for key, name in zip(_NUMBERS, choices, strict=False):
            if driven is not None and imgui.is_key_pressed(key, False):
                self.driving.choose(driven, name)

    def _drive(self) -> None:
        driving = self.driving
        changed, on = imgui.checkbox(tr("Drive"), driving.is_on)
        if changed:
            driving.turn_on(on)
        imgui.set_item_tooltip(tr(_ABOUT))
        imgui.same_line()
        imgui.set_next_item_width(px(90))
        percent = round(100 * driving.share)
        _, percent = imgui.slider_int("##share", percent, 10, 100, "%d %%")
        driving.share = percent / 100
        imgui.set_item_tooltip(tr("Fraction of the command range that a key gives"))
        if not driving.is_on:
            return
        imgui.same_line()
        if self._pad is not None:
            imgui.text_colored(GREEN, tr("gamepad"))
        elif self._has_focus():
            imgui.text_colored(GREEN, tr("keys"))
        else:
            imgui.text_colored(AMBER, tr("point at the viewport"))

    def _sliders(self, driven: Driven) -> None:
        held = self.driving.held
        values = driven.frame.command if held is None else held
        for i, name in enumerate(driven.names):
            low, high = driven.ranges[i]
            imgui.set_next_item_width(px(-70))
            moved, new = imgui.slider_float(name, float(values[i]), low, high, "%.2f")
            if moved:
                command = np.array(values, dtype=np.float64)
                command[i] = new
                self.driving.hold(driven, command)

    def _buttons(self, driven: Driven) -> None:
        driving = self.driving
        if imgui.button(tr("Zero")):
            driving.hold(driven, np.zeros(len(driven.names)))
        imgui.same_line()
        imgui.begin_disabled(driving.held is None)
        if imgui.button(tr("Release")):
            driving.turn_on(False)
        imgui.set_item_tooltip(tr("Return to the scene's command, or the policy's schedule"))
        imgui.same_line()
        if imgui.button(tr("Keep")):
            self.state.attempt(lambda: driving.keep(driven))
        imgui.set_item_tooltip(tr("Write the command into the scene; can be undone"))
        imgui.end_disabled()
        imgui.same_line()
        now = ", ".join(f"{v:+.2f}" for v in driven.frame.command)
        imgui.text_disabled(tr("now {now}", now=now))


def _pressed(keys: tuple[imgui.Key, ...]) -> float:
    return float(any(imgui.is_key_down(key) for key in keys))


def _watch(frame: PolicyFrame) -> None:
    """The network's input and output in the last tick."""
    for name, values in (("observation", frame.observation), ("action", frame.action)):
        if not values.size:
            continue
        imgui.separator_text(tr("{name}: {size} values", name=name, size=values.size))
        imgui.plot_lines(f"##{name}", np.ascontiguousarray(values), graph_size=ImVec2(-1, px(48)))
        imgui.text_disabled(
            tr("from {least:+.3g} to {greatest:+.3g}", least=values.min(), greatest=values.max())
        )
