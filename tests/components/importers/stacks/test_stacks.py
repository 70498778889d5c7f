"""Each stack's files, small and self-written, become a policy that says what they said."""

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.policies.policy_file import PolicyFile
from tests.components.importers import biped
from tests.wording import matches, mentions, regex

BY_SIDE = ("left_hip_joint", "right_hip_joint", "left_knee_joint", "right_knee_joint")


def policy_of(imported: Imported) -> PolicyFile:
    return PolicyFile.load(imported.policy)


def actor_of(imported: Imported) -> Any:
    data: Any = mjrig.Scene.load(imported.scene).to_data()
    return data["actors"][0]


def codes(imported: Imported) -> dict[str, str]:
    return {f.kind: str(f.severity) for f in imported.findings}


def runs(imported: Imported) -> None:
    """A second of what was written, finite and with ticks."""
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    world.step(round(1.5 / world.model.opt.timestep))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    assert policy.ticks > 20
    assert np.isfinite(world.data.qpos).all()


def gym(folder: Path, text: str = biped.GYM, size: int = 23, **options: Any) -> Imported:
    config = biped.write(folder / "walker.yaml", text)
    network = biped.network(folder / "policy.onnx", size, memory=True)
    return import_policy(
        [config], network, biped.model(folder), folder / "out" / "scene.yaml", **options
    )


# unitree_rl_gym ---------------------------------------------------------------------------------


def test_unitree_rl_gym_gives_gains_scales_and_the_gait(tmp_path: Path) -> None:
    imported = gym(tmp_path)
    policy, actor = policy_of(imported), actor_of(imported)
    assert imported.found.stack == "unitree_rl_gym"
    assert policy.joints == biped.JOINTS
    assert (policy.timestep, policy.decimation, policy.phase) == (0.002, 10, "after")
    assert policy.recurrent == {"h_in": "h_out"}
    assert [t.to_data() for t in policy.terms][-1] == {
        "type": "GaitPhase", "period": 0.8, "form": "sin_cos",
    }  # fmt: skip
    assert policy.command is not None and policy.command.default.tolist() == [0.5, 0.0, 0.0]
    controller = actor["components"][0]
    assert controller["kp"] == dict(zip(biped.JOINTS, (60, 80, 60, 80), strict=True))
    assert controller["torque_limit"] == float("inf")
    assert controller["order"] == "textbook"
    assert "joints" not in actor  # a run starts in the model's pose, not in the default one
    assert codes(imported)["order-by-place"] == "warning"
    assert codes(imported)["recurrent"] == "note"
    runs(imported)


def test_the_real_robots_file_names_motors_and_what_holds_the_rest(tmp_path: Path) -> None:
    text = biped.GYM.replace("simulation_dt: 0.002\ncontrol_decimation: 10", "control_dt: 0.02")
    for old, new in (
        ("[60, 80, 60, 80]", "[60, 61]"),
        ("[1, 2, 1, 2]", "[1, 1]"),
        ("[-0.1, 0.3, -0.1, 0.3]", "[-0.1, -0.1]"),
        ("num_actions: 4\nnum_obs: 23", "num_actions: 2\nnum_obs: 17"),
    ):
        text = text.replace(old, new)
    text += (
        "leg_joint2motor_idx: [2, 0]\narm_waist_joint2motor_idx: [1, 3]\n"
        "arm_waist_kps: [90, 90]\narm_waist_kds: [2, 2]\narm_waist_target: [0.2, 0.2]\n"
    )
    config = biped.write(tmp_path / "real.yaml", text.replace("[60, 61]", "[60, 60]"))
    network = biped.network(tmp_path / "policy.onnx", 17, actions=2)
    out = tmp_path / "out" / "scene.yaml"
    imported = import_policy([config], network, biped.model(tmp_path), out)
    assert policy_of(imported).joints == ("right_hip_joint", "left_hip_joint")
    gains = actor_of(imported)["components"][0]["kp"]
    assert gains["left_knee_joint"] == gains["right_knee_joint"] == 90
    assert "joint-extra" not in codes(imported)
    assert (policy_of(imported).timestep, policy_of(imported).decimation) == (0.002, 10)


