"""env.yaml of Isaac Lab and mjlab: what is read, what is said, and what is refused by name."""

import json
import math
from pathlib import Path
from typing import Any, cast

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.terms.property_kinds import Range
from mjrig.core.findings import Level
from tests.components.importers import biped
from tests.components.importers.isaac import runs
from tests.wording import matches, mentions, regex

SIZE, COUNT = 27, 5


def imported(
    folder: Path, data: runs.Data, size: int = SIZE, count: int = COUNT, *, kind: str = "motor",
    more: dict[str, Any] | None = None, files: tuple[Path, ...] = (), **overrides: Any,
) -> Imported:  # fmt: skip
    """Import a run of the walker."""
    config = runs.write(folder, data)
    for name, other in (more or {}).items():
        runs.write(folder, other, name)
    network = biped.network(folder / "policy.onnx", size, count)
    return import_policy(
        [config, *files], network, runs.model(folder, kind), folder / "out" / "scene.yaml",
        overrides=Overrides(**overrides),
    )  # fmt: skip


def world_of(found: Imported) -> mjrig.World:
    return mjrig.World(mjrig.Scene.load(found.scene))


def refusal(folder: Path, data: runs.Data, **options: Any) -> str:
    with pytest.raises(mjrig.MjrigError) as caught:
        imported(folder, data, **options)
    assert not (folder / "out").exists()
    return str(caught.value)


def codes(found: Imported) -> dict[str, str]:
    return {finding.kind: finding.text for finding in found.findings}


# Order ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "joints"),
    [("", runs.JOINTS), ("breadth", runs.JOINTS), ("sorted", runs.SORTED), ("depth", runs.DEPTH)],
)
def test_the_joint_order_follows_the_tree(tmp_path: Path, order: str, joints: Any) -> None:
    found = imported(tmp_path, runs.env(), order=order)
    assert PolicyFile.load(found.policy).joints == joints
    assert ("order-guessed" in codes(found)) == (order == "")
    by_joint = dict(zip(joints, PolicyFile.load(found.policy).default, strict=True))
    assert by_joint["left_knee_joint"] == 0.4  # values follow their joints


def test_newton_numbers_joints_as_the_model_does(tmp_path: Path) -> None:
    sim = {"dt": 0.005, "gravity": (0.0, 0.0, -9.81), "physics": {
        "class_type": "isaaclab_newton.physics:NewtonCfg",
        "solver_cfg": {"integrator": "euler", "iterations": 7, "impratio": 10.0},
    }}  # fmt: skip
    found = imported(tmp_path, runs.env(sim=sim))
    assert PolicyFile.load(found.policy).joints == runs.DEPTH
    model = world_of(found).model
    assert (model.opt.iterations, model.opt.impratio) == (7, 10.0)


def test_descriptors_beside_a_run_give_the_order(tmp_path: Path) -> None:
    told = runs.descriptors()
    names = list(runs.SORTED)
    for owner in (told["actions"][0], told["articulations"]["robot"]):
        owner["joint_names"] = names
    pose = [0.0, -0.2, -0.2, 0.4, 0.4]
    told["articulations"]["robot"]["default_joint_pos"] = told["actions"][0]["offset"] = pose
    more = {"params/agent.yaml": runs.agent(), "io_descriptors/IO_descriptors.yaml": told}
    found = imported(tmp_path, runs.env(), more=more)
    assert PolicyFile.load(found.policy).joints == runs.SORTED
    assert "io_descriptors/IO_descriptors.yaml" in codes(found)["beside"]
    assert "order-guessed" not in codes(found)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scene": {"physics_dt": 0.002, "dt": 0.02}}, "timestep 0.005 s and 0.002 s"),
        ({"scene": {"physics_dt": 0.005, "dt": 0.01}}, "tick to tick 0.02 s … 0.01 …"),
        ("default_joint_pos", "default position of left_hip_joint -0.2 and 0.7"),
        ("scale", "action scale of right_hip_joint 0.25 and 0.5"),
        ("history", "history of joint_pos 1 and 3"),
    ],
)
def test_files_that_contradict_each_other_are_both_named(
    tmp_path: Path, change: Any, text: str
) -> None:
    told = runs.descriptors(**(change if isinstance(change, dict) else {}))
    if change == "default_joint_pos":
        told["articulations"]["robot"]["default_joint_pos"][1] = 0.7
    elif change == "scale":
        told["actions"][0]["scale"] = [[0.5] * 5]
    elif change == "history":
        told["observations"]["policy"][4]["overloads"]["history_length"] = 3
    said = refusal(tmp_path, runs.env(), more={"params/IO_descriptors.yaml": told})
    assert said.startswith("env.yaml and IO_descriptors.yaml contradict each other: ")
    assert mentions(said, text)


