"""Imports: what is recognised, refused, checked and written, whatever the stack."""

import io
import json
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from mjrig.components.importers.policy_import import Imported, RefusedError, import_policy
from mjrig.components.importers.preflight import about_runs
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.stack_registry import OTHER_KINDS
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.core.errors import SceneError
from mjrig.core.findings import Finding
from mjrig.lab.replay.diagnosis.order_probe import DECLARED, OrderProbe
from tests.components.importers import biped
from tests.wording import matches, mentions, regex


def gym(
    folder: Path,
    text: str = biped.GYM,
    *,
    size: int = 23,
    actions: int = 4,
    model: Path | None = None,
    **options: Any,
) -> Imported:
    config = biped.write(folder / "walker.yaml", text)
    network = biped.network(folder / "policy.onnx", size, actions)
    out = folder / "out" / "scene.yaml"
    return import_policy([config], network, model or biped.model(folder), out, **options)


def found(imported: Imported, code: str) -> list[Finding]:
    return [f for f in imported.findings if f.kind == code]


def refused(folder: Path, *args: Any, **options: Any) -> list[Finding]:
    """The errors; nothing was written."""
    with pytest.raises(RefusedError) as caught:
        gym(folder, *args, **options)
    assert not (folder / "out").exists()
    return [f for f in caught.value.imported.findings if f.severity == "error"]


# Files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kds: [1, 2, 1, 2]", "kds: [1, 2, 1]",
         "walker.yaml:7:6: kds: must have 4 values, one … 3"),
        ("kds: [1, 2, 1, 2]", "kds: [1, .nan, 1, 2]",
         "walker.yaml:7:10: kds[1]: must be a finite … nan"),
        ("kds: [1, 2, 1, 2]", "kds: [1, two, 1, 2]",
         "walker.yaml:7:10: kds[1]: must be a finite … 'two'"),
        ("simulation_dt: 0.002", "simulation_dt: 0",
         "walker.yaml:4:16: simulation_dt: must be > 0, got 0"),
        ("simulation_dt: 0.002", "simulation_tt: 0.002",
         "walker.yaml:2:1: 'simulation_dt' is missing; did you … 'simulation_tt'?"),
        ("control_decimation: 10", "control_decimation: 2.5",
         "walker.yaml:5:21: control_decimation: must be a whole … >= 1, … 2.5"),
        ("num_actions: 4", "num_actions: 4\nnum_actions: 5",
         "walker.yaml:15:1: duplicate key 'num_actions'; first at 14:1"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, biped.GYM.replace(old, new))
    assert matches(str(caught.value), message)
    assert not (tmp_path / "out").exists()


def test_python_tags_are_read_as_data_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    tags = f"""
a: !!python/object/apply:os.system ["touch {mark}"]
b: !!python/tuple [1, 2]
c: !!python/name:os.system ""
d: !!python/object/new:pathlib.Path {{args: ["{mark}"]}}
"""
    imported = gym(tmp_path, biped.GYM + tags)
    data = imported.source.configs[0].data
    assert data["a"] == [f"touch {mark}"]
    assert (data["b"], data["c"]) == ([1, 2], "os.system")
    assert not mark.exists()


def test_other_tags_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, biped.GYM + "a: !!binary aGFsbG8=\n")
    assert matches(str(caught.value), "walker.yaml:17:4: a: the tag !!binary is not … YAML")


def test_files_of_no_known_stack_are_named(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, "a: 1\n")
    assert matches(
        str(caught.value),
        "walker.yaml, policy.onnx: not a configuration of … isaac_lab, beyond_mimic, "
        "booster_gym, … rl_sar, … unitree_rl_gym, unitree_rl_lab, mujoco_playground)",
    )


def test_an_unknown_stack_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, stack="unitree_rl_gim")
    assert matches(str(caught.value), "unknown stack 'unitree_rl_gim'; did you … 'unitree_rl_gym'?")


def test_files_that_are_not_of_the_stack_somebody_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, stack="rl_sar")
    assert str(caught.value) == "walker.yaml, policy.onnx: not a configuration of rl_sar"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'out'}: is not a folder"


def test_a_pickle_is_refused_unread(tmp_path: Path) -> None:
    biped.write(tmp_path / "a.pkl", "cos\nsystem\n")
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([tmp_path / "a.pkl"], None, biped.model(tmp_path), tmp_path / "scene.yaml")
    assert matches(str(caught.value), "a.pkl: is a pickle, which … .npz … .onnx …")


