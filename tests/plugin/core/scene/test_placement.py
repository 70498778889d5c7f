"""Includes, copies on a grid and random draws: what a scene puts into the world."""

from pathlib import Path

import numpy as np
import pytest

from mjrig.core.errors import PropertyError, SceneError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.placement import flattened, place
from mjrig.core.sim.world import World
from tests.wording import regex

PENDULUM = "package:mjrig.assets/pendulum/pendulum.xml"
DOG = "package:mjrig.assets/quadruped/quadruped.xml"


def _scene(rest: str) -> Scene:
    return Scene.parse("mjrig: 1\n" + rest)


def _names(scene: Scene) -> list[str]:
    return [p.name for p in place(scene).actors]


# Copies -----------------------------------------------------------------------------------------


def test_copies_stand_on_a_grid_with_x_slowest() -> None:
    scene = _scene(f"""
actors:
  - name: swing
    model: {PENDULUM}
    pose: {{position: [1, 0, 0]}}
    replicate: {{count: [2, 3], spacing: [5, 2]}}
""")
    placed = place(scene).actors
    assert [p.name for p in placed] == [f"swing_{i}" for i in range(6)]
    assert [p.item.pose.position.tolist() for p in placed][:4] == [
        [1, 0, 0], [1, 2, 0], [1, 4, 0], [6, 0, 0],
    ]  # fmt: skip
    assert scene.actors[0].pose is not None
    assert scene.actors[0].pose.position.tolist() == [1, 0, 0]


def test_copies_are_articulations_of_their_own() -> None:
    scene = _scene(f"""
actors:
  - name: swing
    model: {PENDULUM}
    replicate: {{count: 3, spacing: 2}}
    components: [{{type: PDController, kp: 10, kv: 1}}]
""")
    world = World(scene)
    world["swing_1"].set_targets({".*": 0.5})
    world.step(2000)
    angles = [float(robot.position[0]) for robot in world.articulations.values()]
    assert angles[1] == pytest.approx(0.5, abs=0.4)
    assert abs(angles[0]) < 1e-6
    assert abs(angles[2]) < 1e-6


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ("[0]", "must be >= 1, got 0"),
        ("[1.5]", "must be whole numbers"),
        ("[1, 1, 1, 1]", "1 to 3"),
        ("[1e9, 1e9]", "count: must be at most 2000 … 1e+18"),
    ],
)
def test_a_grid_needs_whole_positive_numbers(count: str, message: str) -> None:
    with pytest.raises(SceneError, match=regex(message)):
        _scene(f"actors: [{{name: a, model: {PENDULUM}, replicate: {{count: {count}}}}}]")


def test_a_copy_that_takes_the_name_of_another_actor_is_refused() -> None:
    scene = _scene(f"""
actors:
  - {{name: swing, model: {PENDULUM}, replicate: {{count: 2}}}}
  - {{name: swing_1, model: {PENDULUM}}}
""")
    with pytest.raises(SceneError, match=r"<text>:5:12: .*'swing_1' is not unique"):
        place(scene)


def test_what_stands_on_an_actor_is_copied_with_it() -> None:
    scene = _scene(f"""
actors:
  - name: finger
    prop: {{type: BoxProp, size: [0.01, 0.01, 0.1]}}
    attach: {{to: hand/body}}
    pose: {{position: [0, 0.1, 0]}}
    replicate: {{count: 2, spacing: 0.05}}
  - {{name: hand, prop: {{type: BoxProp}}, attach: {{to: swing/arm}}}}
  - {{name: swing, model: {PENDULUM}, replicate: {{count: 2, spacing: 3}}}}
  - {{name: ball, prop: {{type: SphereProp, free: true}}, pose: {{relative_to: swing/arm}}}}
""")
    assert _names(scene) == [
        "finger_0_0", "finger_0_1", "finger_1_0", "finger_1_1",
        "hand_0", "hand_1", "swing_0", "swing_1", "ball_0", "ball_1",
    ]  # fmt: skip
    world = World(scene)
    for i in (0, 1):
        arm, hand = world.model.body(f"swing_{i}/arm"), world.model.body(f"hand_{i}/body")
        assert hand.parentid[0] == arm.id
        for k, x in enumerate((0.0, 0.05)):
            finger = world.model.body(f"finger_{i}_{k}/body")
            assert finger.parentid[0] == hand.id
            assert finger.pos.tolist() == [x, 0.1, 0.0]
        assert world.data.body(f"ball_{i}/body").xpos[0] == pytest.approx(3.0 * i)