def test_joints_given_by_hand_are_the_order_of_the_training(tmp_path: Path) -> None:
    found = imported(tmp_path, runs.env(), joints=runs.SORTED)
    policy = PolicyFile.load(found.policy)
    assert policy.joints == runs.SORTED
    assert policy.default.tolist() == [0.0, -0.2, -0.2, 0.4, 0.4]


def test_names_that_differ_by_an_ending_are_found(tmp_path: Path) -> None:
    data = runs.env()
    text = runs.model(tmp_path).read_text().replace('_joint"', '"')
    (tmp_path / "short").mkdir()
    model = biped.write(tmp_path / "short" / "walker.xml", text)
    network = biped.network(tmp_path / "policy.onnx", SIZE, COUNT)
    found = import_policy([runs.write(tmp_path, data)], network, model, tmp_path / "o/scene.yaml")
    assert PolicyFile.load(found.policy).joints == tuple(
        j.removesuffix("_joint") for j in runs.JOINTS
    )
    assert PolicyFile.load(found.policy).default.tolist() == [-0.2, -0.2, 0.0, 0.4, 0.4]


# Plant ------------------------------------------------------------------------------------------


def actor_of(found: Imported) -> dict[str, Any]:
    import yaml

    data: dict[str, Any] = yaml.safe_load(found.scene.read_text())
    return {**data["actors"][0], "sim": data["sim"]}


@pytest.mark.parametrize("kind", ["motor", "position", "none"])
def test_any_actuators_of_the_model_become_those_of_the_training(tmp_path: Path, kind: str) -> None:
    group = runs.actuators(effort_limit_sim={".*_hip_.*": 20.0, ".*_knee_.*": 30.0, "arm_.*": 5.0})
    data = runs.env()
    data["scene"]["robot"]["actuators"] = {"all": group}
    model = world_of(imported(tmp_path, data, kind=kind)).model
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert model.nu == 5
    for i in range(5):
        joint = model.joint(int(model.actuator_trnid[i, 0])).name.removeprefix("robot/")
        limit = {"hip": 20.0, "kne": 30.0, "joi": 5.0}[joint.split("_")[1][:3]]
        assert model.actuator_forcerange[i].tolist() == [-limit, limit]
        assert model.actuator_gainprm[i, 0] == 60.0
        assert model.actuator_biasprm[i, :3].tolist() == [0.0, -60.0, -2.0]
        assert not model.actuator_ctrllimited[i]


@pytest.mark.parametrize("kind", ["motor", "position", "none"])
def test_explicit_actuators_are_motors_under_a_law(tmp_path: Path, kind: str) -> None:
    data = runs.env()
    groups = data["scene"]["robot"]["actuators"]
    groups["legs"] = runs.actuators("IdealPDActuator", effort_limit=25.0, armature=0.05)
    found = imported(tmp_path, data, kind=kind)
    world = world_of(found)
    assert {b.kind for b in world["robot"].actuators} == {"motor"}
    assert world.model.dof_armature[6:].tolist() == [0.05] * 5
    (law,) = [c for c in world["robot"].controllers]
    assert set(cast(Any, law).torque_limit) == {25.0}


def test_delays_tables_and_motors_have_their_numbers(tmp_path: Path) -> None:
    data = runs.env()
    table = [[0.5, 1.0, 12.0], [-0.1, 1.0, 8.0], [2.5, 1.0, 20.0]]
    data["scene"]["robot"]["actuators"] = {
        "late": runs.actuators("DelayedPDActuator", joint_names_expr=[".*_hip_joint"],
                               effort_limit=20.0, min_delay=1, max_delay=3),
        "knee": runs.actuators("RemotizedPDActuator", joint_names_expr=[".*_knee_joint"],
                               joint_parameter_lookup=table, max_delay=2, min_delay=2),
        "arm": runs.actuators("DCMotor", joint_names_expr=["arm_joint"], effort_limit=4.0,
                              saturation_effort=9.0, velocity_limit=20.0,
                              viscous_friction=0.2, dynamic_friction=0.3, friction=0.6),
    }  # fmt: skip
    found = imported(tmp_path, data)
    laws = {tuple(c["actuators"]): c for c in actor_of(found)["components"][:-1]}
    hip = laws["right_hip_joint", "left_hip_joint"]
    assert hip["delay"] == {"random": [1, 3]} and hip["torque_limit"] == 20.0
    knee = laws["right_knee_joint", "left_knee_joint"]
    assert knee["delay"] == {"steps": 2}
    assert knee["clamps"] == [
        {"type": "PositionTable", "positions": [-0.1, 0.5, 2.5], "efforts": [8.0, 12.0, 20.0]}
    ]
    assert laws["arm_joint",]["clamps"] == [
        {"type": "DCMotor", "saturation_effort": 9.0, "velocity_limit": 20.0, "max_effort": 4.0}
    ]
    assert actor_of(found)["dynamics"] == {
        "damping": {"arm_joint": 0.2}, "frictionloss": {"arm_joint": 0.3}
    }  # fmt: skip
    assert "friction 0.6" in codes(found)["not-taken-over"]
    world_of(found).step(20)