# unitree_rl_lab ---------------------------------------------------------------------------------


def test_unitree_rl_lab_turns_gains_from_motor_order_into_policy_order(tmp_path: Path) -> None:
    config = biped.write(tmp_path / "params" / "deploy.yaml", biped.LAB)
    network = biped.network(tmp_path / "policy.onnx", 42)
    imported = import_policy([config], network, biped.model(tmp_path), tmp_path / "scene.yaml")
    policy = policy_of(imported)
    assert policy.joints == BY_SIDE
    assert list(imported.found.kp or ()) == [60, 60, 80, 80]
    assert policy.default.tolist() == [-0.1, -0.1, 0.3, 0.3]
    assert policy.observation is not None and policy.observation.kept.length == 2
    assert policy.terms[0].to_data() == {
        "type": "BaseAngularVelocity", "scale": 0.2, "clip": [-5.0, 5.0],
        "order": "clip_then_scale",
    }  # fmt: skip
    assert (policy.timestep, policy.decimation, policy.phase) == (0.002, 10, "before")
    runs(imported)


# BeyondMimic and mjlab --------------------------------------------------------------------------


def mimic(folder: Path, size: int = biped.MIMIC_SIZE, **metadata: str) -> Imported:
    network = biped.network(folder / "net.onnx", size, metadata={**biped.MIMIC, **metadata})
    return import_policy([], network, biped.model(folder), folder / "scene.yaml", overwrite=True)


def test_metadata_gives_names_and_what_follows_from_its_gains(tmp_path: Path) -> None:
    imported = mimic(tmp_path)
    assert imported.found.stack == "mjlab"
    assert policy_of(imported).joints == BY_SIDE
    assert imported.found.trained["torque_limit"] == pytest.approx([40.0] * 4)
    assert imported.found.trained["armature"] == pytest.approx([0.02] * 4, rel=1e-4)
    assert imported.found.recovered == ("torque_limit", "armature")
    trained = policy_of(imported).trained
    assert trained is not None and trained.recovered == ("torque_limit", "armature")
    assert not {"plant-differs", "limit-differs"} & set(codes(imported))
    runs(imported)


def test_nothing_is_recovered_where_the_damping_does_not_agree(tmp_path: Path) -> None:
    imported = mimic(tmp_path, joint_damping="5.027,5.027,5.200,5.200")
    assert imported.found.recovered == ()
    assert set(imported.found.trained) == {"kp", "kv"}
    note = "effort limits and armature cannot be recovered: the damping does not agree"
    assert note in imported.found.notes


def test_metadata_may_have_histories_scales_and_clips_per_term(tmp_path: Path) -> None:
    imported = mimic(
        tmp_path,
        30,
        observation_terms_history_length="1.000,3.000,1,0,1,1,1",
        observation_terms_scale="2.000,1,1,1,1,1,1",
        observation_terms_clip="[-1.0, 1.0],[-inf, inf],None,None,None,None,None",
        observation_terms_flatten_history_dim="1.000,1.000,1,1,1,1,1",
    )
    first, second = policy_of(imported).terms[:2]
    assert first.to_data()["clip"] == [-1.0, 1.0]
    assert first.to_data()["scale"] == 2.0
    assert second.to_data() == {"type": "BaseAngularVelocity", "site": "imu", "history": 3}


