"""A policy dropped on a robot: pre-flight first, then one edit that undo takes back."""

from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import pytest

from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.scene.editing.scene import Scene
from mjrig.editor.assets import policy_import
from mjrig.editor.assets.drop_dialogs import ImportDialog
from mjrig.editor.assets.drops import drop_files
from mjrig.editor.assets.policy_import import accept, changes
from mjrig.editor.session.state import EditorState
from mjrig.lab.gains.gain_rows import gain_rows
from tests.components.importers import biped
from tests.components.importers.isaac import runs
from tests.editor.ui_driver import editor_state, wait_until
from tests.editor.windows import Bench
from tests.wording import mentions

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")
SCENE = """\
mjrig: 1
actors:
  - name: walker
    model: biped.xml
    pose: {position: [1, 0, 0.2]}
    components:
      - {type: PDController, kp: 7, kv: 1}
"""
WALK = Path(str(package_files("mjrig.assets").joinpath("walk").joinpath("policy.yaml")))
QUADRUPED = """\
mjrig: 1
actors:
  - name: dog
    model: package:mjrig.assets/quadruped/quadruped.xml
    components:
      - {type: PDController, kp: 100, kv: 5}
      - {type: TrotGait}
"""


def files(folder: Path, size: int = 23) -> list[Path]:
    """A configuration of unitree_rl_gym and its network."""
    return [
        biped.write(folder / "g.yaml", biped.GYM),
        biped.network(folder / "policy.onnx", size),
    ]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    made = biped.model(tmp_path)
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE.replace("biped.xml", made.name))
    return path


def offered(state: EditorState) -> ImportDialog:
    """The dialog, after it has looked at what was dropped."""
    assert state.wants_to_import is not None
    dialog = ImportDialog(state)
    dialog.ask(*state.wants_to_import)
    dialog.wait()
    return dialog


def messages(state: EditorState) -> list[str]:
    return [line.text for line in state.console.lines]


def test_settings_and_network_are_one_import_and_one_edit(scene: Path, tmp_path: Path) -> None:
    bench = Bench(Scene.load(scene))
    before = scene.read_text()
    seen: list[Any] = []

    def accepts(ctx: Any) -> None:
        assert drop_files(bench.state, files(tmp_path), "walker") == [True, True]
        ctx.yield_(2)
        wait_until(ctx, lambda: bench.window.importing.offer)
        ctx.yield_(3)
        seen.append(list(bench.window.importing._changes))
        ctx.item_click("//Import a policy/###add")
        ctx.yield_(2)

    bench.run(accepts)
    assert not bench.problems
    written = tmp_path / "policies" / "walker-unitree_rl_gym.yaml"
    assert seen[0] == [
        "add PDController with the policy's gains, Policy",
        "remove walker.PDController",
        f"write {written}",
    ]
    assert bench.entries == ["Import walker-unitree_rl_gym.yaml to walker"]
    actor = bench.state.scene["walker"]
    assert [c.label for c in actor.components] == ["walker.PDController", "walker.Policy"]
    assert written.is_file()
    live = bench.state.simulation.world["walker"]
    assert any(isinstance(c, PolicyComponent) for c in live.components)
    bench.state.session.undo()
    assert bench.state.scene.to_text() == before
    bench.state.session.redo()
    assert len(bench.state.simulation.world["walker"].components) == 2


def test_gains_that_came_with_the_policy_say_so(scene: Path, tmp_path: Path) -> None:
    state = editor_state(Scene.load(scene))
    drop_files(state, files(tmp_path), "walker")
    offer = offered(state).offer
    assert offer is not None
    accept(state, offer)
    rows = gain_rows(state.simulation.world, state.scene)
    assert {row.origins["kp"] for row in rows} == {"imported from unitree_rl_gym"}
    state.session.set("walker.PDController.kp", {"left_knee_joint": 3.0, "default": 7.0})
    rows = gain_rows(state.simulation.world, state.scene)
    assert "imported from unitree_rl_gym" not in {row.origins["kp"] for row in rows}


def test_the_robot_starts_over_the_floor_where_its_actor_stands(tmp_path: Path) -> None:
    text = QUADRUPED.replace("    components", "    pose: {position: [1, 0, 0.2]}\n    components")
    state = editor_state(Scene.parse(text, tmp_path))
    drop_files(state, [WALK])
    offer = offered(state).offer
    assert offer is not None
    accept(state, offer)
    alone = offer.described["free_bodies"][0]["position"][2]
    assert state.scene["dog"].free_bodies[0].position[2] == pytest.approx(alone - 0.2)
    x, y, z = state.simulation.world.data.qpos[:3]
    assert (x, y, z) == pytest.approx((1.0, 0.0, alone))


def test_what_does_not_fit_is_shown_and_cannot_be_added(scene: Path, tmp_path: Path) -> None:
    bench = Bench(Scene.load(scene))

    def looks(ctx: Any) -> None:
        drop_files(bench.state, files(tmp_path, size=40), "walker")
        ctx.yield_(2)
        wait_until(ctx, lambda: bench.window.importing.offer)
        ctx.yield_(3)
        ctx.item_click("//Import a policy/Cancel")

    bench.run(looks)
    offer = bench.window.importing.offer
    assert offer is not None
    assert "takes 40 values" in offer.refused
    assert not bench.entries
    assert not (tmp_path / "policies").exists()