def test_a_circle_of_copies_is_refused_as_any_other() -> None:
    scene = _scene("""
actors:
  - {name: a, prop: {type: BoxProp}, attach: {to: b}, replicate: {count: 2}}
  - {name: b, prop: {type: BoxProp}, attach: {to: a}}
""")
    with pytest.raises(SceneError, match=r"<text>:\d:\d+: .*attach.to: "):
        World(scene)


def test_copies_of_copies_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mjrig.core.scene.placement.MAX_COPIES", 100)
    scene = _scene("""
actors:
  - {name: a, prop: {type: BoxProp}, replicate: {count: [11, 9]}}
  - {name: b, prop: {type: BoxProp}, attach: {to: a}, replicate: {count: [2]}}
""")
    message = r"<text>:5:\d+: .*at most 100 copies, got 2 on each of 99 'a'"
    with pytest.raises(SceneError, match=message):
        place(scene)


# Random draws -----------------------------------------------------------------------------------

RANDOM = f"""
seed: 7
randomise:
  - {{path: "swing_.*.pose.position", low: [-0.1, -0.1, 0], high: [0.1, 0.1, 0]}}
  - {{path: "swing_.*.PDController.kp", operation: scale, low: 0.8, high: 1.2}}
actors:
  - name: swing
    model: {PENDULUM}
    replicate: {{count: 3, spacing: 2}}
    components: [{{type: PDController, kp: 10, kv: 1}}]
"""


def _drawn(world: World) -> tuple[list[float], list[float]]:
    robots = world.articulations.values()
    gains = [float(r.controllers[0].gains()["kp"][0]) for r in robots]
    places = [float(p.item.pose.position[0]) for p in world.placements.actors]
    return gains, places


def test_draws_are_the_same_for_one_seed_and_differ_between_actors_and_seeds() -> None:
    scene = _scene(RANDOM)
    first, again = _drawn(World(scene)), _drawn(World(scene))
    other = _drawn(World(scene, seed=8))
    assert first == again
    assert first != other
    gains, places = first
    assert len(set(gains)) == 3
    assert all(8.0 <= kp <= 12.0 for kp in gains)
    assert all(abs(x - 2.0 * i) <= 0.1 for i, x in enumerate(places))


@pytest.mark.parametrize("execution", ["python", "native"])
def test_drawn_gains_are_the_same_in_every_execution(execution: str) -> None:
    scene = _scene(RANDOM)
    world = World(scene, execution)
    assert _drawn(world) == _drawn(World(scene))
    assert world.execution == execution


def test_each_actuator_has_a_draw_of_its_own() -> None:
    scene = _scene(f"""
randomise: [{{path: dog.PDController.kp, operation: scale, low: 0.5, high: 1.5}}]
actors:
  - {{name: dog, model: {DOG}, components: [{{type: PDController, kp: 40, kv: 1}}]}}
""")
    kp = World(scene)["dog"].controllers[0].gains()["kp"]
    assert len(set(kp.tolist())) == 12
    assert scene.actors[0].components[0].authored("kp") == 40