def test_a_learned_actuator_runs_from_the_onnx_file_beside_the_run(tmp_path: Path) -> None:
    from tests import networks

    data = runs.env()
    group = runs.actuators("ActuatorNetLSTM", effort_limit=30.0, saturation_effort=20.0,
                           velocity_limit=9.0, stiffness=None, damping=None,
                           network_file="https://host/assets/anydrive_3_lstm_jit.pt")  # fmt: skip
    data["scene"]["robot"]["actuators"] = {"legs": group}
    said = refusal(tmp_path, data)
    assert "put it beside env.yaml as anydrive_3_lstm_jit.onnx" in said
    (tmp_path / "params").mkdir(exist_ok=True)
    networks.lstm(tmp_path / "params" / "anydrive_3_lstm_jit.onnx", {"model_type": "lstm"})
    found = imported(tmp_path, data)
    law = actor_of(found)["components"][0]
    assert law["path"] == "../params/anydrive_3_lstm_jit.onnx"
    assert law["clamps"] == [{"type": "MaxEffort", "max_effort": 20.0}]
    world_of(found).step(8)


def test_a_curve_has_its_corners_and_its_friction(tmp_path: Path) -> None:
    data = runs.env()
    group = runs.actuators(X1={".*_hip_joint": 13.5, ".*_knee_joint": 14.5, "arm_joint": 1e9},
                           X2=30.0, Y1=20.2, Y2={"arm_joint": 9.0, ".*_hip_joint": 23.4}, Fs=1.6,
                           Fd=0.16, Va=0.01, min_delay=0, max_delay=4)  # fmt: skip
    group["class_type"] = "unitree_rl_lab.assets.robots.unitree_actuators:UnitreeActuator"
    data["scene"]["robot"]["actuators"] = {"legs": group}
    found = imported(tmp_path, data)
    law = actor_of(found)["components"][0]
    (clamp,) = law["clamps"]
    hip, knee = "right_hip_joint", "right_knee_joint"
    assert [clamp[key][hip] for key in ("x1", "x2", "y2")] == [13.5, 30.0, 23.4]
    assert [clamp[key][knee] for key in ("x1", "y2")] == [14.5, 20.2]  # without Y2 it is Y1
    assert [clamp["x2"]["arm_joint"], clamp["y2"]["arm_joint"]] == [math.inf, 9.0]
    assert clamp["y1"] == 20.2 and law["delay"] == {"random": [0, 4]}
    assert set(actor_of(found)["dynamics"]["frictionloss"].values()) == {1.6}
    assert set(actor_of(found)["dynamics"]["damping"].values()) == {0.16}
    said = [f.text for f in found.findings if f.kind == "assumed"]
    assert any(mentions(s, "Fs·tanh(v/Va) + Fd·v, a force of the …") for s in said)
    world_of(found).step(8)


