"""The check panel: findings of the scene as it is edited, and a badge in the status bar."""

from typing import Any

from mjrig.core.findings import Level
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.panels import check_panel
from mjrig.lab.check.preflight import findings
from tests.editor.ui_driver import wait_until
from tests.editor.windows import SWINGS, Bench


def checked(bench: Bench, ctx: Any) -> None:
    """Let frames pass until the check of the present scene ended."""
    ctx.yield_(2)
    wait_until(ctx, lambda: not bench.window.check.preflight.is_running)


def test_an_edit_is_checked_and_undone_again(monkeypatch: Any) -> None:
    monkeypatch.setattr(check_panel, "DEBOUNCE", 0.0)
    bench = Bench.on(SWINGS)
    seen: list[Any] = []

    def edits(ctx: Any) -> None:
        look = bench.window.check.preflight
        checked(bench, ctx)
        seen.append(look.badge)
        bench.state.session.set("left.PDController.kv", 900.0)
        checked(bench, ctx)
        seen.append(look.badge)
        assert look.latest is not None
        world = World(Scene.parse(bench.state.scene.to_text()))
        seen.append([f.data() for f in look.latest.findings] == [f.data() for f in findings(world)])
        bench.state.session.undo()
        checked(bench, ctx)
        seen.append(look.badge)

    bench.run(edits)
    assert seen[0] == seen[3] == ("1 warning", Level.WARNING)  # two floors
    assert seen[1][1] is Level.ERROR
    assert seen[2]


def test_a_click_fixes_what_was_found_as_one_edit(monkeypatch: Any) -> None:
    monkeypatch.setattr(check_panel, "DEBOUNCE", 0.0)
    bench = Bench.on(SWINGS.replace("kv: 0.5", "kv: 900"))
    before = bench.state.scene.to_text()
    seen: list[Any] = []

    def clicks(ctx: Any) -> None:
        look = bench.window.check.preflight
        ctx.window_focus("//Check")
        checked(bench, ctx)
        seen.append(look.badge)
        ctx.item_click("//Check/$$0/###fix0")  # the unstable loop
        checked(bench, ctx)
        seen.append(look.badge)
        seen.append(bench.entries)
        assert look.latest is not None
        floors = [f.kind for f in look.latest.findings].index("two-floors")
        ctx.item_click(f"//Check/$${floors}/###fix0")
        checked(bench, ctx)
        seen.append(look.badge)
        bench.state.session.undo()
        bench.state.session.undo()
        checked(bench, ctx)
        seen.append(look.badge)

    bench.run(clicks)
    assert seen[0] == seen[4] == ("1 error, 1 warning", Level.ERROR)
    assert seen[1] == ("2 warnings", Level.WARNING)
    assert len(seen[2]) == 1 and seen[2][0].startswith("Fix left.")
    assert seen[3] == ("1 warning", Level.WARNING)  # close to the bound, as was said
    assert bench.state.scene.to_text() == before
    assert bench.problems == []


def test_a_finding_selects_what_it_is_about(monkeypatch: Any) -> None:
    monkeypatch.setattr(check_panel, "DEBOUNCE", 0.0)
    bench = Bench.on(SWINGS.replace("kv: 0.5", "kv: 900"))

    def clicks(ctx: Any) -> None:
        checked(bench, ctx)
        ctx.window_focus("//Check")
        found = bench.window.check.preflight.latest
        assert found is not None
        bench.window.check._select(found.findings[0])

    bench.run(clicks)
    assert bench.state.selection.paths[0].startswith("left.")


def test_a_scene_that_cannot_be_built_says_why(monkeypatch: Any) -> None:
    monkeypatch.setattr(check_panel, "DEBOUNCE", 0.0)
    bench = Bench.on(SWINGS)

    def broken(scene: Scene) -> Any:
        raise ValueError("no such world")

    monkeypatch.setattr(check_panel, "World", broken)

    def fails(ctx: Any) -> None:
        checked(bench, ctx)
        ctx.window_focus("//Check")
        ctx.yield_(3)

    bench.run(fails)
    assert bench.window.check.preflight.problem == "ValueError: no such world"
    assert bench.window.check.preflight.badge[1] is Level.ERROR