@pytest.mark.parametrize(
    ("scales", "clips"),
    [
        ("1,1,1,1,1,1,2;2;1", "-inf;inf,-2;2,-inf;inf,-inf;inf,-inf;inf,-inf;inf,-inf;inf"),
        ("1,1,1,1,1,1,[2, 2, 1]", "[-inf, inf],(-2.0, 2.0),None,None,None,None,None"),
        ("1,1,1,1,1,1,(2.0, 2.0, 1.0)", ",".join(["-inf,inf", "-2,2", *["-inf,inf"] * 5])),
        ("[1, 1, 1, 1, 1, 1, [2, 2, 1]]", "[[-inf, inf], [-2, 2], None, None, None, None, None]"),
    ],
)
def test_lists_in_metadata_are_read_as_any_exporter_writes_them(
    tmp_path: Path, scales: str, clips: str
) -> None:
    said: dict[str, Any] = {"observation_terms_scale": scales, "observation_terms_clip": clips}
    terms = [t.to_data() for t in policy_of(mimic(tmp_path, **said)).terms]
    assert [t.get("scale") for t in terms] == [None] * 6 + [[2.0, 2.0, 1.0]]
    assert [t.get("clip") for t in terms] == [None, [-2.0, 2.0], *[None] * 5]
    # This exporter's tasks measure at the IMU.
    assert [t.get("site") for t in terms] == ["imu", "imu", *[None] * 5]


def test_names_may_be_separated_by_semicolons(tmp_path: Path) -> None:
    keys = ("joint_names", "joint_stiffness")
    said: dict[str, Any] = {key: biped.MIMIC[key].replace(",", ";") for key in keys}
    assert policy_of(mimic(tmp_path, **said)).joints == BY_SIDE


def test_older_metadata_measures_at_the_base_and_a_model_may_lack_an_imu(tmp_path: Path) -> None:
    assert "site" not in policy_of(mimic(tmp_path)).terms[0].to_data()
    bare = biped.model(tmp_path)
    text = bare.read_text().replace('<site name="imu"/>', "").replace('site="imu"', 'site="foot"')
    leg = '<body name="left_shank" pos="0 0 -0.3">'
    bare.write_text(text.replace(leg, f'{leg}<site name="foot"/>'))
    network = biped.network(
        tmp_path / "net.onnx", 24, metadata={**biped.MIMIC, "observation_terms_scale": "1"}
    )
    imported = import_policy([network], None, bare, tmp_path / "scene.yaml", overwrite=True)
    assert "site" not in policy_of(imported).terms[0].to_data()
    assert any(mentions(t, "the velocity is that …") for t in imported.found.assumed)


def test_a_height_scan_is_the_usual_one_or_refused(tmp_path: Path) -> None:
    names = {"observation_names": biped.MIMIC["observation_names"] + ",height_scan,base_quat"}
    imported = mimic(tmp_path, 24 + 187 + 4, **names)
    terms = [t.to_data() for t in policy_of(imported).terms]
    assert terms[-2:] == [{"type": "HeightScan"}, {"type": "BaseOrientation"}]
    assert any("1.6 m × 1 m" in text for text in map(str, imported.found.assumed))
    runs(imported)
    with pytest.raises(mjrig.SceneError, match=regex("'height_scan' with 100 rays, and does …")):
        mimic(tmp_path, 24 + 100 + 4, **names)


def test_a_history_with_a_dimension_of_its_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError, match=regex("keeps the history of base_ang_vel …")):
        mimic(
            tmp_path,
            30,
            observation_terms_history_length="1,3,1,1,1,1,1",
            observation_terms_flatten_history_dim="1,0,1,1,1,1,1",
        )


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("joint_names", "a,b,a,c", "net.onnx: metadata 'joint_names' has the name 'a' …"),
        (
            "joint_stiffness", "1,2,3",
            "net.onnx: metadata 'joint_stiffness' has 3 values, needs 4",
        ),
        (
            "default_joint_pos", "0,nan,0,0",
            "net.onnx: metadata 'default_joint_pos' must be numbers, got 'nan'",
        ),
        (
            "action_scale", "inf",
            "net.onnx: metadata 'action_scale' must be finite, got 'inf'",
        ),
        (
            "observation_names", "base_ang_vl",
            "net.onnx: metadata 'observation_names' has 'base_ang_vl', for which … "
            "'base_ang_vel'?",
        ),
    ],
)  # fmt: skip
def test_metadata_that_does_not_fit_is_named(
    tmp_path: Path, key: str, text: str, message: str
) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        mimic(tmp_path, biped.MIMIC_SIZE, **{key: text})
    assert matches(str(caught.value), message)