def test_scales_of_a_learned_group_come_before_those_of_its_file(tmp_path: Path) -> None:
    from tests import networks

    data = runs.env()
    group = runs.actuators("ActuatorNetMLP", effort_limit=30.0, saturation_effort=20.0,
                           velocity_limit=9.0, stiffness=None, damping=None, pos_scale=-1.0,
                           vel_scale=1.0, torque_scale=2.0, input_order="vel_pos",
                           input_idx=[0, 1], network_file="/nets/legs.pt")  # fmt: skip
    data["scene"]["robot"]["actuators"] = {"legs": group}
    (tmp_path / "params").mkdir(exist_ok=True)
    networks.mlp(tmp_path / "params/legs.onnx", 4, {"pos_scale": 1.0, "effort_scale": 2.0})
    found = imported(tmp_path, data)
    told = actor_of(found)["components"][0]["metadata"]
    assert told == {"pos_scale": -1.0, "vel_scale": 1.0, "effort_scale": 2.0,
                    "input_order": "vel_pos", "input_idx": [0, 1]}  # fmt: skip
    assert matches(
        codes(found)["not-taken-over"],
        "legs.onnx says pos_scale 1.0, the actuators 'legs' -1.0: theirs …",
    )


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"class_type": "my.lab:Electric", "Fs": 0.3},
         "actuators of unknown classes … 'legs' … Electric … 60, … 2, Fs 0.3); "
         "--actuators …"),
        ({"X1": 13.5, "X2": 30.0, "Y1": 20.2, "Y2": 23.4}, "X1 13.5, X2 30, Y1 20.2, Y2 23.4"),
        ({"class_type": "lab:UnitreeActuator", "X1": 30.0, "X2": 13.5, "Y1": 20.2},
         "actuators.legs: X2 must be above X1, got 13.5 … 30 … 'right_hip_joint'"),
        ({"class_type": "lab:UnitreeActuator", "X1": 3.0, "X2": 13.5, "Y1": {".*": -1.0}},
         "actuators.legs: Y1 must be >= 0, got -1 for 'right_hip_joint'"),
        ({"effort_limit": 20.0, "effort_limit_sim": {".*": 30.0}},
         "effort_limit is 20 and effort_limit_sim 30 for 'right_hip_joint'"),
        ({"effort_limit": -math.inf}, "legs.effort_limit: must be a finite … -inf"),
        ({"stiffness": math.inf}, "legs.stiffness: must be a finite … inf"),
        ({"class_type": "lab:DCMotor", "saturation_effort": math.inf, "velocity_limit": 9.0},
         "saturation_effort of 'right_hip_joint' must be finite … velocity_limit …"),
        ({"stiffness": None}, "has no stiffness for right_hip_joint"),
        ({"stiffness": {".*_hip_joint": 60.0}}, "has no stiffness for arm_joint, right_knee_joint"),
        ({"stiffness": {".*": 1.0, "arm_joint": 2.0}},
         "actuators.legs.stiffness: '.*' and 'arm_joint' both match 'arm_joint'"),
        ({"stiffness": 0.0, "damping": 0.0}, "no gains"),
        ({"stiffness": "much"}, "must be a finite … 'much'"),
        ({"joint_names_expr": ["(", ".*"]}, "'(' is not a valid …"),
        ({"joint_names_expr": [".*_hip_joint"]}, "no group of actuators … arm_joint"),
    ],
)  # fmt: skip
def test_actuators_that_cannot_be_taken_over_are_named(
    tmp_path: Path, more: dict[str, Any], text: str
) -> None:
    data = runs.env()
    data["scene"]["robot"]["actuators"]["legs"].update(more)
    said = refusal(tmp_path, data)
    assert mentions(said, text) and said.startswith("env.yaml:")


def test_unknown_actuators_can_be_taken_for_others(tmp_path: Path) -> None:
    data = runs.env()
    group = runs.actuators(effort_limit=20.0, saturation_effort=30.0, velocity_limit=10.0, Fs=0.3)
    group["class_type"] = "my.lab.actuators:Electric"
    data["scene"]["robot"]["actuators"] = {"legs": group}
    found = imported(tmp_path, data, actuators="dc")
    assert actor_of(found)["components"][0]["clamps"][0]["type"] == "DCMotor"
    assert matches(codes(found)["not-taken-over"], "of the actuators 'legs' is … Fs 0.3")


def test_what_the_file_leaves_to_the_usd_is_the_model_s_and_said(tmp_path: Path) -> None:
    found = imported(tmp_path, runs.env())
    assert matches(codes(found)["of-the-model"], "not in the files, …")
    model = world_of(found).model
    assert set(model.actuator_forcerange[:, 1]) == {40.0}
    assert all(f.severity is not Level.ERROR for f in found.findings)


# Observations and actions -----------------------------------------------------------------------


def terms_of(found: Imported) -> list[dict[str, Any]]:
    import yaml

    data: dict[str, Any] = yaml.safe_load(found.policy.read_text())
    return list(data["observation"]["terms"])


def test_every_unknown_term_is_named_with_what_is_left(tmp_path: Path) -> None:
    data = runs.env()
    group = data["observations"]["policy"]
    group["feet"] = runs.term("x") | {"func": "my_lab.mdp:feet_forces", "params": {"gain": 2.0}}
    group["quick"] = runs.term("x") | {"func": "lambda env: env.scene"}
    group["camera"] = runs.term("image")
    group["baseangvel"] = runs.term("base_ang_vell")
    said = refusal(tmp_path, data)
    assert mentions(said, "4 observation terms cannot be … ")
    for text in ("'feet' (my_lab.mdp:feet_forces, gain: 2.0): unknown function", "'quick' (lambda",
                 "'camera' (", "a camera", "(nearest: base_ang_vel)",
                 "The others have 27 values"):  # fmt: skip
        assert text in said


