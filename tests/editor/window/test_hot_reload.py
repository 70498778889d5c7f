"""What another program changes on disk is taken up after asking, or always; the state is kept."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import imgui

from mjrig.core.errors import MjrigError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from tests.campaign import Tally
from tests.editor.windows import Bench
from tests.wording import matches

KEY = imgui.Key
ASKS = "//Changed by another program/"
ARM = """<mujoco><include file="parts/size.xml"/><compiler meshdir="parts"/>
<asset><mesh name="m" file="m.obj"/></asset><worldbody><body><joint name="j"/>
<geom size="{size}" mass="1"/><geom type="mesh" mesh="m" mass="0.1"/></body></worldbody>
<actuator><motor name="j" joint="j"/></actuator></mujoco>"""
MESH = "v 0 0 0\nv {x} 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
SCENE = """\
mjrig: 1   # mine
include:
  - {file: more.yaml}
actors:
  - name: arm
    model: arm.xml
    components:
      - {type: PDController, kp: 10, kv: 0.5}
      - {type: "own:Counter"}
"""
MORE = "mjrig: 1\nactors:\n  - {name: other, model: arm.xml, pose: {position: [0, 3, 0]}}\n"
OWN = """from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.scalar_kinds import Float

class Counter(ActorComponent):
    \'\'\'Counts.\'\'\'
    amount = Float({amount}, doc="How much.")
