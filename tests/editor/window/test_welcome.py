"""An empty window: recent files, examples with pictures, the tour, and a way to all of it."""

from pathlib import Path
from typing import Any

import numpy as np

from mjrig.editor.assets.assets import examples
from mjrig.editor.assets.thumbnails import Pictures, Thumbnails
from mjrig.editor.session.user_files import MOST, note_recent, recent_files
from mjrig.editor.window.tour import tour_steps
from tests.editor.windows import SWINGS, Bench, menu

EMPTY = "mjrig: 1\n"
CARD = "//Viewport/welcome"


class _Drawn(Thumbnails):
    """Pictures that are there at once."""

    def get(self, path: Path) -> Any:
        return np.zeros((4, 4, 3), np.uint8)


def _look_into(ctx: Any, name: str = "") -> None:
    """Names are of the card from now on, or of a part of it."""
    ctx.set_ref(ctx.window_info(f"{CARD}/{name}" if name else CARD).window)


def test_an_example_is_opened_by_its_picture() -> None:
    bench = Bench.on(EMPTY)
    window = bench.window
    uploaded: list[Any] = []

    def upload(picture: Any) -> int:
        uploaded.append(picture)
        return len(uploaded)

    window.welcome.pictures = Pictures(_Drawn(), upload)
    seen: list[bool] = []

    def opens(ctx: Any) -> None:
        ctx.yield_(3)
        seen.append(window.welcome.is_open)
        _look_into(ctx, "examples")
        ctx.item_click("pendulum.yaml/##example")
        ctx.yield_(3)
        seen.append(window.welcome.is_open)

    bench.run(opens)
    assert seen == [True, False]
    assert bench.actors == ["pendulum"]
    assert len(uploaded) == len(examples())  # one texture each, however many frames
    opened = [e.path for e in examples() if e.path.name == "pendulum.yaml"]
    assert recent_files() == opened
    assert not bench.problems


def test_a_recent_file_is_opened_from_the_list_and_from_the_menu(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.yaml" for name in ("one", "two")]
    for path in paths:
        path.write_text(SWINGS)
        note_recent(path)
    bench = Bench.on(EMPTY)
    opened: list[Any] = []

    def opens(ctx: Any) -> None:
        ctx.yield_(3)
        opened.append([c.label for c in bench.window.all_commands.all() if "recent" in c.menu])
        _look_into(ctx, "recent")
        ctx.item_click("**/one.yaml")
        ctx.yield_(3)
        opened.append(bench.state.scene.path)
        menu(ctx, "File/Open recent/Clear the list of recent files")

    bench.run(opens)
    assert opened[0][:2] == [str(paths[1]), str(paths[0])]
    assert opened[1] == paths[0]
    assert recent_files() == []


def test_the_list_of_recent_files_has_an_end_and_no_doubles(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.yaml" for i in range(MOST + 5)]
    for path in paths:
        path.write_text(EMPTY)
        note_recent(path)
    note_recent(paths[-3])
    kept = recent_files()
    assert len(kept) == MOST
    assert kept[0] == paths[-3]
    assert len(set(kept)) == MOST
    paths[-3].unlink()
    assert recent_files()[0] == paths[-1]  # what is gone is not offered


def test_an_empty_viewport_has_a_floor_grid_and_anything_can_be_dropped_there() -> None:
    bench = Bench.on(EMPTY)
    lines: list[int] = []

    def looks(ctx: Any) -> None:
        ctx.yield_(3)
        lines.append(bench.drawing.scene.ngeom)
        bench.drawing.has_grid = False
        ctx.yield_(2)
        lines.append(bench.drawing.scene.ngeom)
        ctx.window_focus("//Assets")
        ctx.yield_(2)
        bench.window.assets.shelf.wait()
        bench.window.assets._words = "pendulum.xml"
        ctx.yield_(2)
        tile = "model:package:mjrig.assets/pendulum/pendulum.xml".replace("/", "\\/")
        ctx.item_drag_and_drop(f"//Assets/**/{tile}/##tile", "//Viewport/##view")
        ctx.yield_(3)

    bench.run(looks)
    assert lines[0] > 0 == lines[1]
    assert bench.actors == ["pendulum"]
    assert not bench.problems
    assert not bench.window.welcome.is_open


def test_closed_it_stays_away_until_the_help_menu_shows_it() -> None:
    bench = Bench.on(EMPTY)
    seen: list[bool] = []

    def closes(ctx: Any) -> None:
        ctx.yield_(3)
        _look_into(ctx)
        ctx.item_click("empty")
        ctx.yield_(2)
        seen.append(bench.window.welcome.is_open)
        menu(ctx, "Help/Welcome")
        seen.append(bench.window.welcome.is_open)

    bench.run(closes)
    assert seen == [False, True]


# The tour ---------------------------------------------------------------------------------------


def test_the_tour_is_offered_once_and_can_be_skipped_and_repeated() -> None:
    bench = Bench.on(SWINGS)
    tour = bench.window.tour
    steps: list[Any] = []

    def takes(ctx: Any) -> None:
        tour.offer()
        ctx.yield_(2)
        assert ctx.item_exists("//###tour/###start")
        ctx.item_click("//###tour/###skip")
        ctx.yield_(2)
        steps.append(tour.step)
        menu(ctx, "Help/Tour")
        for _ in tour_steps():
            ctx.yield_(2)
            steps.append(tour.step)
            ctx.item_click("//###tour/###next")
        steps.append(tour.step)
        tour.start()
        ctx.yield_(2)
        ctx.item_click("//###tour/###next")
        ctx.item_click("//###tour/###back")
        ctx.item_click("//###tour/###skip")
        steps.append(tour.step)

    bench.run(takes)
    assert steps == [None, 0, 1, 2, 3, 4, None, None]
    tour.offer()
    assert not tour.is_offered
    titles = {panel.title for panel in bench.window.app.panels}
    assert {panel for step in tour_steps() for panel in step.panels} <= titles