# mujoco_playground ------------------------------------------------------------------------------


def test_a_bare_network_takes_the_layout_that_fits(tmp_path: Path) -> None:
    network = biped.network(tmp_path / "net.onnx", 24, names=("obs", "continuous_actions"))
    model = biped.model(tmp_path, "position")
    imported = import_policy([network], None, model, tmp_path / "scene.yaml")
    assert imported.found.stack == "mujoco_playground"
    policy, actor = policy_of(imported), actor_of(imported)
    assert (policy.phase, policy.timestep, policy.decimation) == ("inside", 0.002, 10)
    assert policy.default.tolist() == [0.2, 0.4, 0.2, 0.4]
    assert actor["keyframe"] == "home"
    assert [c["type"] for c in actor["components"]] == ["Policy"]
    assert codes(imported)["assumed"] == "note"
    runs(imported)


def test_a_bare_network_that_fits_no_layout_says_what_each_needs(tmp_path: Path) -> None:
    network = biped.network(tmp_path / "net.onnx", 25)
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([network], None, biped.model(tmp_path), tmp_path / "scene.yaml")
    text = str(caught.value)
    assert text.startswith("net.onnx: has no metadata, no configuration was given, and no layout")
    assert mentions(text, "playground_quadruped needs position actuators, an … 24, … 25")


#: Robots with a layout of their own: three of its joints, keyframes of its model.
ROBOTS = {
    "t1": (("AAHead_yaw", "Head_pitch", "Left_Hip_Pitch"), ("home",)),
    "berkeley": (("LL_HR", "LL_HAA", "LL_HFE"), ("home",)),
    "apollo": (("l_shoulder_aa", "l_hip_ie", "l_hip_aa"), ("stand", "knees_bent")),
    "unknown": (("one", "two", "three"), ("home",)),
}


def humanoid(folder: Path, whose: str, **said: str) -> Imported:
    """A small humanoid with the names of a robot, in a folder that names another one."""
    joints, keyframes = ROBOTS[whose]
    folder = folder / "exp_go2"
    folder.mkdir(exist_ok=True)
    model = biped.model(folder, "position")
    text = model.read_text()
    for old, new in zip(biped.JOINTS, joints, strict=False):
        text = text.replace(f'"{old}"', f'"{new}"')
    key = '<key name="{}" qpos="0 0 0.75 1 0 0 0 0.2 0.4 0.2 {}"/>'
    keys = "".join(key.format(name, 0.4 + i / 10) for i, name in enumerate(keyframes))
    head, _, tail = text.partition("<keyframe>")
    model.write_text(f"{head}<keyframe>{keys}</keyframe>{tail.partition('</keyframe>')[2]}")
    network = biped.network(folder / "net.onnx", 28, names=("obs", "continuous_actions"))
    scene, overrides = folder / "scene.yaml", Overrides.parse(said)
    return import_policy([network], None, model, scene, overwrite=True, overrides=overrides)


