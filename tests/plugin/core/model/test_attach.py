"""Actors on actors: what is welded where, in which order, and what cannot be."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.sim.mujoco_export import export
from tests.places import SHARED
from tests.plugin.composing import ARM, FLOOR, GRIPPER, scene_of, world_of
from tests.wording import regex
from tests.worlds import refused

PD = "components: [{type: PDController, kp: 20, kv: 1}]"
ON_ARM = f"""actors:
  - {{name: gripper, model: gripper.xml, attach: {{to: arm/flange, child: mount}},
     joints: {{finger: 0.02}}, {PD}}}
  - {{name: arm, model: arm.xml, {PD}}}
"""


def pose(world: mjrig.World, kind: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation matrix of a body or site."""
    element = getattr(world.data, kind)(name)
    return element.xpos.copy(), element.xmat.reshape(3, 3).copy()


def test_a_site_of_one_is_put_on_a_site_of_the_other(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM)
    world["arm"].put(world["arm"].keyframe("home"))
    mujoco.mj_forward(world.model, world.data)
    at, turn = pose(world, "site", "gripper/mount")
    there, turned = pose(world, "site", "arm/flange")
    assert at == pytest.approx(there, abs=1e-12)
    assert turn == pytest.approx(turned, abs=1e-12)
    model = world.model
    assert model.body("gripper/palm").parentid[0] == model.body("arm/hand").id
    assert list(world.articulations) == ["gripper", "arm"]


def test_the_pose_is_the_offset_in_what_it_is_attached_to(tmp_path: Path) -> None:
    text = ON_ARM.replace("joints:", "pose: {position: [0, 0, 0.1]}, joints:")
    world = world_of(tmp_path, text)
    at, _ = pose(world, "site", "gripper/mount")
    there, turned = pose(world, "site", "arm/flange")
    assert at == pytest.approx(there + turned @ [0, 0, 0.1], abs=1e-12)


@pytest.mark.parametrize(
    ("to", "body", "place"),
    [
        ("arm/hand", "arm/hand", [0.3, 0, 0.5]),
        ("arm", "arm/base", [0, 0, 0.5]),
        ("arm/bench", "world", [0, 0, 0.4]),
        ("world", "world", [0, 0, 0]),
        ("shelf", "arm/hand", [0.3, 0, 0.7]),
    ],
)
def test_what_an_actor_can_be_attached_to(
    tmp_path: Path, to: str, body: str, place: list[float]
) -> None:
    text = f"""frames: [{{name: shelf, on: arm/hand, position: [0, 0, 0.2]}}]
actors:
  - {{name: gripper, model: gripper.xml, attach: {{to: {to}, child: palm}}}}
  - {{name: arm, model: arm.xml}}
"""
    world = world_of(tmp_path, text)
    model = world.model
    assert model.body(model.body("gripper/palm").parentid[0]).name == body
    assert world.data.body("gripper/palm").xpos == pytest.approx(place, abs=1e-12)
    assert world["gripper"].joint_names == ("finger",)


def test_without_a_child_the_models_origin_is_put_there(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM.replace(", child: mount", ""))
    at, _ = pose(world, "body", "gripper/palm")
    there, turned = pose(world, "site", "arm/flange")
    assert at == pytest.approx(there + turned @ [0, 0, 1], abs=1e-12)


def test_trees_that_nest_keep_their_own_addresses(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM)
    arm, gripper = world["arm"], world["gripper"]
    assert arm.joint_names == ("shoulder", "elbow", "swing")
    assert gripper.joint_names == ("finger",)
    model = world.model
    # The gripper hangs between the elbow and what the arm has after it.
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names.index("gripper/finger") not in (0, len(names)) and len(names) == 4
    for robot in (arm, gripper):
        for joint, address in zip(robot.joint_names, robot.model_map.qpos, strict=True):
            assert model.joint(f"{robot.name}/{joint}").qposadr[0] == address
        for actuator, i in zip(robot.actuator_names, range(9), strict=False):
            id_ = model.actuator(f"{robot.name}/{actuator}").id
            assert model.actuator_ctrladr[id_] == robot.model_map.ctrl.start + i
    assert gripper.position.tolist() == [0.02]


def test_each_has_its_own_controllers_and_targets(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM)
    world["gripper"].set_targets({"finger": 0.04})
    world["arm"].set_targets({"elbow": 0.5})
    world.step(4000)
    qpos = world.data.qpos
    assert qpos[world["arm"].model_map.qpos][:2] == pytest.approx([0, 0.5], abs=0.02)
    assert qpos[world["gripper"].model_map.qpos] == pytest.approx([0.04], abs=0.02)