def test_a_known_name_of_another_module_is_taken_and_said(tmp_path: Path) -> None:
    data = runs.env()
    data["observations"]["policy"]["base_ang_vel"]["func"] = "my_lab.mdp.terms:base_ang_vel"
    found = imported(tmp_path, data)
    said = [f.text for f in found.findings if f.kind == "assumed"]
    text = "my_lab.mdp.terms:base_ang_vel is taken for Isaac Lab's base_ang_vel"
    assert f"the term 'base_ang_vel': {text}" in said


@pytest.mark.parametrize(
    ("where", "value", "text"),
    [
        ("concatenate_terms", False, "concatenate_terms is false"),
        ("concatenate_dim", 1, "concatenate_dim is 1; known is -1"),
        ("joint_pos.modifiers", [{"func": "lab.modifiers:DigitalFilter"}], "DigitalFilter"),
        ("joint_pos.scale", (1.0, 2.0), "must have 5 values, one each, got 2"),
        ("joint_pos.clip", (1.0, -1.0), "must be [lowest, highest]"),
        ("velocity_commands.params", {"command_name": "goal"}, "there is no command 'goal'"),
        ("joint_pos.params", {"asset_cfg": {"name": "box"}}, "it is of 'box', not …"),
        ("joint_pos.params", {"asset_cfg": {"name": "robot", "joint_names": ["wing"]}},
         "the pattern 'wing' matches no …"),
    ],
)  # fmt: skip
def test_observations_that_cannot_be_expressed_are_refused(
    tmp_path: Path, where: str, value: Any, text: str
) -> None:
    data = runs.env()
    owner = data["observations"]["policy"]
    *path, key = where.split(".")
    for part in path:
        owner = owner[part]
    owner[key] = value
    assert mentions(refusal(tmp_path, data), text)


def test_kept_histories_need_to_be_flat(tmp_path: Path) -> None:
    data = runs.env()
    data["observations"]["policy"]["joint_pos"].update(history_length=3, flatten_history_dim=False)
    assert "flatten_history_dim: false" in refusal(tmp_path, data)
    group = data["observations"]["policy"]
    group["joint_pos"].update(flatten_history_dim=True)
    group.update(history_length=2, flatten_history_dim=False)
    assert "flatten_history_dim: false" in refusal(tmp_path, data)


def test_groups_of_the_policy_are_those_of_the_agent(tmp_path: Path) -> None:
    data = runs.env()
    terms = data["observations"].pop("policy")
    seen = ("base_ang_vel", "joint_pos")
    data["observations"] = {
        "critic": terms,
        "proprio": {k: v for k, v in terms.items() if k in seen},
        "goal": {"velocity_commands": terms["velocity_commands"]},
    }
    assert mentions(refusal(tmp_path, data), "which of critic, proprio, goal is the …")
    told = runs.agent(obs_groups={"policy": ["goal", "proprio"], "critic": ["critic"]},
                      clip_actions=2.0)  # fmt: skip
    found = imported(tmp_path, data, 11, more={"params/agent.yaml": told})
    kinds = [t["type"] for t in terms_of(found)]
    assert kinds == ["CommandTerm", "BaseAngularVelocity", "JointPositions"]
    recipe = PolicyFile.load(found.policy).action_recipe
    assert (float(recipe.clip[1]), str(recipe.last)) == (2.0, "clipped")  # type: ignore[index]


