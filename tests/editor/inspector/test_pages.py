"""Pages of joints and actuators: what they show, what they edit, where they lead."""

import math
from pathlib import Path
from typing import Any

from imgui_bundle import imgui

from mjrig.core.sim.world import World
from tests.editor.inspector.zoo import COMPANY, company
from tests.editor.windows import Bench

JOINTS = ("root", "hip", "knee", "neck", "rail", "claw")
ACTUATORS = ("hip_motor", "knee_servo", "puller")


def _damping(bench: Bench, actor: str, joint: str) -> float:
    model = bench.state.simulation.world.model
    return float(model.dof_damping[int(model.joint(f"{actor}/{joint}").dofadr[0])])


def _written(bench: Bench, key: str = "dynamics") -> Any:
    return bench.state.scene["one"].to_data().get(key)


def test_every_joint_and_actuator_of_every_actor_has_a_page(tmp_path: Path) -> None:
    bench = company(tmp_path)
    drawn: list[str] = []

    def look(ctx: Any) -> None:
        for actor in ("one", "two", "guest"):
            paths = [f"{actor}.joint:{n}" for n in JOINTS]
            for path in [*paths, *(f"{actor}.actuator:{n}" for n in ACTUATORS)]:
                bench.state.selection.only(path)
                ctx.yield_(1)
                if ctx.item_exists("//Inspector/###header"):
                    drawn.append(path)

    bench.run(look)
    assert len(drawn) == 3 * (len(JOINTS) + len(ACTUATORS))
    assert bench.problems == []


def test_an_edit_is_of_one_joint_and_can_be_reset_and_undone(tmp_path: Path) -> None:
    bench = company(tmp_path)
    state = bench.state
    state.selection.only("one.joint:knee")
    state.simulation.world.data.qpos[7] = 0.4
    state.simulation.publish()
    seen: list[Any] = []
    generations = [state.simulation.generation]

    def edits(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.set_ref("//Inspector/parameters")
        ctx.item_input_value("damping/##0", 0.7)
        seen.append((_written(bench), [_damping(bench, a, "knee") for a in ("one", "two")]))
        ctx.item_click("damping/##reset")
        ctx.yield_(2)
        seen.append((_written(bench), [_damping(bench, "one", j) for j in ("hip", "knee")]))
        generations.append(state.simulation.generation)  # no new world so far
        ctx.item_click("range/Add")
        ctx.yield_(2)
        ctx.item_input_value("range/##1", 1.5)
        ctx.item_click("actuatorfrcrange/Add")
        ctx.yield_(2)
        seen.append(_written(bench))

    bench.run(edits)
    assert seen[0] == ({"damping": {"hip": 0.3, "knee": 0.7}}, [0.7, 0.0])
    assert seen[1] == ({"damping": {"hip": 0.3}}, [0.3, 0.0])
    limits = {"range": {"knee": [-math.pi, 1.5]}, "actuatorfrcrange": {"knee": [-100.0, 100.0]}}
    assert seen[2] == {"damping": {"hip": 0.3}, **limits}
    assert generations[0] == generations[1] < state.simulation.generation
    assert state.simulation.world.data.qpos[7] == 0.4
    World(state.scene)  # what was written is a scene
    for _ in bench.entries:
        state.session.undo()
    assert state.scene.to_text() == COMPANY


def test_several_joints_are_edited_together(tmp_path: Path) -> None:
    bench = company(tmp_path)
    bench.state.selection.paths = ["one.joint:hip", "one.joint:claw"]

    def edits(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.item_input_value("//Inspector/parameters/armature/##0", 0.05)
        ctx.yield_(2)

    bench.run(edits)
    assert _written(bench)["armature"] == {"hip": 0.05, "claw": 0.05}
    assert len(bench.entries) == 1


def test_an_included_actor_shows_its_values_and_says_where_to_edit_it(tmp_path: Path) -> None:
    bench = company(tmp_path)
    bench.state.selection.only("guest.joint:hip")
    seen: list[Any] = []

    def look(ctx: Any) -> None:
        ctx.yield_(2)
        info = ctx.item_info("//Inspector/parameters/damping/##0")
        seen.append(bool(info.item_flags & imgui.ItemFlags_.disabled))
        seen.append(ctx.item_exists("//Inspector/parameters/damping/##reset"))

    bench.run(look)
    assert seen == [True, False]
    assert "guest.yaml" in bench.state.why_not_edited("guest")


def test_a_servos_gains_are_edited_and_its_joint_is_a_click_away(tmp_path: Path) -> None:
    bench = company(tmp_path)
    bench.state.selection.only("one.actuator:knee_servo")
    selected: list[str] = []
    written: list[Any] = []

    def clicks(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.item_input_value("//Inspector/parameters/kp/##0", 55.0)
        ctx.item_click("//Inspector/parameters/dampratio/Add")
        ctx.yield_(2)
        written.append(_written(bench, "native_gains"))
        ctx.item_input_value("//Inspector/parameters/kv/##0", 3.0)
        ctx.yield_(2)
        written.append(_written(bench, "native_gains"))
        for link in ("one.joint:knee", "one.actuator:knee_servo"):
            ctx.item_click(f"//Inspector/###{link}")
            ctx.yield_(2)
            selected.append(bench.state.selection.paths[0])
        bench.state.selection.only("one.actuator:puller")
        ctx.yield_(2)
        ctx.item_click("//Inspector/###one.joint:claw")
        selected.append(bench.state.selection.paths[0])

    bench.run(clicks)
    assert bench.problems == []
    assert written[0] == {"kp": {"knee_servo": 55.0}, "dampratio": {"knee_servo": 1.0}}
    assert written[1] == {"kp": {"knee_servo": 55.0}, "kv": {"knee_servo": 3.0}}
    assert selected == ["one.joint:knee", "one.actuator:knee_servo", "one.joint:claw"]


def test_the_slider_of_a_page_jogs_and_a_button_leads_to_the_gain_table(tmp_path: Path) -> None:
    bench = company(tmp_path)
    bench.state.selection.only("one.joint:hip")
    seen: list[Any] = []

    def jogs(ctx: Any) -> None:
        ctx.yield_(2)
        ctx.mouse_move("//Inspector/###jog")
        ctx.mouse_down(0)
        ctx.mouse_move_to_pos(ctx.item_info("//Inspector/###jog").rect_full.max)
        ctx.yield_(2)
        bench.state.simulation.drain()
        robot = bench.state.simulation.world["one"]
        seen.append([lease.holder for lease in robot.setpoints.leases])
        seen.append(float(robot.setpoints.position[robot.actuator_names.index("hip_motor")]))
        ctx.mouse_up(0)
        ctx.yield_(2)
        bench.state.simulation.drain()
        seen.append([lease.holder for lease in robot.setpoints.leases])
        ctx.item_click("//Inspector/Show in the gain table")
        ctx.yield_(2)

    bench.run(jogs)
    assert seen[0] == ["jog"] and seen[1] > 0.9 and seen[2] == []
    assert bench.window.gains.tuning.chosen == ["one.PDController.hip_motor"]