@pytest.mark.parametrize("execution", ["native", "compiled", "auto"])
def test_every_execution_steps_alike(tmp_path: Path, execution: str) -> None:
    if execution == "compiled":
        pytest.importorskip("numba")
    reference, other = (world_of(tmp_path, ON_ARM, e) for e in ("python", execution))
    for world in (reference, other):
        world.reset("home")
        world["gripper"].set_targets({"finger": 0.04, "hold": 0.1})
        world["arm"].set_targets({"elbow": 0.5})
        world.step(200)
    assert np.array_equal(reference.data.qpos, other.data.qpos)
    assert np.array_equal(reference.data.qvel, other.data.qvel)


def test_a_snapshot_is_restored_to_the_bit(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM)
    world["arm"].set_targets({"elbow": 0.5})
    world.step(50)
    state = world.snapshot()
    world.step(50)
    after = world.data.qpos.copy()
    world.restore(state)
    world.step(50)
    assert np.array_equal(world.data.qpos, after)


def test_keyframes_of_both_are_their_own(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM)
    world.reset("home")
    where = world["gripper"].model_map
    assert world.data.qpos[world["arm"].model_map.qpos].tolist() == [0.1, 0.2, 0.3]
    # The keyframe's free joint is gone with the joint.
    assert world.data.qpos[where.qpos].tolist() == [0.01]
    assert world["gripper"].setpoints.position.tolist() == [0.01, 0.25]


def test_meshes_and_classes_of_the_same_name_do_not_mix(tmp_path: Path) -> None:
    model = world_of(tmp_path, ON_ARM).model
    sizes = [np.ptp(model.mesh_vert[a : a + n], axis=0).max() for a, n in
             zip(model.mesh_vertadr, model.mesh_vertnum, strict=True)]  # fmt: skip
    assert max(sizes) == pytest.approx(2 * min(sizes), rel=1e-5)
    finger = model.geom(int(model.body("gripper/finger").geomadr[0]))
    base = model.geom(int(model.body("arm/base").geomadr[0]))
    assert (finger.size[0], base.size[0]) == (0.01, 0.02)


def test_two_grippers_of_one_model_on_two_arms(tmp_path: Path) -> None:
    text = "actors:\n" + "".join(
        f"  - {{name: {side}_gripper, model: gripper.xml, attach: {{to: {side}/flange}}}}\n"
        f"  - {{name: {side}, model: arm.xml, pose: {{position: [0, {y}, 0]}}}}\n"
        for side, y in (("left", 1), ("right", -1))
    )
    world = world_of(tmp_path, text)
    world["left_gripper"].set_targets({"hold": 0.3})
    world.step(500)
    left, right = (world[f"{side}_gripper"].model_map.qpos for side in ("left", "right"))
    assert world.data.qpos[left][0] > 0.01
    assert abs(world.data.qpos[right][0]) < 1e-9


def test_what_is_attached_can_carry_others(tmp_path: Path) -> None:
    text = """actors:
  - {name: third, model: gripper.xml, attach: {to: second/finger, child: palm}}
  - {name: second, model: gripper.xml, attach: {to: first/hand, child: palm}}
  - {name: first, model: arm.xml}
"""
    world = world_of(tmp_path, text)
    assert world.data.body("third/palm").xpos == pytest.approx([0.35, 0, 0.5])
    assert list(world.articulations) == ["third", "second", "first"]


def test_an_exported_world_moves_alike(tmp_path: Path) -> None:
    world = world_of(tmp_path, ON_ARM, "native")
    path = tmp_path / "out.xml"
    world.reset()
    export(world.scene, path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.nkey - 1)
    mujoco.mj_step(model, data, 100)
    world.step(100)
    assert data.qpos == pytest.approx(world.data.qpos, abs=1e-9)
    assert model.body("gripper/palm").parentid[0] == model.body("arm/hand").id


ROBOTS = SHARED / "robots" / "models"