@pytest.mark.parametrize(
    ("shape", "refused"),
    [([1, 1, 3, 5], ""), (["batch", 15], ""),
     ([1, 1, 3, 4], "takes 12 values as 'scan', the terms have 15: HeightScan 15"),
     ([1, 1, 5, 3], "has an image of 3 rows and 5 columns for it")],
)  # fmt: skip
def test_a_group_that_is_an_input_of_the_network_feeds_it(
    tmp_path: Path, shape: list[Any], refused: str
) -> None:
    from tests.networks import onnx, save, tensor, value

    data = runs.env()
    scan = runs.term("height_scan", params={"sensor_cfg": {"name": "height_scanner"}})
    data["observations"]["scan"] = {"concatenate_terms": True, "heights": scan}
    told = runs.agent(obs_groups={"actor": ["policy", "scan"], "critic": ["policy"]})
    runs.write(tmp_path, told, "params/agent.yaml")
    count = int(np.prod([size for size in shape if isinstance(size, int)]))
    random = np.random.default_rng(1)
    weights = {n: random.normal(size=(k, COUNT)) for n, k in (("obs", SIZE), ("scan", count))}
    nodes = [
        onnx.helper.make_node("Reshape", ["scan", "flat"], ["row"]),
        onnx.helper.make_node("MatMul", ["row", "scan_w"], ["a"]),
        onnx.helper.make_node("MatMul", ["obs", "obs_w"], ["b"]),
        onnx.helper.make_node("Add", ["a", "b"], ["actions"]),
    ]
    constants = [tensor(f"{n}_w", w) for n, w in weights.items()]
    constants.append(onnx.numpy_helper.from_array(np.array([1, -1]), "flat"))
    inputs = [value("obs", [1, SIZE]), value("scan", shape)]
    network = save(
        tmp_path / "policy.onnx", nodes, inputs, [value("actions", [1, COUNT])], constants, None
    )
    files = [runs.write(tmp_path, data), tmp_path / "params/agent.yaml"]
    try:
        found = import_policy(files, network, runs.model(tmp_path), tmp_path / "out/scene.yaml")
        world = world_of(found)
    except mjrig.MjrigError as error:
        assert refused and refused in str(error)
        return
    assert not refused
    assert [t.get("input", "") for t in terms_of(found)] == [""] * 7 + ["scan"]
    world.step(8)
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    seen = policy.observation.astype(float)
    wanted = seen[:SIZE] @ weights["obs"] + seen[SIZE:] @ weights["scan"]
    np.testing.assert_allclose(policy.action, wanted, rtol=1e-4, atol=1e-4)


def test_an_imu_is_the_base_or_a_site_of_it(tmp_path: Path) -> None:
    data = runs.env()
    sensor = {"prim_path": "/World/envs/env_.*/Robot/trunk",
              "offset": {"pos": (0.0, 0.0, 0.0), "rot": (1.0, 0.0, 0.0, 0.0)}}  # fmt: skip
    data["scene"]["imu"] = sensor
    data["observations"]["policy"]["base_ang_vel"] = runs.term("imu_ang_vel")
    assert terms_of(imported(tmp_path / "a", data))[1] == {"type": "BaseAngularVelocity"}
    sensor["offset"] = {"pos": (0.05, 0.0, 0.02), "rot": (1.0, 0.0, 0.0, 0.0)}
    found = imported(tmp_path / "b", data)
    assert terms_of(found)[1] == {"type": "BaseAngularVelocity", "site": "imu"}
    sensor["offset"] = {"pos": (0.5, 0.0, 0.0), "rot": (1.0, 0.0, 0.0, 0.0)}
    assert mentions(refusal(tmp_path / "c", data), "the model has no … 'trunk' …")


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"class_type": "isaaclab.envs.mdp:DifferentialInverseKinematicsAction"},
         "'joint_pos' (DifferentialInverseKinematicsAction)"),
        ({"class_type": "isaaclab.envs.mdp:EMAJointPositionToLimitsAction"}, "a moving average"),
        ({"class_type": "isaaclab.envs.mdp:RelativeJointPositionAction"}, "at every physics step"),
        ({"asset_name": "gripper"}, "'joint_pos' moves 'gripper', not 'robot'"),
        ({"joint_names": ["wing_.*"]}, "the pattern 'wing_.*' matches no …"),
        ({"joint_names": [".*", "arm_joint"]}, "two patterns match 'arm_joint'"),
        ({"class_type": "isaaclab.envs.mdp:JointVelocityAction"}, "also has a stiffness … 60"),
    ],
)  # fmt: skip
def test_actions_that_cannot_be_expressed_are_refused(
    tmp_path: Path, more: dict[str, Any], text: str
) -> None:
    assert mentions(refusal(tmp_path, runs.env(actions={"joint_pos": runs.action(**more)})), text)


def test_actions_to_limits_span_the_soft_limits(tmp_path: Path) -> None:
    kind = "isaaclab.envs.mdp.actions:JointPositionToLimitsAction"
    data = runs.env(actions={"q": runs.action(class_type=kind, scale=0.5, use_default_offset=None)})
    recipe = PolicyFile.load(imported(tmp_path, data).policy).action_recipe
    # The hip's range is ±1.5, the knee's −0.1 … 2.5; soft limits are 0.9 of it.
    np.testing.assert_allclose(recipe.scale[[0, 3]], [0.5 * 1.35, 0.5 * 1.17])
    np.testing.assert_allclose(recipe.offset[[0, 3]], [0.0, 1.2], atol=1e-12)
    low, high = cast(Range, recipe.clip_target)
    np.testing.assert_allclose([low[3], high[3]], [1.2 - 1.17, 1.2 + 1.17])