def test_a_robot_of_playground_has_its_own_numbers_by_its_joints(tmp_path: Path) -> None:
    imported = humanoid(tmp_path, "t1")
    policy = policy_of(imported)
    assert policy.action_recipe.scale.tolist() == [1.0] * 4
    terms = [t.to_data() for t in policy.terms]
    head = ["AAHead_yaw", "Head_pitch"]
    assert (terms[4]["zero"], terms[5]["zero"]) == (head, head)
    assert (terms[7]["standing"], terms[7]["held"]) == ("hold", [0.5, 0.5])
    assert actor_of(imported)["keyframe"] == "home"
    assert "other-robot" not in codes(imported)
    runs(imported)

    imported = humanoid(tmp_path, "berkeley")
    actor = actor_of(imported)
    assert not {"keyframe", "joints", "free_bodies"} & set(actor)  # the plain reset
    assert policy_of(imported).default.tolist() == [0.2, 0.4, 0.2, 0.4]
    assert policy_of(imported).action_recipe.scale.tolist() == [0.5] * 4

    imported = humanoid(tmp_path, "apollo")
    assert actor_of(imported)["keyframe"] == "stand"
    assert policy_of(imported).default.tolist() == [0.2, 0.4, 0.2, 0.5]
    assert policy_of(imported).timestep == 0.005

    imported = humanoid(tmp_path, "unknown")
    assert policy_of(imported).action_recipe.scale.tolist() == [0.5] * 4
    assert any("playground_humanoid" in text for text in map(str, imported.found.assumed))


def test_the_layout_of_playground_is_the_user_s_choice(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError, match="playground_t1 needs the joint AAHead_yaw"):
        humanoid(tmp_path, "unknown", robot="t1")  # its head is not there
    imported = humanoid(tmp_path, "unknown", robot="berkeley", keyframe="home", scale="0.3")
    assert any("playground_berkeley" in text for text in map(str, imported.found.assumed))
    assert actor_of(imported)["keyframe"] == "home"
    assert policy_of(imported).action_recipe.scale.tolist() == [0.3] * 4
    imported = humanoid(tmp_path, "t1", robot="something")
    assert any("playground_humanoid" in text for text in map(str, imported.found.assumed))
    for flag in ("--robot", "--scale", "--rate", "--default", "--keyframe", "--joints"):
        assert any(f"({flag}" in text for text in map(str, imported.found.assumed))


# rl_sar -----------------------------------------------------------------------------------------


def sar(
    home: Path,
    text: str = biped.SAR,
    size: int = 21,
    base: str = biped.SAR_BASE,
    folder: Path | None = None,
    **options: Any,
) -> Imported:
    wheeled = biped.model(home)
    wheeled.write_text(wheeled.read_text().replace("knee", "wheel"))
    biped.write(home / "walker" / "base.yaml", base)
    config = biped.write((folder or home / "walker" / "lab") / "config.yaml", text)
    network = biped.network(home / "policy.onnx", size)
    scene = home / "scene.yaml"
    return import_policy([config], network, wheeled, scene, overwrite=True, **options)


def test_rl_sar_finds_its_base_file_maps_joints_and_stands_first(tmp_path: Path) -> None:
    imported = sar(tmp_path)
    policy = policy_of(imported)
    assert policy.joints == (
        "left_hip_joint", "left_wheel_joint", "right_hip_joint", "right_wheel_joint",
    )  # fmt: skip
    assert policy.aliases == {
        "left_foot_joint": "left_wheel_joint",
        "right_foot_joint": "right_wheel_joint",
    }
    assert codes(imported)["joint-alias"] == "note"
    assert set(imported.source.files) == {"config.yaml", "base.yaml", "policy.onnx"}
    assert policy.start is not None and policy.start.to_data() == {
        "duration": 1.0, "kp": 90.0, "kv": 3.0, "target": "default",
    }  # fmt: skip
    assert policy.default.tolist() == [-0.1, 0.3, -0.1, 0.3]  # config.yaml wins
    assert [t.to_data()["type"] for t in policy.terms][:2] == ["CommandTerm", "BaseAngularVelocity"]
    assert (policy.timestep, policy.decimation, policy.state) == (0.005, 4, "float32")
    runs(imported)


