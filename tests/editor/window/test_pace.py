"""How often the window is drawn: fast while something moves, hardly at all while nothing does."""

from types import SimpleNamespace

from imgui_bundle import imgui

from mjrig.editor.ui.layout import seen_rows
from mjrig.editor.window.app import AWAITING_FRAMES, IDLE_FRAMES, MOST_FRAMES, Pace
from tests.editor.ui_driver import plain_imgui
from tests.editor.windows import SWINGS, Bench


def test_the_rate_follows_what_goes_on() -> None:
    goes_on = SimpleNamespace(moving=False, awaiting=False, software=True)
    pace = Pace(lambda: goes_on.moving, lambda: goes_on.awaiting, lambda: goes_on.software)
    fps = SimpleNamespace()
    with plain_imgui(lambda: None) as frames:
        frames(2)
        pace.set(fps)
        assert fps.enable_idling and fps.fps_idle == IDLE_FRAMES
        assert fps.fps_max < MOST_FRAMES  # the pointer alone is not worth more
        frames.press()
        pace.set(fps)
        assert fps.fps_max == MOST_FRAMES
        frames.release()
        goes_on.awaiting = True
        pace.set(fps)
        assert fps.enable_idling and fps.fps_idle == AWAITING_FRAMES
        goes_on.moving = True
        pace.set(fps)
        assert not fps.enable_idling and fps.fps_max == MOST_FRAMES
        goes_on.moving = goes_on.software = False
        pace.set(fps)
        assert fps.fps_max == MOST_FRAMES


def test_the_window_tells_what_moves_and_what_is_awaited() -> None:
    window = Bench.on(SWINGS).window
    assert not window._is_moving()
    assert window._is_awaiting()  # the first check
    while window.check.preflight.is_running:
        window.check.preflight.tick()
    assert not window._is_awaiting()
    window.viewport.notice.show("a key was pressed")
    assert window._is_awaiting()
    window.state.session.play()
    assert window._is_moving()


def test_of_a_long_table_the_seen_rows_and_the_held_one_are_built() -> None:
    built: list[int] = []
    few = list(range(20))

    def draw() -> None:
        built.clear()
        if imgui.begin_table("long", 1, int(imgui.TableFlags_.scroll_y)):
            for row in seen_rows(range(1000), 900):
                imgui.table_next_row()
                imgui.table_next_column()
                imgui.text(str(row))
                built.append(row)
            imgui.end_table()

    with plain_imgui(draw) as frames:
        frames(3)
    assert built[:3] == [0, 1, 2] and 900 in built and len(built) < 100
    assert list(seen_rows(few)) == few