@pytest.mark.parametrize(("kind", "made"), [("Velocity", "velocity"), ("Effort", "motor")])
def test_velocities_and_efforts_have_their_own_actuators(
    tmp_path: Path, kind: str, made: str
) -> None:
    data = runs.env(actions={
        "legs": runs.action(joint_names=[".*_hip_joint", ".*_knee_joint"]),
        "arm": runs.action(joint_names=["arm_joint"], scale=2.0, use_default_offset=None,
                           class_type=f"isaaclab.envs.mdp.actions:Joint{kind}Action"),
    })  # fmt: skip
    data["scene"]["robot"]["actuators"] = {
        "legs": runs.actuators(joint_names_expr=[".*_hip_joint", ".*_knee_joint"]),
        "arm": runs.actuators(joint_names_expr=["arm_joint"], stiffness=0.0, damping=0.5),
    }
    world = world_of(imported(tmp_path, data))
    arm = next(b for b in world["robot"].actuators if b.joint == "arm_joint")
    assert arm.kind == made
    world.step(4)
    policy: Any = next(c for c in world["robot"].components if type(c).__name__ == "Policy")
    command = world.data.ctrl[arm.actuator_id]
    assert command == pytest.approx(2.0 * float(policy.action[-1]), abs=1e-6)
    extra = {"velocity": 0.0, "motor": 0.5}[made]
    assert world.model.dof_damping[arm.dof_address] == pytest.approx(extra)


# The network ------------------------------------------------------------------------------------


def normalised(path: Path) -> Path:
    """(obs − mean) / std before the first layer, which a Slice stands in front of."""
    node, tensor = biped.onnx.helper.make_node, biped.onnx.numpy_helper.from_array
    ints = {"start": [0], "end": [SIZE], "axis": [1]}
    nodes = [
        node("Slice", ["obs", "start", "end", "axis"], ["part"]),
        node("Sub", ["part", "mean"], ["centred"]),
        node("Div", ["centred", "std"], ["normal"]),
        node("Gemm", ["normal", "w"], ["actions"]),
    ]
    constants = [tensor(np.array(v), k) for k, v in ints.items()]
    constants += [tensor(np.ones((1, SIZE), np.float32), k) for k in ("mean", "std")]
    constants.append(tensor(np.zeros((SIZE, COUNT), np.float32), "w"))
    graph = biped.onnx.helper.make_graph(
        nodes,
        "net",
        [biped.value("obs", [1, SIZE])],
        [biped.value("actions", [1, COUNT])],
        constants,
    )
    opset = [biped.onnx.helper.make_opsetid("", 17)]
    biped.onnx.save(
        biped.onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), str(path)
    )
    return path


@pytest.mark.parametrize("where", ["empirical_normalization", "actor_obs_normalization"])
def test_a_normaliser_that_is_missing_is_said(tmp_path: Path, where: str) -> None:
    told = runs.agent()
    (told if where in told else told["policy"])[where] = True
    found = imported(tmp_path / "a", runs.env(), more={"params/agent.yaml": told})
    assert mentions(codes(found)["normaliser-missing"], "does not do it: …")
    config = tmp_path / "a" / "params" / "env.yaml"
    network, model = normalised(tmp_path / "with.onnx"), tmp_path / "a" / "walker.xml"
    found = import_policy([config], network, model, tmp_path / "b" / "scene.yaml")
    assert "normaliser-missing" not in codes(found)


def test_weights_beside_a_network_go_with_it(tmp_path: Path) -> None:
    config = runs.write(tmp_path, runs.env())
    path = biped.network(tmp_path / "plain.onnx", SIZE, COUNT)
    made = biped.onnx.load(str(path))
    biped.onnx.save(made, str(tmp_path / "net.onnx"), save_as_external_data=True,
                    location="net.onnx.data", size_threshold=0)  # fmt: skip
    found = import_policy(
        [config],
        tmp_path / "net.onnx",
        runs.model(tmp_path),
        tmp_path / "out/scene.yaml",
        copy=True,
    )
    assert (tmp_path / "out/net.onnx.data").is_file()
    assert set(found.source.files) == {"env.yaml", "net.onnx", "net.onnx.data"}
    world_of(found).step(4)


