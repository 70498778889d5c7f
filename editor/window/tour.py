"""The tour: five steps through the window, offered at the first start; Help > Tour repeats it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from imgui_bundle import ImVec2, imgui

from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import config_folder, read_settings, write_settings
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import AMBER, GREY
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import bring_forward

_TITLE = "###tour"
#: Frames until its size fits another text, and with it its place in the corner.
_SETTLING = 4
_FLAGS = (
    imgui.WindowFlags_.always_auto_resize
    | imgui.WindowFlags_.no_docking
    | imgui.WindowFlags_.no_collapse
    | imgui.WindowFlags_.no_saved_settings
)


@dataclass(frozen=True)
class TourStep:
    """One step: a heading, what to do, and the panels it is about, which are outlined."""

    title: str
    text: str
    panels: tuple[str, ...] = ()


def tour_steps() -> tuple[TourStep, ...]:
    """The steps, in order."""
    return (
        TourStep(
            tr("A robot into the scene"),
            tr(
                "Open an example or a file, or drag a model from Assets into the viewport: it "
                "stands where you drop it. Drop a controller on it in the hierarchy: it then "
                "holds the pose it is in."
            ),
            ("Assets", "Viewport"),
        ),
        TourStep(
            tr("Look and run"),
            tr(
                "Space plays and pauses. Drag with the left button to turn the camera, with the "
                "right one to move it; the wheel away from you zooms in. Double click a body, "
                "then Ctrl+drag pushes it. Drag the time in the toolbar to go back."
            ),
            ("Viewport",),
        ),
        TourStep(
            tr("Select and edit"),
            tr(
                "Click anything in the viewport or in the hierarchy: the inspector shows all of "
                "its properties. Every edit acts at once, also while it runs, and Ctrl+Z takes "
                "it back."
            ),
            ("Hierarchy", "Inspector"),
        ),
        TourStep(
            tr("Tune"),
            tr(
                "The gain table has one row per actuator. Drag kp or kv and watch the plot; the "
                "panel Response shows step responses before and after; Tune computes gains."
            ),
            ("Gains", "Plots"),
        ),
        TourStep(
            tr("Save, and find your way"),
            tr(
                "Ctrl+S saves; only the lines you changed are touched. Check lists what is wrong "
                "with the scene. Ctrl+P finds any command or property, F1 lists all keys."
            ),
            ("Check",),
        ),
    )


class Tour:
    """A small window that leads through the steps.

    Args:
        state: state of the editor.
        bring: called with the title of a panel, brings it to the front.
    """

    def __init__(self, state: EditorState, bring: Callable[[str], object] = bring_forward) -> None:
        self.state = state
        self._bring = bring
        #: The step that is shown; None: it is not running.
        self.step: int | None = None
        self.is_offered = False
        self._placed: tuple[object, ...] = ()
        self._settling = 0

    def offer(self) -> None:
        """At the first start of all: ask whether to begin."""
        if not read_settings(settings_file()).get("tour_offered"):
            self.is_offered = True

    def start(self) -> None:
        """Begin with the first step."""
        self._answered()
        self._go(0)

    def skip(self) -> None:
        """End it, wherever it is."""
        self._answered()
        self.step = None

    def _go(self, step: int) -> None:
        self.step = step
        for panel in reversed(tour_steps()[step].panels):
            self._bring(panel)

    def _answered(self) -> None:
        """Do not offer it again."""
        self.is_offered = False
        settings = {**read_settings(settings_file()), "tour_offered": True}
        self.state.attempt(lambda: write_settings(settings_file(), settings))

    # Widgets ------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Build it if it runs or is offered; call every frame, outside of other windows."""
        if self.step is None and not self.is_offered:
            return
        view = imgui.get_main_viewport()
        corner = view.work_pos + view.work_size - ImVec2(px(16), px(48))
        placed = (self.step, corner.x, corner.y)
        self._settling = _SETTLING if placed != self._placed else max(self._settling - 1, 0)
        self._placed = placed
        if self._settling:  # later the user may move it
            imgui.set_next_window_pos(corner, imgui.Cond_.always, ImVec2(1.0, 1.0))
        title = tr("New here?") if self.step is None else tour_steps()[self.step].title
        if imgui.begin(f"{title}{_TITLE}", None, _FLAGS):
            imgui.push_text_wrap_pos(imgui.get_cursor_pos().x + px(330))
            if self.step is None:
                self._offer()
            else:
                self._step(self.step)
            imgui.pop_text_wrap_pos()
        imgui.end()

    def _offer(self) -> None:
        imgui.text_wrapped(
            tr("A tour of five steps shows the window. Help > Tour has it at any time.")
        )
        imgui.spacing()
        if imgui.button(f"{tr('Start the tour')}###start"):
            self.start()
        imgui.same_line()
        if imgui.button(f"{tr('Not now')}###skip"):
            self.skip()

    def _step(self, number: int) -> None:
        steps = tour_steps()
        step, last = steps[number], len(steps) - 1
        imgui.text_wrapped(step.text)
        imgui.spacing()
        imgui.text_colored(GREY, tr("{step} of {count}", step=number + 1, count=len(steps)))
        imgui.same_line()
        imgui.begin_disabled(number == 0)
        if imgui.button(f"{tr('Back')}###back"):
            self._go(number - 1)
        imgui.end_disabled()
        imgui.same_line()
        if number < last and imgui.button(f"{tr('Next')}###next"):
            self._go(number + 1)
        elif number == last and imgui.button(f"{tr('Done')}###next"):
            self.skip()
        imgui.same_line()
        if number < last and imgui.button(f"{tr('Skip')}###skip"):
            self.skip()
        for panel in step.panels:
            _outline(panel)


def settings_file() -> Path:
    """Where it is remembered that the tour was offered."""
    return config_folder() / "editor.json"


def _outline(panel: str) -> None:
    """A frame around a panel, if it is to be seen."""
    window = imgui.internal.find_window_by_name(panel)
    if window is None or not window.was_active or window.hidden:
        return
    low, high = window.pos, window.pos + window.size
    paint = imgui.get_foreground_draw_list()
    paint.add_rect(low, high, imgui.get_color_u32(AMBER), px(4), px(2.5))