def test_a_normal_draw_and_a_set() -> None:
    scene = _scene(f"""
randomise:
  - {{path: a.pose.position, operation: set, distribution: normal, mean: [1, 2, 3], deviation: 0}}
  - {{path: a.joints, low: 0.2, high: 0.2}}
actors: [{{name: a, model: {PENDULUM}, joints: {{swing: 0.1}}}}]
""")
    world = World(scene)
    assert world.placements.actors[0].item.pose is not None
    assert world.placements.actors[0].item.pose.position.tolist() == [1, 2, 3]
    assert world["a"].position[0] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{path: swng.pose.position}", "4:12: …names no actor…did you mean 'swing'"),
        ("{path: swing.pose.positon}", "has no property 'positon'; did … 'position'"),
        ("{path: swing.model}", "is not numeric and …"),
        ("{path: swing.dynamics.damping}", "is not numeric and …"),
        ("{path: swing.pose.position, low: [0, 0], high: [1, 1]}", r"gives 2 numbers for 3 values"),
        ("{path: swing.pose.position, low: 1, high: 0}", r"low is above high"),
        ("{path: swing.PDController.kp, operation: scale, low: -1, high: -1}", r"must be >= 0"),
    ],
)
def test_a_draw_that_cannot_be_made_is_refused_at_its_place(entry: str, message: str) -> None:
    text = f"""
randomise:
  - {entry}
actors:
  - name: swing
    model: {PENDULUM}
    pose: {{position: [0, 0, 0]}}
    components: [{{type: PDController, kp: 10, kv: 1}}]
"""
    with pytest.raises(SceneError, match=regex(message)):
        World(_scene(text))


# Includes ---------------------------------------------------------------------------------------


def test_included_names_and_their_references_get_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(f"""
mjrig: 1
frames: [{{name: corner, position: [0, 0, 1]}}]
collision_groups: [{{name: g, members: [swing], ignores: [g]}}]
actors:
  - {{name: swing, model: {PENDULUM}, pose: {{relative_to: corner}}}}
""")
    scene = Scene.parse(
        """
mjrig: 1
include:
  - {file: part.yaml, prefix: left_}
  - {file: part.yaml, prefix: right_}
""",
        tmp_path,
    )
    placements = place(scene)
    assert [p.name for p in placements.actors] == ["left_swing", "right_swing"]
    assert [p.name for p in placements.frames] == ["left_corner", "right_corner"]
    poses = [p.item.pose.relative_to for p in placements.actors]
    assert poses == ["left_corner", "right_corner"]
    assert placements.groups[1].item.members == ("right_(?:swing)",)


def test_one_file_twice_without_a_prefix_is_refused_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(
        f"mjrig: 1\nactors:\n  - name: swing\n    model: {PENDULUM}\n"
    )
    scene = Scene.parse("mjrig: 1\ninclude: [part.yaml, part.yaml]\n", tmp_path)
    with pytest.raises(SceneError, match=r"part.yaml:3:11: .*'swing' is not unique.*prefix"):
        place(scene)


def test_a_flattened_scene_builds_the_same_world(tmp_path: Path) -> None:
    scene = _scene(RANDOM)
    world = World(scene)
    flat = flattened(Scene, world.placements, scene.sim)
    assert [a.name for a in flat.actors] == list(world.articulations)
    assert not flat.randomise
    other = World(flat)
    assert np.array_equal(other.data.qpos, world.data.qpos)


def test_a_scene_made_in_python_says_which_name_stands_twice() -> None:
    scene = Scene()
    scene.add_actor("a", model=PENDULUM, replicate={"count": 2})
    scene.add_actor("a_0", model=PENDULUM)
    with pytest.raises(PropertyError, match="'a_0' is not unique"):
        place(scene)


def test_draws_of_an_included_file_are_made_for_its_actors(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(
        f"mjrig: 1\nrandomise: [{{path: swing.pose.position, low: 1, high: 2}}]\n"
        f"actors: [{{name: swing, model: {PENDULUM}, pose: {{position: [0, 0, 0]}}}}]\n"
    )
    text = (
        "mjrig: 1\ninclude:\n  - {file: part.yaml, prefix: a_}\n  - {file: part.yaml, prefix: b_}\n"
    )
    placed = place(Scene.parse(text, tmp_path)).actors
    positions = [p.item.pose.position.tolist() for p in placed]
    assert all(1.0 <= x <= 2.0 for position in positions for x in position)
    assert positions[0] != positions[1]