def test_a_torchscript_network_is_taken_without_being_opened(tmp_path: Path) -> None:
    config, network = runs.write(tmp_path, runs.env()), biped.torchscript(tmp_path / "policy.pt")
    found = import_policy(
        [config, network], None, runs.model(tmp_path), tmp_path / "out/scene.yaml"
    )
    assert "sizes not checked" in codes(found)["torchscript"]
    assert PolicyFile.load(found.policy).joints == runs.JOINTS


# Folders and Direct tasks -----------------------------------------------------------------------


def test_the_folder_of_a_run_is_enough(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    runs.write(run, runs.env())
    runs.write(run, runs.agent(), "params/agent.yaml")
    (run / "exported").mkdir()
    biped.network(run / "exported" / "policy.onnx", SIZE, COUNT)
    found = import_policy([run], None, runs.model(tmp_path), tmp_path / "out/scene.yaml")
    assert set(found.source.files) == {"env.yaml", "agent.yaml", "policy.onnx"}
    world_of(found).step(4)


def test_a_direct_task_gives_the_plant_and_a_gap(tmp_path: Path) -> None:
    data = runs.env(observation_space=33, action_space=5, action_scale=0.5, use_clock_signal=True)
    del data["observations"], data["actions"], data["commands"]
    data["robot"] = data["scene"].pop("robot")
    found = import_policy(
        [runs.write(tmp_path, data)], None, runs.model(tmp_path), tmp_path / "out/scene.yaml"
    )
    assert "the Direct workflow" in codes(found)["gap"]
    assert terms_of(found)[0]["size"] == 33 and "use_clock_signal" in terms_of(found)[0]["about"]
    world = world_of(found)
    assert not [c for c in world["robot"].components if type(c).__name__ == "Policy"]
    assert {b.kind for b in world["robot"].actuators} == {"position"}
    policy = PolicyFile.load(found.policy)
    assert set(policy.action_recipe.scale) == {0.5}
    biped.network(tmp_path / "out" / "policy.onnx", 33, COUNT)
    scene = mjrig.Scene.load(found.scene)
    scene["robot"].add_component(Policy(file=str(found.policy)))
    with pytest.raises(mjrig.MjrigError, match=regex("the policy file has … 33 …")):
        mjrig.World(scene)


# mjlab ------------------------------------------------------------------------------------------


def test_a_run_of_mjlab_is_read(tmp_path: Path) -> None:
    found = imported(tmp_path, runs.mjlab(), SIZE + 15, kind="none")
    assert found.found.stack == "mjlab"
    policy = PolicyFile.load(found.policy)
    assert policy.joints == runs.DEPTH
    assert policy.action_recipe.scale.tolist() == [0.37, 0.25, 0.37, 0.25, 1.0]
    model = world_of(found).model
    assert (model.opt.cone, model.opt.impratio, model.opt.iterations) == (1, 10.0, 10)
    assert model.dof_armature[6:].tolist() == [0.03] * 5
    terms = {t["type"]: t for t in terms_of(found)}
    assert terms["BaseLinearVelocity"]["site"] == "imu"
    assert (terms["HeightScan"]["offset"], terms["HeightScan"]["reach"]) == (0.0, 5.0)
    assert "above" not in terms["HeightScan"]


def test_names_in_tags_and_aliases_of_them_are_read(tmp_path: Path) -> None:
    data = runs.mjlab()
    text = runs.write(tmp_path, data, "plain.yaml").read_text()
    first = "func: mjlab.envs.mdp.observations.builtin_sensor"
    tag = "func: &id001 !!python/name:mjlab.envs.mdp.observations.builtin_sensor ''"
    text = text.replace(first, tag, 1).replace(first, "func: *id001")
    config = biped.write(tmp_path / "env.yaml", text)
    network = biped.network(tmp_path / "policy.onnx", SIZE + 15, COUNT)
    found = import_policy([config], network, runs.model(tmp_path), tmp_path / "out/scene.yaml")
    kinds = [t["type"] for t in terms_of(found)]
    assert kinds[:2] == ["BaseLinearVelocity", "BaseAngularVelocity"]


def test_a_delay_of_measurements_is_refused(tmp_path: Path) -> None:
    data = runs.mjlab()
    data["observations"]["actor"]["terms"]["joint_pos"]["delay_max_lag"] = 2
    assert mentions(refusal(tmp_path, data), "a delay of measurements … 2 …")


def test_the_report_has_every_finding_as_data(tmp_path: Path) -> None:
    from mjrig.components.importers.policy_import import report_data

    data = report_data(imported(tmp_path, runs.env()))
    assert json.dumps(data) and data["stack"] == "isaac_lab"