def test_what_is_refused_can_be_overridden_in_the_dialog(scene: Path, tmp_path: Path) -> None:
    """Gains of another order refuse an import by place; the joints' names decide."""
    settings, network = files(tmp_path)
    settings.write_text(biped.GYM.replace("[60, 80, 60, 80]", "[60, 60, 80, 80]"))
    bench = Bench(Scene.load(scene))
    order = "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint"
    seen: list[str] = []

    def overrides(ctx: Any) -> None:
        drop_files(bench.state, [settings, network], "walker")
        ctx.yield_(2)
        dialog = bench.window.importing
        wait_until(ctx, lambda: dialog.offer)
        ctx.yield_(2)
        assert dialog.offer is not None
        seen.append(dialog.offer.refused)
        ctx.item_click("//Import a policy/###said")
        ctx.yield_(2)
        dialog.replacements.assign({"joints": order, "scale": "0.5", "height": "0.9"})
        ctx.item_click("//Import a policy/###again")
        ctx.yield_(2)
        wait_until(ctx, lambda: dialog.offer)
        ctx.yield_(3)
        ctx.item_click("//Import a policy/###add")
        ctx.yield_(2)

    bench.run(overrides)
    assert "--joints sets the order" in seen[0]
    actor = bench.state.scene["walker"]
    written = PolicyFile.load(tmp_path / "policies" / "walker-unitree_rl_gym.yaml")
    assert written.joints == tuple(order.split(","))
    assert written.action_recipe.scale.tolist() == [0.5] * 4
    assert actor.free_bodies[0].position[2] == pytest.approx(0.9 - 0.2)


def test_an_error_that_names_an_option_keeps_the_dialog_open(scene: Path, tmp_path: Path) -> None:
    state = editor_state(Scene.load(scene))
    settings, network = files(tmp_path)
    four, three = ("[60, 80, 60, 80]", "[1, 2, 1, 2]", "[-0.1, 0.3, -0.1, 0.3]"), "[1, 2, 1]"
    text = biped.GYM.replace("num_actions: 4\nnum_obs: 23", "num_actions: 3\nnum_obs: 20")
    for values in four:
        text = text.replace(values, three)
    settings.write_text(text)
    biped.network(tmp_path / "policy.onnx", 20, 3)
    drop_files(state, [settings, network], "walker")
    dialog = offered(state)
    assert dialog.is_open and "name its joints: the field joints" in dialog._problem
    dialog.replacements.joints = "left_hip_joint,left_knee_joint"
    dialog.examine()
    dialog.wait()
    assert dialog._problem == "the field joints has 2 names, the policy 3"
    dialog.replacements.joints = ",".join(biped.JOINTS[:3])
    dialog.examine()
    dialog.wait()
    assert dialog.offer is not None and dialog.offer.imported.matched.joints == biped.JOINTS[:3]


def test_files_that_say_nothing_are_told_in_the_console(scene: Path, tmp_path: Path) -> None:
    state = editor_state(Scene.load(scene))
    settings, network = files(tmp_path)
    settings.write_text("a: 1\n")
    assert drop_files(state, [settings, network], "walker") == [True, True]
    dialog = offered(state)
    assert not dialog.is_open
    assert messages(state)[-1].startswith("g.yaml, policy.onnx: not a configuration of a known")


def test_settings_without_a_network_say_so(scene: Path, tmp_path: Path) -> None:
    state = editor_state(Scene.load(scene))
    drop_files(state, files(tmp_path)[:1], "walker")
    offered(state)
    assert messages(state) == ["there is no network: give the .onnx or .pt file last"]


def test_a_policy_file_of_our_own_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "scene.yaml").write_text(QUADRUPED)
    state = editor_state(Scene.load(tmp_path / "scene.yaml"))
    assert drop_files(state, [WALK]) == [True]  # the only robot there is
    offer = offered(state).offer
    assert offer is not None
    assert changes(state, offer) == [
        "add PDController with the policy's gains, Policy",
        "remove dog.PDController",
        "disable dog.TrotGait",
        "start in the policy's pose",
    ]
    accept(state, offer)
    actor: Any = state.scene["dog"].to_data()
    assert actor["components"][-1] == {
        "type": "Policy",
        "file": "package:mjrig.assets/walk/policy.yaml",
    }
    assert actor["components"][1] == {"type": "TrotGait", "enabled": False}
    state.simulation.step_once(1000)
    assert state.simulation.world.data.qpos[0] > 0.2  # it walks
    assert not (tmp_path / "policies").exists()


def test_an_edit_that_the_world_refuses_leaves_no_file(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = editor_state(Scene.load(scene))
    drop_files(state, files(tmp_path), "walker")
    offer = offered(state).offer
    assert offer is not None
    monkeypatch.setattr(policy_import, "reference", lambda path, scene: "gone.yaml")
    assert not state.attempt(lambda: policy_import.accept(state, offer))
    assert not list((tmp_path / "policies").iterdir())
    assert not len(state.session.undo_stack)


def test_a_run_brings_its_plant_along(tmp_path: Path) -> None:
    runs.model(tmp_path)
    scene = biped.write(tmp_path / "scene.yaml", SCENE.replace("biped.xml", "walker.xml"))
    state = editor_state(Scene.load(scene))
    before = state.scene.to_text()
    env = runs.write(tmp_path, runs.env())
    drop_files(state, [env, biped.network(tmp_path / "policy.onnx", 27, 5)], "walker")
    offer = offered(state).offer
    assert offer is not None and not offer.refused
    lines = changes(state, offer)
    assert mentions(lines, "actuators and joints as …")
    assert "sim.integrator: implicitfast" in lines
    accept(state, offer)
    world = state.simulation.world
    assert {b.kind for b in world["walker"].actuators} == {"position"}
    assert world.timestep == 0.005
    assert [c.label for c in state.scene["walker"].components] == ["walker.Policy"]
    state.session.undo()
    assert state.scene.to_text() == before