def archive(**members: bytes) -> bytes:
    """A zip with these files; `__` in a name stands for `/`, `_DOT_` for a dot."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "/").replace("_DOT_", "."), content)
    return made.getvalue()


def pickled(*names: str) -> bytes:
    """A pickle of a dictionary with these keys; it would run a program if it were loaded."""
    keys = b"".join(b"X" + len(n).to_bytes(4, "little") + n.encode() + b"K\x01" for n in names)
    return b"\x80\x04(" + keys + b"cos\nsystem\n(X\x04\x00\x00\x00exitR0u."


TENSORS = b'{"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
CHECKPOINTS = {
    "rsl_rl": archive(
        model_100__data_DOT_pkl=pickled("model_state_dict", "optimizer_state_dict", "iter"),
        model_100__version=b"3",
    ),
    "rsl_rl 5": archive(
        model__data_DOT_pkl=pickled("actor_state_dict", "critic_state_dict"), model__version=b"3"
    ),
    "rl_games": archive(a__data_DOT_pkl=pickled("a2c_network.mu.weight"), a__version=b"3"),
    "skrl": archive(a__data_DOT_pkl=pickled("policy", "state_preprocessor"), a__version=b"3"),
    "PyTorch (torch.save)": archive(
        archive__data_DOT_pkl=pickled("weight"), archive__data__0=b"1234"
    ),
    "Stable-Baselines3": archive(
        data=b"{}", policy_DOT_pth=b"1", _stable_baselines3_version=b"2.3"
    ),
    "brax": b"\x80\x04\x95cbrax.training.acme.running_statistics\nRunningStatisticsState\n.",
    "a pickle": pickled("weights"),
    "safetensors": len(TENSORS).to_bytes(8, "little") + TENSORS + b"1234",
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(64),
    "TensorFlow Lite": b"\x1c\x00\x00\x00TFL3" + bytes(64),
    "numpy archive": archive(w_DOT_npy=b"\x93NUMPY"),
    "a zip archive": archive(readme_DOT_txt=b"1"),
    "a damaged archive": b"PK\x03\x04 not really",
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_weights_without_a_network_say_what_to_export(tmp_path: Path, name: str) -> None:
    model = biped.model(tmp_path)
    config = biped.write(tmp_path / "walker.yaml", biped.GYM)
    for suffix in (".pt", ".onnx", ".bin"):
        path = tmp_path / f"model_100{suffix}"
        path.write_bytes(CHECKPOINTS[name])
        for files, network in (([config, path], None), ([config], path)):
            with pytest.raises(mjrig.SceneError) as caught:
                import_policy(files, network, model, tmp_path / "out" / "scene.yaml")
            text = str(caught.value)
            assert text.startswith(f"{path.name}: ") and name.removesuffix(" 5") in text
            assert "not text" not in text and "#x" not in text
            assert "onnx" in text.lower() or "archive" in name
    (tmp_path / "checkpoint").mkdir(exist_ok=True)
    (tmp_path / "checkpoint" / "_METADATA").write_text("{}")
    with pytest.raises(mjrig.SceneError, match=regex("checkpoint: is a checkpoint folder …")):
        import_policy([tmp_path / "checkpoint"], None, model, tmp_path / "out" / "scene.yaml")


@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02binary", b"text with \x02 in it", b"\xff\xfe\x00"]
)
def test_a_file_that_is_nothing_known_shows_how_it_begins(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.yaml").write_bytes(content)
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([tmp_path / "a.yaml"], None, biped.model(tmp_path), tmp_path / "s.yaml")
    assert matches(
        str(caught.value),
        f"a.yaml: is neither a configuration (YAML … JSON) … (ONNX … TorchScript); … "
        f"{content[:8].hex(' ')}",
    )


def test_torchscript_under_the_name_of_onnx_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        mjrig.SceneError, match=regex("p.onnx: is TorchScript, not ONNX: call it p.pt")
    ):
        import_policy(
            [biped.torchscript(tmp_path / "p.onnx")], None, biped.model(tmp_path),
            tmp_path / "scene.yaml",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cfg.py", "from legged_gym.envs import LeggedRobotCfg\nclass A1(LeggedRobotCfg): pass\n"),
        ("cfg.yaml", "env: {num_envs: 4096}\ncontrol: {stiffness: {joint: 20}}\n"
         "init_state: {}\nnormalization: {obs_scales: {lin_vel: 2.0}}\n"),
        ("cfg.json", '{"domain_rand": {}, "rewards": {}, "control": {}, "init_state": {}}'),
    ],
)  # fmt: skip
def test_training_configurations_of_legged_gym_are_recognised(
    tmp_path: Path, name: str, text: str
) -> None:
    config = biped.write(tmp_path / name, text)
    network = biped.network(tmp_path / "policy.onnx", 23)
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([config], network, biped.model(tmp_path), tmp_path / "scene.yaml")
    assert str(caught.value).startswith(f"{name}: is a training configuration of legged_gym: ")


def test_aliases_of_python_tags_are_read(tmp_path: Path) -> None:
    tags = "a: &one !!python/tuple [1, 2]\nb: *one\n"
    data = gym(tmp_path, biped.GYM + tags).source.configs[0].data
    assert data["b"] == data["a"] == [1, 2]


def test_a_configuration_alone_needs_its_network(tmp_path: Path) -> None:
    config = biped.write(tmp_path / "walker.yaml", biped.GYM)
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([config], None, biped.model(tmp_path), tmp_path / "scene.yaml")
    assert matches(str(caught.value), "there is no network: … .onnx … .pt …")


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, model=tmp_path / "none.xml")
    assert str(caught.value) == f"model {str(tmp_path / 'none.xml')!r} does not exist"


def test_what_is_there_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    scene = biped.write(tmp_path / "out" / "scene.yaml", "mine\n")
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path)
    assert matches(str(caught.value), f"{scene}: exists already; … --overwrite …")
    assert scene.read_text() == "mine\n"
    # The motion of a policy that was there before is not the new one's.
    motion = scene.with_name("policy_motion.npz")
    motion.write_bytes(b"old")
    gym(tmp_path, overwrite=True)
    assert not motion.exists()
    assert scene.read_text().startswith("# Imported from unitree_rl_gym: walker.yaml, policy.onnx.")


def test_an_import_that_fails_late_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = biped.write(tmp_path / "out" / "scene.yaml", "mine\n")

    def fails(_: object) -> None:
        raise mjrig.SceneError("no")

    monkeypatch.setattr("mjrig.components.importers.policy_import.World", fails)
    with pytest.raises(mjrig.SceneError):
        gym(tmp_path, overwrite=True, copy=True)
    assert scene.read_text() == "mine\n"
    assert [p.name for p in scene.parent.iterdir()] == ["scene.yaml"]


def test_the_network_is_named_where_it_is_or_copied(tmp_path: Path) -> None:
    assert str(PolicyFile.load(gym(tmp_path).policy).network) == "../policy.onnx"
    copied = gym(tmp_path, copy=True, overwrite=True)
    assert str(PolicyFile.load(copied.policy).network) == "policy.onnx"
    assert (copied.policy.parent / "policy.onnx").is_file()


def test_the_scene_says_where_it_came_from(tmp_path: Path) -> None:
    source = PolicyFile.load(gym(tmp_path).policy).source
    assert source["stack"] == "unitree_rl_gym"
    assert set(source["files"]) == {"walker.yaml", "policy.onnx"}
    assert all(len(digest) == 64 for digest in source["files"].values())


# Another robot ----------------------------------------------------------------------------------


def test_another_number_of_joints_is_another_robot(tmp_path: Path) -> None:
    model = biped.model(tmp_path, order=biped.JOINTS[:3])
    with pytest.raises(mjrig.BindingError) as caught:
        gym(tmp_path, model=model)
    assert matches(
        str(caught.value),
        f"the policy moves 4 joints … {tmp_path.name}/biped.xml … 3 … (left_hip_joint, "
        "left_knee_joint, right_hip_joint). … If … --joints",
    )


@pytest.mark.parametrize(
    ("folder", "files", "named"),
    [
        ("go2_description", "g1", "go2"),
        ("exp_t1", "g1_description", "t1"),
        ("h1", "h1_2", "h1"),
        ("h1_2", "h1", "h1_2"),
        ("h1_2", "h1_2", ""),
        ("h1-2_12dof", "h1_2_description", ""),
        ("h1_2024", "h1", ""),
        ("my_h1_2", "h1_2", ""),
        ("models", "h1_2", ""),
        ("go2w_description", "go2w", ""),
    ],
)
def test_names_of_folders_are_hints_and_refuse_nothing(
    tmp_path: Path, folder: str, files: str, named: str
) -> None:
    (tmp_path / folder).mkdir()
    text = biped.GYM.replace("walker_description", files).replace("walker", files)
    model = biped.model(tmp_path / folder)
    said = found(gym(tmp_path, text, model=model), "other-robot")
    assert bool(said) == bool(named)
    if said:
        theirs = files.removesuffix("_description")
        assert (said[0].expected, said[0].here) == (theirs, named)
        assert f"{theirs!r}, the name {folder}/biped.xml is of {named!r}; " in said[0].text
        assert matches(said[0].fix, "--robot names the robot of …")
        confirmed = Overrides(robot=theirs)
        again = gym(tmp_path, text, model=model, overrides=confirmed, overwrite=True)
        assert not found(again, "other-robot")


def test_what_the_user_says_of_the_robot_is_compared_with_the_files(tmp_path: Path) -> None:
    text = biped.GYM.replace("walker", "g1")
    (said,) = found(gym(tmp_path, text, overrides=Overrides(robot="h1")), "other-robot")
    assert (said.expected, said.here, said.fix) == ("g1", "h1", "")
    assert "'g1'" in said.text and "'h1'" in said.text


def test_a_model_without_actuators_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(mjrig.BindingError) as caught:
        gym(tmp_path, model=biped.model(tmp_path, order=()))
    assert matches(
        str(caught.value),
        f"{tmp_path.name}/biped.xml: has no actuator on … [{{type: MotorActuator, … .*}}]) …",
    )


def mimic(folder: Path, names: str, order: tuple[str, ...] = biped.JOINTS) -> Imported:
    metadata = {**biped.MIMIC, "joint_names": names}
    network = biped.network(folder / "net.onnx", biped.MIMIC_SIZE, metadata=metadata)
    return import_policy([], network, biped.model(folder, order=order), folder / "scene.yaml")


def test_joints_of_another_robot_are_listed(tmp_path: Path) -> None:
    with pytest.raises(mjrig.BindingError) as caught:
        mimic(tmp_path, "FL_hip,FL_calf,FR_hip,FR_calf")
    assert matches(
        str(caught.value),
        f"0 of the policy's 4 joints … {tmp_path.name}/biped.xml: … left_hip_joint, "
        f"left_knee_joint, "
        "right_hip_joint, right_knee_joint; … FL_hip, FL_calf, FR_hip, FR_calf. … If … "
        "--joints",
    )


def test_one_missing_joint_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(mjrig.BindingError) as caught:
        mimic(tmp_path, "left_hip_joint,right_hip_joint,left_knee_joint,right_kne_joint")
    assert matches(
        str(caught.value),
        f"{tmp_path.name}/biped.xml has no joint for right_kne_joint … right_knee_joint) … "
        f"--joints …",
    )


def test_two_names_for_one_joint_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mjrig.BindingError) as caught:
        mimic(tmp_path, "left_hip_joint,left_hip,left_knee_joint,right_knee_joint")
    assert matches(
        str(caught.value),
        f"left_hip_joint, left_hip of the policy are … 'left_hip_joint' … "
        f"{tmp_path.name}/biped.xml",
    )


def test_joints_are_matched_by_name_whatever_the_order_of_the_actuators(tmp_path: Path) -> None:
    imported = mimic(tmp_path, biped.MIMIC["joint_names"], order=tuple(reversed(biped.JOINTS)))
    assert imported.matched.joints == tuple(biped.MIMIC["joint_names"].split(","))
    assert not found(imported, "order-by-place")


# Pre-flight -------------------------------------------------------------------------------------


def test_an_observation_that_does_not_fit_shows_its_terms(tmp_path: Path) -> None:
    (finding,) = refused(tmp_path, size=25)
    assert (finding.kind, finding.here, finding.expected) == ("observation-size", 23, 25)
    assert finding.evidence["network"] == "policy.onnx"
    parts = dict(part.split() for part in finding.evidence["parts"].split(" + "))
    assert parts == {
        "BaseAngularVelocity": "3", "ProjectedGravity": "3", "CommandTerm": "3",
        "JointPositions": "4", "JointVelocities": "4", "LastAction": "4", "GaitPhase": "2",
    }  # fmt: skip


def test_a_network_with_other_actions_is_refused(tmp_path: Path) -> None:
    finding = refused(tmp_path, actions=3)[0]
    assert (finding.kind, finding.here, finding.expected) == ("action-size", 3, 4)


def test_an_input_nobody_feeds_is_refused(tmp_path: Path) -> None:
    config = biped.write(tmp_path / "walker.yaml", biped.GYM)
    network = biped.network(tmp_path / "policy.onnx", 23, extra_inputs=("lidar",))
    with pytest.raises(RefusedError) as caught:
        import_policy([config], network, biped.model(tmp_path), tmp_path / "scene.yaml")
    errors = [f for f in caught.value.imported.findings if f.severity == "error"]
    assert [(f.kind, f.evidence["input"]) for f in errors] == [("network-input", "lidar")]


def test_a_default_pose_out_of_range_is_an_error_where_only_places_are_known(
    tmp_path: Path,
) -> None:
    swapped = biped.GYM.replace("[-0.1, 0.3, -0.1, 0.3]", "[0.3, -0.5, 0.3, -0.5]")
    (finding,) = refused(tmp_path, swapped)
    assert (finding.kind, finding.where) == ("default-out-of-range", "robot")
    assert finding.form == "default-out-of-range by index"
    assert finding.here == [
        "left_knee_joint -0.5 (range -0.1 to 2.5)",
        "right_knee_joint -0.5 (range -0.1 to 2.5)",
    ]


def test_gains_that_differ_between_the_sides_are_another_order(tmp_path: Path) -> None:
    odd = biped.GYM.replace("[60, 80, 60, 80]", "[60, 60, 80, 80]")
    (finding,) = refused(tmp_path, odd)
    assert (finding.kind, finding.evidence["property"]) == ("left-right", "kp")
    joints = [
        "left_hip_joint 60, right_hip_joint 80",
        "left_knee_joint 60, right_knee_joint 80",
    ]
    assert finding.here == joints and finding.evidence["by_index"]


def test_a_default_pose_may_be_mirrored_but_not_lopsided(tmp_path: Path) -> None:
    mirrored = biped.GYM.replace("[-0.1, 0.3, -0.1, 0.3]", "[-0.1, 0.3, 0.1, 0.3]")
    assert not found(gym(tmp_path, mirrored), "left-right")
    lopsided = biped.GYM.replace("[-0.1, 0.3, -0.1, 0.3]", "[-0.1, 0.3, -0.1, 0.6]")
    (finding,) = found(gym(tmp_path, lopsided, overwrite=True), "left-right")
    assert (finding.severity, finding.evidence["property"]) == ("warning", "default pose")
    assert finding.here == ["left_knee_joint 0.3, right_knee_joint 0.6"]


def test_damping_that_would_shake_is_told_with_its_number(tmp_path: Path) -> None:
    stiff = biped.GYM.replace("kds: [1, 2, 1, 2]", "kds: [1, 60, 1, 60]")
    (finding,) = found(gym(tmp_path, stiff), "stability")
    assert (finding.severity, finding.expected) == ("warning", 2.0)
    assert finding.names == ("left_knee_joint", "right_knee_joint") and finding.here > 2.0
    assert not found(gym(tmp_path, overwrite=True), "stability")


def test_position_actuators_get_no_controller_and_other_gains_are_told(tmp_path: Path) -> None:
    imported = gym(tmp_path, model=biped.model(tmp_path, "position"))
    (actor,) = mjrig.Scene.load(imported.scene).actors
    assert [type(c).__name__ for c in actor.components] == ["Policy"]
    (finding,) = found(imported, "gains-differ")
    assert "left_knee_joint kp 60 kv 0 here, 80 2 there" in finding.text


def test_an_actuator_that_is_neither_motor_nor_servo_is_refused(tmp_path: Path) -> None:
    errors = refused(tmp_path, model=biped.model(tmp_path, "velocity"))
    assert matches(
        errors[0],
        "robot.(left_hip, left_knee, right_hip, right_knee): is a velocity actuator: … PD …",
    )


def test_the_model_s_limits_stay_where_they_are_and_their_lack_is_told(tmp_path: Path) -> None:
    (finding,) = found(gym(tmp_path), "limit")
    assert finding.evidence == {"attribute": "ctrlrange", "joints": 4}
    bare = biped.model(tmp_path)
    bare.write_text(bare.read_text().replace('ctrlrange="-40 40"', ""))
    (finding,) = found(gym(tmp_path, model=bare, overwrite=True), "no-limit")
    assert finding.severity == "warning"


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is here and opens it")
def test_torchscript_is_imported_without_looking_into_it(tmp_path: Path) -> None:
    config = biped.write(tmp_path / "walker.yaml", biped.GYM)
    network = biped.torchscript(tmp_path / "policy.pt")
    imported = import_policy([config], network, biped.model(tmp_path), tmp_path / "scene.yaml")
    (finding,) = found(imported, "torchscript")
    assert matches(finding.text, "policy.pt is TorchScript, which only torch …")
    assert PolicyFile.load(imported.policy).joints == biped.JOINTS


@pytest.mark.parametrize(("freq", "tick"), [(60, "0.0166667"), (5e-324, "inf"), (1e308, "1e-308")])
def test_a_tick_that_is_no_multiple_of_the_timestep_is_refused(
    freq: float, tick: str, tmp_path: Path
) -> None:
    config = biped.write(tmp_path / "config.json", json.dumps(biped.judo(freq=freq)))
    network = biped.network(tmp_path / "policy.onnx", 23)
    with pytest.raises(mjrig.SceneError) as caught:
        import_policy([config], network, biped.model(tmp_path), tmp_path / "scene.yaml")
    assert matches(str(caught.value), f"the policy acts every {tick} … 0.001 …")


def test_a_run_starts_on_its_feet_or_at_a_height(tmp_path: Path) -> None:
    config = biped.write(tmp_path / "deploy.yaml", biped.LAB)
    network = biped.network(tmp_path / "policy.onnx", 42)
    model = biped.model(tmp_path)
    imported = import_policy([config], network, model, tmp_path / "scene.yaml")
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    assert world.data.qpos[2] == pytest.approx(0.725, abs=0.02)
    world.step(1)
    assert all(c.dist < 0.002 for c in world.data.contact)
    high = Overrides(height=0.9)
    out = tmp_path / "scene.yaml"
    imported = import_policy([config], network, model, out, overwrite=True, overrides=high)
    assert mjrig.World(mjrig.Scene.load(imported.scene)).data.qpos[2] == 0.9


# Probe runs -------------------------------------------------------------------------------------


def tried(name: str, cost: float, **more: Any) -> OrderProbe:
    values: dict[str, Any] = {"fell": False, "duration": 3.0, "upright": 1.0}
    values |= {"tracking_error": 0.1, "saturation": 0.0, "restlessness": 0.0}
    return OrderProbe(name, ("b", "a"), cost, **(values | more))


FALLS = tried(DECLARED, 7.5, fell=True, duration=0.84)
COMMAND = (0.5, 0.0, 0.3)


def test_an_order_is_named_only_if_the_policy_walks_with_it() -> None:
    (finding,) = about_runs([tried("left and right swapped", 0.2), FALLS], COMMAND)
    assert (finding.kind, finding.fix) == ("order-probe", "--joints b,a")
    assert mentions(finding.text, "with left and right … 0.20")


@pytest.mark.parametrize(
    "best",
    [
        [],  # none was tried
        [tried("left and right swapped", 7.0, fell=True, duration=1.0)],
        # It only stands: that is no sign of the right order.
        [tried("left and right swapped", 0.6, tracking_error=0.56)],
        [tried("left and right swapped", 0.6, upright=0.5)],
    ],
)
def test_where_no_order_does_well_the_cause_is_unclear(best: list[OrderProbe]) -> None:
    (finding,) = about_runs([*best, FALLS], COMMAND)
    assert finding.kind == "unclear"
    assert mentions(finding.text, "0.84 s")
    assert "correct joints" not in finding.fix
    assert all(f"--{flag}" in finding.fix for flag in ("scale", "default", "keyframe", "rate"))


def test_a_healthy_run_says_what_it_does_not_judge(tmp_path: Path) -> None:
    (finding,) = about_runs([tried(DECLARED, 0.2)], COMMAND)
    assert (finding.kind, str(finding.severity)) == ("not-judged", "note")
    (finding,) = found(gym(tmp_path), "not-judged")
    assert matches(finding.text, "not judged: order, signs …")


# Overrides --------------------------------------------------------------------------------------


def test_every_suspicion_of_another_order_can_be_overruled(tmp_path: Path) -> None:
    odd = biped.GYM.replace("[60, 80, 60, 80]", "[60, 60, 80, 80]")
    odd = odd.replace("[-0.1, 0.3, -0.1, 0.3]", "[0.3, -0.5, 0.3, -0.5]")
    refused(tmp_path, odd)
    imported = gym(tmp_path, odd, overrides=Overrides(robot="walker"))
    assert {str(f.severity) for code in ("left-right", "default-out-of-range")
            for f in found(imported, code)} == {"warning"}  # fmt: skip
    names = ("left_hip_joint", "right_hip_joint", "left_knee_joint", "right_knee_joint")
    named = gym(tmp_path, odd, overrides=Overrides(joints=names), overwrite=True)
    assert PolicyFile.load(named.policy).joints == names
    assert not found(named, "order-by-place")


def test_what_the_user_says_replaces_what_the_files_say(tmp_path: Path) -> None:
    said = Overrides.parse(
        {"scale": "0.5", "default": "home", "keyframe": "home", "rate": "100", "height": ""}
    )
    imported = gym(tmp_path, overrides=said)
    policy = PolicyFile.load(imported.policy)
    assert policy.action_recipe.scale.tolist() == [0.5] * 4
    assert policy.default.tolist() == [0.2, 0.4, 0.2, 0.4]
    assert (policy.timestep, policy.decimation) == (0.002, 5)
    world = mjrig.World(mjrig.Scene.load(imported.scene))
    assert world.data.qpos[2] == 0.75 and world.data.qpos[7:].tolist() == [0.2, 0.4, 0.2, 0.4]
    assert mentions(policy.source["notes"], "the rate is that … --rate")
    none = gym(tmp_path, overrides=Overrides.parse({"keyframe": "none"}), overwrite=True)
    assert mjrig.World(mjrig.Scene.load(none.scene)).data.qpos[2] == 0.8
    other = Overrides.parse({"rate": "40", "default": "-0.1,.2,-0.1,.2", "scale": "1,2,1,2"})
    policy = PolicyFile.load(gym(tmp_path, overrides=other, overwrite=True).policy)
    assert (policy.timestep, policy.decimation) == (0.001, 25)  # 0.002 s does not divide 0.025 s
    assert policy.default.tolist() == [-0.1, 0.2, -0.1, 0.2]
    assert policy.action_recipe.scale.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("flag", "text", "message"),
    [
        ("scale", "a", "--scale takes X[,X…], the action scale: … 'a'"),
        ("scale", "1,2", "--scale has 2 values, needs 1 or 4"),
        ("scale", "nan", "--scale takes X[,X…], the action scale: … 'nan'"),
        ("default", "1,2,3", "--default has 3 values, needs 1 or 4"),
        ("default", "hom", "--default hom: there is no such … 'home'?"),
        ("keyframe", "hoem", "--keyframe hoem: there is no such … 'home'?"),
        ("joints", "a,b", "--joints has 2 names, the policy 4"),
        ("rate", "0", "--rate must be > 0 Hz, got 0"),
        ("height", "1,2", "--height takes one number, got '1,2'"),
    ],
)  # fmt: skip
def test_an_override_that_does_not_fit_is_named(
    tmp_path: Path, flag: str, text: str, message: str
) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, overrides=Overrides.parse({flag: text}))
    assert matches(str(caught.value), message)


# The command ------------------------------------------------------------------------------------


def arguments(folder: Path, *more: str, size: int = 23) -> list[str]:
    config = biped.write(folder / "walker.yaml", biped.GYM)
    network = biped.network(folder / "policy.onnx", size)
    model = biped.model(folder)
    out = folder / "out" / "scene.yaml"
    files = [str(config), str(network), "--model", str(model), "-o", str(out)]
    return ["import", *files, "--no-probe", *more]


def test_the_command_prints_joints_observation_rate_and_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"unitree_rl_gym policy on {tmp_path.name}/biped.xml: findings: ")
    assert lines[1] == "  files: walker.yaml, policy.onnx"
    assert any(matches(line, "4 joints, matched by place; 0 …") for line in lines)
    assert "observation: 23 values, the network takes 23:" in lines
    assert mentions(lines, "rate: 0.002 s × 10 = 0.02 s (50 Hz), ticks after …")
    assert lines[-1] == f"{tmp_path / 'out' / 'scene.yaml'} and policy.yaml written"


def test_strict_fails_on_warnings(tmp_path: Path) -> None:
    assert main(arguments(tmp_path, "--strict")) == 1


def test_a_refused_import_prints_the_pre_flight_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, size=24)) == 1
    said = capsys.readouterr()
    assert "findings: 1 error, " in said.out
    assert said.err.startswith("mjrig: robot: policy.onnx takes 24 values, the terms have 23: ")
    assert said.err.count("\n") == 1


def test_the_command_speaks_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, "--json")) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["written"] is True
    assert (data["observation_size"], data["network_input"]) == (23, 23)
    assert [j["joint"] for j in data["joints"]] == list(biped.JOINTS)
    assert {
        "kind",
        "severity",
        "where",
        "here",
        "expected",
        "unit",
        "evidence",
        "edits",
        "text",
        "fix",
    } == set(data["findings"][0])


# Forks of unitree_rl_gym ------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [21, None, "whole"])
@pytest.mark.parametrize("frames", [1, 3])
def test_sizes_tell_whether_a_fork_has_a_phase_and_stacks_frames(
    declared: int | str | None, frames: int, tmp_path: Path
) -> None:
    size = 21 * frames if declared == "whole" else declared
    text = biped.GYM.replace("num_obs: 23", "" if size is None else f"num_obs: {size}")
    imported = gym(tmp_path, text, size=21 * frames)
    data = yaml.safe_load(imported.policy.read_text())["observation"]
    assert "GaitPhase" not in [t["type"] for t in data["terms"]]
    if frames == 1:
        assert "history" not in data
    else:
        assert data["history"] == {
            "length": 3, "order": "oldest_first", "fill": "zeros", "by": "frame"
        }  # fmt: skip
        assert any("3 frames of 21 values" in f.text for f in found(imported, "assumed"))


def test_joint_names_of_a_fork_decide_its_order(tmp_path: Path) -> None:
    names = [biped.JOINTS[i] for i in (2, 3, 0, 1)]
    imported = gym(tmp_path, f"{biped.GYM}model_joint_names: {names}\n")
    assert list(imported.matched.joints) == names
    assert not found(imported, "order-by-place")
    with pytest.raises(mjrig.SceneError, match=r"model_joint_names.* has 3 joints, num_actions is"):
        gym(tmp_path, f"{biped.GYM}model_joint_names: {names[:3]}\n", overwrite=True)


@pytest.mark.parametrize("key", ["kps", "kds", "default_angles", "num_actions"])
def test_a_file_that_lacks_one_key_of_a_stack_is_told_which(key: str, tmp_path: Path) -> None:
    lines = [line for line in biped.GYM.splitlines() if not line.startswith(f"{key}:")]
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, "\n".join(lines))
    told = f"; walker.yaml would be of unitree_rl_gym, but lacks {key}"
    assert str(caught.value).endswith(told)


@pytest.mark.parametrize("keys", list(OTHER_KINDS))
def test_a_file_of_a_training_is_told_as_such(keys: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(mjrig.SceneError) as caught:
        gym(tmp_path, "".join(f"{key}: {{}}\n" for key in keys))
    assert mentions(str(caught.value), f"walker.yaml is {OTHER_KINDS[keys]}, which is not …")


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ((), "is an empty folder"),
        (("b/", "a/"), "is a folder without …"),
        (("a/", "x.yaml"), "is a folder; give … x.yaml"),
        ((".git/", "x.yaml", "y.onnx"), "is a folder; give … x.yaml, y.onnx"),
    ],
)
def test_a_folder_names_the_files_in_it_and_its_folders_as_folders(
    entries: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "shipped"
    folder.mkdir()
    for entry in entries:
        (folder / entry).mkdir() if entry.endswith("/") else (folder / entry).touch()
    with pytest.raises(SceneError) as caught:
        import_policy([folder], None, biped.model(tmp_path), tmp_path / "out" / "scene.yaml")
    assert matches(str(caught.value), f"shipped: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is empty"), ("\n \n", "is empty"), ("# nothing yet\n", "has only comments")],
)
def test_a_configuration_without_content_is_called_empty(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(SceneError, match=f"^walker.yaml: {said}; a configuration has keys"):
        gym(tmp_path, text)