@pytest.mark.parametrize("key", ["hip_scale_reduction", "use_history", "gravity_vec_scale"])
def test_rl_sar_keys_that_nothing_knows_are_listed(key: str, tmp_path: Path) -> None:
    plain = sar(tmp_path, biped.SAR)
    assert "not-taken-over" not in codes(plain)
    text = biped.SAR.replace("num_of_dofs: 4", f"num_of_dofs: 4\n  {key}: 0.5")
    found = sar(tmp_path, text).findings
    assert [f"{key} 0.5" in f.text for f in found if f.kind == "not-taken-over"] == [True]


def test_rl_sar_wheels_take_velocities_and_are_not_seen(tmp_path: Path) -> None:
    text = biped.SAR.replace("num_of_dofs: 4", "num_of_dofs: 4\n  wheel_indices: [1, 3]")
    policy = policy_of(sar(tmp_path, text))
    assert policy.action_recipe.to_data()["targets"] == {
        "left_wheel_joint": "velocity",
        "right_wheel_joint": "velocity",
    }
    assert policy.terms[3].to_data()["zero"] == ["left_wheel_joint", "right_wheel_joint"]


@pytest.mark.parametrize(
    ("places", "declared", "priority", "kept"),
    [
        ("[0, 1, 2]", 21, "", {"order": "newest_first", "by": "frame"}),
        ("[0, 1, 2]", 63, "time", {"order": "newest_first", "by": "frame"}),
        ("[2, 1, 0]", 21, "term", {"order": "oldest_first", "by": "term"}),
        ("[4, 2, 0]", 21, "term", {"ticks": [4, 2, 0], "by": "term"}),
    ],
)
def test_rl_sar_counts_one_frame_and_histories_from_the_newest(
    tmp_path: Path, places: str, declared: int, priority: str, kept: dict[str, Any]
) -> None:
    text = biped.SAR.replace("observations_history: []", f"observations_history: {places}")
    text = text.replace("tions: 21", f"tions: {declared}")
    text += f"  observations_history_priority: {priority}\n" if priority else ""
    imported = sar(tmp_path, text, 63)
    observation = policy_of(imported).observation
    assert observation is not None
    assert observation.kept.to_data() == {"length": 3, "fill": "zeros", **kept}
    runs(imported)