@pytest.mark.skipif(not ROBOTS.is_dir(), reason="no shared/robots beside the checkout")
def test_a_hand_takes_the_place_of_a_gripper(tmp_path: Path) -> None:
    text = f"""sim: {{integrator: implicitfast, impratio: 10, cone: elliptic}}
actors:
  - {{name: hand, model: {ROBOTS}/shadow_right_menagerie/scene.xml, scenery: false,
     attach: {{to: arm/link7}}, pose: {{position: [0, 0, 0.107]}}}}
  - {{name: arm, model: {ROBOTS}/panda_menagerie/scene.xml, keyframe: home, removed: hand}}
collision_groups:
  - {{name: wrist, members: [arm/link7, hand/rh_forearm], ignores: wrist}}
"""
    world = world_of(tmp_path, text)
    assert (len(world["hand"].actuators), len(world["arm"].actuators)) == (20, 7)
    assert world.data.qpos[world["arm"].model_map.qpos][1:4] == pytest.approx([0, 0, -1.57079])
    world.step(50)
    assert np.isfinite(world.data.qpos).all() and not world.events


# What cannot be ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("to: arm/flange", "to: arm/flagne",
         "3:54: actors[0].attach.to: gripper.attach.to: 'arm' has no body or … "
         "'flagne'; … 'flange'?"),
        ("to: arm/flange", "to: amr/flange",
         "3:54: actors[0].attach.to: gripper.attach.to: there is no 'amr/flange'; did … "
         "'arm/flange'?"),
        ("child: mount", "child: mont",
         "3:73: actors[0].attach.child: gripper.attach.child: 'gripper' has no body or "
         "… 'mont'; … 'mount'?"),
        ("child: mount", "child: finger",
         "3:73: actors[0].attach.child: gripper.attach.child: 'finger' can move against "
         "the … 'gripper', … 'finger'"),
        ("to: arm/flange", "to: gripper/palm",
         "3:54: actors[0].attach.to: gripper.attach.to: is circular: gripper → gripper"),
        ("model: arm.xml,", "model: arm.xml, attach: {to: gripper},",
         "5:46: actors[1].attach.to: arm.attach.to: is circular: gripper → arm → …"),
        ("joints:", "base: free, joints:",
         "4:12: actors[0].base: gripper.base: 'gripper' is attached, which fixes …"),
        ("joints:", "pose: {relative_to: arm/hand}, joints:",
         "4:26: actors[0].pose.relative_to: gripper.pose.relative_to: 'gripper' is "
         "attached, its pose … 'arm/flange'"),
    ],
)  # fmt: skip
def test_a_wrong_attachment_is_refused_at_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = ON_ARM
    assert old in text
    scene = scene_of(tmp_path, text.replace(old, new, 1))
    with refused(mjrig.SceneError, f"{tmp_path / 'scene.yaml'}:{message}"):
        mjrig.World(scene)


def test_a_floor_cannot_be_carried_about(tmp_path: Path) -> None:
    floor = GRIPPER.replace("<worldbody>", f"<worldbody>{FLOOR}")
    text = "actors:\n  - {name: g, model: floor.xml, attach: {to: arm/hand}}\n"
    text += "  - {name: arm, model: arm.xml}\n"
    message = (
        f"{tmp_path / 'scene.yaml'}:3:41: actors[0].attach: g.attach: the plane 'floor' of "
        f"'g' cannot … "
        "'arm/hand', …"
    )
    with refused(mjrig.SceneError, message):
        world_of(tmp_path, text, floor=floor)
    world = world_of(tmp_path, text.replace("attach:", "scenery: false, attach:"), floor=floor)
    assert world.model.body("g/palm").parentid[0] == world.model.body("arm/hand").id
    # On something that stands still it may be.
    world_of(tmp_path, text.replace("arm/hand", "arm/base"), floor=floor)


def test_an_actor_with_several_roots_must_be_named_more_exactly(tmp_path: Path) -> None:
    two = ARM.replace("</worldbody>", '<body name="more"><geom size=".1"/></body></worldbody>')
    text = "actors:\n  - {name: g, model: gripper.xml, attach: {to: arm}}\n"
    text += "  - {name: arm, model: two.xml}\n"
    with pytest.raises(
        mjrig.SceneError, match=regex("'arm' has 2 root bodies; name … arm/base, arm/")
    ):
        world_of(tmp_path, text, two=two)


def test_several_free_bodies_cannot_all_be_attached(tmp_path: Path) -> None:
    two = GRIPPER.replace(
        "</worldbody>", '<body name="ball"><freejoint/><geom size=".1"/></body></worldbody>'
    )
    two = two[: two.index("<keyframe>")] + "</mujoco>"
    text = "actors:\n  - {name: g, model: two.xml, attach: {to: world}}\n"
    with pytest.raises(mjrig.SceneError, match=r"several free bodies \(palm, ball\)"):
        world_of(tmp_path, text, two=two)