"""


FILES = {
    "arm.xml": ARM.format(size=0.1),
    "parts/size.xml": '<mujoco><option timestep="0.002"/></mujoco>',
    "parts/m.obj": MESH.format(x=1),
    "more.yaml": MORE,
    "own.py": OWN.format(amount=1.0),
    "scene.yaml": SCENE,
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def _session(here: Path) -> Session:
    scene = Scene.load(here / "scene.yaml", trust=True)
    session = Session(scene, Simulation(World(scene, "python")))
    session.simulation.call(lambda world: world["arm"].set_targets({".*": 0.8}))
    session.simulation.step_once(200)
    return session


def _q(session: Session) -> float:
    return float(session.simulation.world["arm"].position[0])


def _amount(session: Session) -> float:
    return float(vars(session.simulation.world["arm"].components[1])["amount"])


CHANGES: dict[str, tuple[str, str, Callable[[World], Any]]] = {
    "model": ("arm.xml", ARM.format(size=0.3), lambda w: w.model.geom_size[0, 0]),
    "included model": (
        "parts/size.xml",
        '<mujoco><option timestep="0.004"/></mujoco>',
        lambda w: w.timestep,
    ),
    "mesh": ("parts/m.obj", MESH.format(x=2), lambda w: w.model.mesh_vert.max()),
    "included scene": ("more.yaml", MORE.replace("3, 0", "5, 0"), lambda w: w.model.body_pos.max()),
    "module": ("own.py", OWN.format(amount=7.0), lambda w: vars(w["arm"].components[1])["amount"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_the_scene_names_is_read_again_and_edits_and_state_stay(here: Path, what: str) -> None:
    session = _session(here)
    name, text, look = CHANGES[what]
    session.set("arm.PDController.kp", 12)
    before, q, world = look(session.simulation.world), _q(session), session.simulation.world
    for broken in ("<mujoco><not closed", "mjrig: [", ""):
        (here / name).write_text(broken)
        if (what, broken) in (("module", ""), ("included scene", "")) or what == "mesh":
            continue
        with pytest.raises(MjrigError):
            session.renew()
        assert session.simulation.world is world and _q(session) == q
        assert session.scene["arm"].components[0].authored("kp") == 12
    (here / name).write_text(text)
    os.utime(here / name, (1, 1))  # MuJoCo keeps meshes by the second they were written in
    session.renew()
    assert look(session.simulation.world) != before
    assert _q(session) == q != 0.0
    assert session.is_dirty and session.scene["arm"].components[0].authored("kp") == 12
    session.undo()
    assert session.scene.to_text() == SCENE and not session.is_dirty
    session.set("arm.Counter.amount", 3)
    assert _amount(session) == 3.0


def test_the_scene_itself_is_read_again_as_an_edit(here: Path) -> None:
    session, file = _session(here), here / "scene.yaml"
    session.set("arm.PDController.kv", 0.7)
    mine, q, version = session.scene.to_text(), _q(session), session.scene.version
    for broken in ("mjrig: [", "mjrig: 1\nactors: [{name: x, model: gone.xml}]\n", "", "a: 1\n"):
        file.write_text(broken)
        world = session.simulation.world
        with pytest.raises(MjrigError):
            session.reload()
        assert session.scene.to_text() == mine and session.scene.version == version
        assert session.simulation.world is world and session.is_dirty
        assert session.scene.changed_on_disk()
    theirs = SCENE.replace("kp: 10", "kp: 99").replace("# mine", "# theirs")
    file.write_text(theirs)
    session.reload()
    assert session.scene.to_text() == theirs and not session.is_dirty
    assert _q(session) == q and not session.scene.changed_on_disk()
    assert session.simulation.world["arm"].controllers[0].gains()["kp"][0] == 99
    session.undo()
    assert session.is_dirty and session.scene.to_text() == mine.replace("# mine", "# theirs")


# The window -------------------------------------------------------------------------------------


class Clock:
    """Seconds that pass with every look."""

    now = 0.0

    def __call__(self) -> float:
        Clock.now += 0.6
        return Clock.now


def _bench(here: Path) -> Bench:
    bench = Bench(Scene.load(here / "scene.yaml", trust=True))
    bench.window.files.hot._clock = Clock()
    return bench


def _until(ctx: Any, is_so: Callable[[], bool]) -> None:
    for _ in range(2000):
        if is_so():
            return
        ctx.yield_()
    raise AssertionError("it never happened")


def reported(bench: Bench) -> bool:
    """Whether the console has the finding that the model cannot be reloaded."""
    found = [line.finding for line in bench.state.console.lines if line.finding is not None]
    return [(f.kind, f.here) for f in found[-1:]] == [("changed-file", ["arm.xml"])]


def test_the_window_asks_and_takes_up_and_own_saves_are_quiet(here: Path) -> None:
    bench = _bench(here)
    hot, session = bench.window.files.hot, bench.state.session
    seen: list[Any] = []

    def changes(ctx: Any) -> None:
        ctx.yield_(6)
        session.set("arm.PDController.kp", 20)
        bench.window.files.save()
        ctx.yield_(12)
        seen.append(hot.dialog.is_open)
        (here / "arm.xml").write_text("<mujoco>")
        _until(ctx, lambda: reported(bench))
        seen.append(hot.dialog.is_open)
        (here / "arm.xml").write_text(ARM.format(size=0.3))
        _until(ctx, lambda: hot.dialog.is_open)
        ctx.yield_(2)
        ctx.item_click(ASKS + "###keep")
        ctx.yield_(8)
        seen.append(hot.dialog.is_open)
        (here / "arm.xml").write_text(ARM.format(size=0.4))
        _until(ctx, lambda: hot.dialog.is_open)
        ctx.yield_(2)
        ctx.item_check(ASKS + "from now on without asking")
        ctx.item_click(ASKS + "###take")
        ctx.yield_(2)
        seen.append(float(bench.state.simulation.world.model.geom_size[0, 0]))
        (here / "arm.xml").write_text(ARM.format(size=0.5))
        _until(ctx, lambda: float(bench.state.simulation.world.model.geom_size[0, 0]) == 0.5)

    bench.run(changes)
    assert seen == [False, False, False, 0.4]
    assert hot.always and _bench(here).window.files.hot.always  # remembered
    assert matches(bench.said[-1], "took up arm.xml, changed on …")


@pytest.mark.parametrize("answer", ["###keep", "###take"])
def test_unsaved_edits_are_never_replaced_without_a_question(here: Path, answer: str) -> None:
    bench = _bench(here)
    hot, session, file = bench.window.files.hot, bench.state.session, here / "scene.yaml"
    hot.always = True
    theirs = SCENE.replace("kp: 10", "kp: 99")

    def changes(ctx: Any) -> None:
        ctx.yield_(6)
        session.set("arm.PDController.kp", 20)
        file.write_text(theirs)
        _until(ctx, lambda: hot.dialog.is_open)
        ctx.yield_(2)
        ctx.item_click(ASKS + answer)
        ctx.yield_(4)

    bench.run(changes)
    kept = answer == "###keep"
    assert ("kp: 20" in session.scene.to_text()) is kept
    assert session.is_dirty is kept
    assert file.read_text() == theirs
    if not kept:
        session.undo()
        assert "kp: 20" in session.scene.to_text()
    else:
        assert not bench.window.files.save()  # it asks
        assert bench.window.files.changed.is_open


@pytest.mark.campaign
def test_whatever_is_written_the_world_is_that_of_the_files_or_the_one_before(
    here: Path, tally: Tally
) -> None:
    for rng in tally.cases("files changed on disk", 2, 150):
        for name, text in FILES.items():
            (here / name).write_text(text)
        session = _session(here)
        for step in range(rng.randrange(2, 8)):
            if rng.random() < 0.4 and "kp" in session.scene.to_text():
                session.set("arm.PDController.kp", step + 1)
            name = rng.choice([*FILES])
            whole = rng.choice([FILES[name], *(t for n, t, _ in CHANGES.values() if n == name)])
            whole = whole.replace("kp: 10", f"kp: {rng.randrange(10, 99)}")
            cut = whole[: rng.randrange(len(whole))] if rng.random() < 0.4 else whole
            (here / name).write_text(cut)
            os.utime(here / name, (step + 1, step + 1))
            _take_and_compare(session, here, name == "scene.yaml", tally)


def _take_and_compare(session: Session, here: Path, own: bool, tally: Tally) -> None:
    """Take a change up; what is right is what a world made from the files alone says."""
    text, world = session.scene.to_text(), session.simulation.world
    q = _q(session) if "arm" in world.articulations else None
    try:
        if own:
            fresh = World(Scene.load(here / "scene.yaml", trust=True), "python")
        else:
            fresh = World(Scene.parse(text, here, trust=True), "python")
    except MjrigError:
        fresh = None
    try:
        session.reload() if own else session.renew()
    except MjrigError as error:
        if fresh is not None:
            tally.found(f"refused: {error}")
        if session.simulation.world is not world or session.scene.to_text() != text:
            tally.found("refused, and something changed")
        return
    if fresh is None:
        tally.found("taken although it is broken")
        return
    now = session.simulation.world
    for field in ("geom_size", "body_pos", "mesh_vert", "actuator_gainprm"):
        if getattr(now.model, field).tolist() != getattr(fresh.model, field).tolist():
            tally.found(f"{field} differs")
    if "arm" in now.articulations and q is not None and _q(session) != q:
        tally.found("the state is lost")