def test_rl_sar_says_which_terms_do_not_make_the_declared_size(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        sar(tmp_path, biped.SAR.replace("tions: 21", "tions: 22"))
    assert str(caught.value) == (
        "config.yaml:3:21: walker/lab.num_observations: is 22, the terms have 21: CommandTerm 3 + "
        "BaseAngularVelocity 3 + ProjectedGravity 3 + JointPositions 4 + JointVelocities 4 + "
        "LastAction 4"
    )


def test_rl_sar_finds_its_base_file_some_folders_up_and_tells_the_height(tmp_path: Path) -> None:
    deep = tmp_path / "walker" / "mimic" / "dance"
    imported = sar(tmp_path, biped.SAR.replace("walker/lab", "walker/mimic/dance"), folder=deep)
    assert mentions(imported.found.notes, "base.yaml was found in the … 'walker' …")
    (height,) = [f for f in imported.findings if f.kind == "start-height"]
    started = mjrig.World(mjrig.Scene.load(imported.scene)).data.qpos[2]
    assert matches(height.text, f"the files name no … {started:g} …")
    assert height.fix == "--height sets another one"


DANCE = (
    biped.SAR.replace(
        "[commands, ang_vel, gravity_vec, dof_pos, dof_vel, actions]",
        "[whole_body_tracking/motion_command, whole_body_tracking/motion_anchor_ori_b, "
        "RoboMimic_Deploy/phase, ang_vel, dof_pos, dof_vel, actions]",
    ).replace("tions: 21", "tions: 30")
    + "  motion_file: dance.csv\n  waist_joint_indices: [0, 1, 3]\n"
)


def test_rl_sar_plays_its_motion_at_one_row_a_tick_turned_to_the_robot(tmp_path: Path) -> None:
    rows = np.zeros((50, 11))
    yaw = np.linspace(0.5, 1.0, 50)
    rows[:, 5], rows[:, 6] = np.sin(yaw / 2), np.cos(yaw / 2)
    rows[:, 7:] = np.arange(50)[:, None] * np.array([0.001, 0.002, 0.003, 0.004])
    (tmp_path / "walker" / "lab").mkdir(parents=True)
    np.savetxt(tmp_path / "walker" / "lab" / "dance.csv", rows, delimiter=",")
    imported = sar(tmp_path, DANCE, 30)
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    world.step(200 + 4 * 9 + 1)  # the stand, then ten ticks
    seen = policy.observation.astype(np.float64)
    at = 10 / 50 * 49  # as the stack's loader counts
    # Joints in the policy's order: the mapping of the file is 2, 3, 0, 1.
    assert seen[:4] == pytest.approx(at * np.array([0.003, 0.004, 0.001, 0.002]), abs=1e-6)
    assert seen[4:8] == pytest.approx(np.array([0.003, 0.004, 0.001, 0.002]) / 0.02, rel=1e-5)
    assert seen[14] == pytest.approx(10 * 0.02 / 18.0, rel=1e-6)
    with np.load(tmp_path / "policy_motion.npz") as file:
        quaternion = file["body_quat_w"][9, 0]
    wanted = np.array([1.0, 0.0, 0.0, 0.0])
    turns = (
        ((0, 0, 1), 0.5 / 49 * at + 0.001 * at),
        ((1, 0, 0), 0.002 * at),
        ((0, 1, 0), 0.004 * at),
    )
    for axis, angle in turns:
        turn, product = np.zeros(4), np.zeros(4)
        mujoco.mju_axisAngle2Quat(turn, np.array(axis, dtype=float), angle)
        mujoco.mju_mulQuat(product, wanted, turn)
        wanted = product
    assert quaternion == pytest.approx(wanted, abs=1e-9)
    assert "MotionPhase" in next(t for t in map(str, imported.found.assumed) if "18 s" in t)


def test_rl_sar_names_a_motion_that_is_missing_or_none(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError, match=regex("motion_file: dance.csv is not beside the …")):
        sar(tmp_path, DANCE, 30)
    biped.write(tmp_path / "walker" / "lab" / "dance.csv", "1,2,3\n4,5,6\n")
    with pytest.raises(mjrig.SceneError, match=regex("needs two or more … 11 …")):
        sar(tmp_path, DANCE, 30)


def test_rl_sar_refuses_files_of_two_robots(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        sar(tmp_path, base=biped.SAR_BASE.replace("walker:", "dog:"))
    assert matches(str(caught.value), "files of different robots: walker/lab … --robot NAME …")
    dog = biped.SAR_BASE.replace("walker:", "dog:")
    assert sar(tmp_path, base=dog, overrides=Overrides(robot="walker")).found.count == 4


# booster_gym ------------------------------------------------------------------------------------


def booster(folder: Path, text: str = biped.BOOSTER) -> Imported:
    config = biped.write(folder / "T.yaml", text)
    network = biped.network(folder / "policy.onnx", 23)
    return import_policy([config], network, biped.model(folder), folder / "scene.yaml")


def test_booster_gym_gives_gains_by_part_of_a_name_and_tells_every_match(tmp_path: Path) -> None:
    imported = booster(tmp_path)
    policy, actor = policy_of(imported), actor_of(imported)
    assert list(imported.found.kp or ()) == [60, 80, 60, 80]
    assert mentions(imported.found.notes, "stiffness of left_hip_joint: 60 by 'hip' (over …")
    assert actor["components"][0]["precision"] == "float32"
    assert actor["free_bodies"] == [
        {"body": "trunk", "position": [0.0, 0.0, 0.72], "quaternion": [1.0, 0.0, 0.0, 0.0]}
    ]
    assert policy.action_recipe.to_data() == {
        "scale": 1.0, "clip": [-1.0, 1.0], "last": "clipped", "dtype": "float32",
    }  # fmt: skip
    assert policy.terms[3].to_data() == {
        "type": "GaitPhase", "frequency": 1.5, "form": "cos_sin", "standing": "stop",
    }  # fmt: skip
    assert codes(imported)["plant-differs"] == "warning"  # armature 0 there, .02 here
    runs(imported)


def test_booster_gym_without_a_gain_for_a_joint_is_another_robots(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        booster(tmp_path, biped.BOOSTER.replace("damping: {hip: 1, knee: 2}", "damping: {hip: 1}"))
    assert matches(
        str(caught.value),
        "T.yaml:11:12: control.damping: has no entry for left_knee_joint, right_knee_joint; …",
    )


def test_the_real_robots_file_of_booster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        booster(tmp_path, "common: {dt: 0.002}\npolicy: {num_actions: 4}\nmech: {}\n")
    assert matches(str(caught.value), "T.yaml:1:1: is the configuration of … envs/T1.yaml")


# RoboJuDo ---------------------------------------------------------------------------------------


def robojudo(folder: Path, size: int = 23, **policy: Any) -> Imported:
    config = biped.write(folder / "config.json", json.dumps(biped.judo(**policy)))
    network = biped.network(folder / "policy.onnx", size)
    return import_policy([config], network, biped.model(folder), folder / "scene.yaml")


def test_robojudo_smooths_clips_in_code_and_takes_gains_from_the_robot(tmp_path: Path) -> None:
    imported = robojudo(tmp_path)
    policy, actor = policy_of(imported), actor_of(imported)
    assert policy.action_recipe.smoothing == 0.8
    assert policy.action_recipe.last == "smoothed"
    assert (policy.timestep, policy.decimation) == (0.001, 20)
    controller = actor["components"][0]
    assert controller["torque_limit"]["left_knee_joint"] == 35
    assert controller["kp"]["left_knee_joint"] == 80
    runs(imported)


def test_robojudo_without_gait_has_a_history_filled_with_zeros(tmp_path: Path) -> None:
    imported = robojudo(
        tmp_path, 105, policy_type="UnitreeWoGaitPolicy", history_length=5, action_clip=10.0
    )
    policy = policy_of(imported)
    assert policy.observation is not None and policy.observation.kept.to_data() == {
        "length": 5, "order": "oldest_first", "fill": "zeros", "by": "term",
    }  # fmt: skip
    assert policy.action_recipe.to_data()["clip"] == 10.0


def test_robojudo_policies_of_unknown_layout_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        robojudo(tmp_path, policy_type="AsapPolicy")
    assert str(caught.value).endswith(
        "policy.policy_type: unknown observation layout of AsapPolicy; known are "
        "UnitreePolicy, UnitreeWoGaitPolicy. A BeyondMimicPolicy is read from its network alone; "
        "others need a policy.yaml"
    )


# policy.yaml ------------------------------------------------------------------------------------


def test_a_policy_file_keeps_its_stand(tmp_path: Path) -> None:
    first = sar(tmp_path)
    second = import_policy(
        [first.policy], None, tmp_path / "biped.xml", tmp_path / "again" / "scene.yaml"
    )
    start = policy_of(second).start
    assert start is not None and start.to_data()["kp"] == 90.0
    assert second.found.start is not None and list(second.found.start.kv) == [3.0] * 4


def test_a_policy_file_of_ours_is_a_configuration_too(tmp_path: Path) -> None:
    first = gym(tmp_path)
    second = import_policy(
        [first.policy], None, tmp_path / "biped.xml", tmp_path / "again" / "scene.yaml"
    )
    before, after = policy_of(first).to_data(), policy_of(second).to_data()
    for data in (before, after):
        del data["source"], data["network"]
    assert after == before
    assert actor_of(second)["components"][0] == actor_of(first)["components"][0]
    runs(second)
