"""Recordings and motions of other stacks, read by whoever knows their layout."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from mjrig.core.errors import RecordingError
from mjrig.data.recording.readers import read_recording
from mjrig.data.recording.recording import ActorRecording, Recording
from tests.wording import matches, mentions

TURN = np.array([np.cos(0.3), 0.0, 0.0, np.sin(0.3)])  # wxyz: 0.6 rad about z
ROWS = 4


def only(recording: Recording) -> ActorRecording:
    (actor,) = recording.actors.values()
    return actor


def kinds(actor: ActorRecording) -> list[tuple[str, str]]:
    return [(j.name, j.kind) for j in actor.joints]


def refused(path: Path, **hints: object) -> str:
    with pytest.raises(RecordingError) as caught:
        read_recording(path, hints)
    return str(caught.value)


# Motions ----------------------------------------------------------------------------------------


def motion(path: Path, **replaced: Any) -> Path:
    arrays: dict[str, Any] = {
        "fps": np.array([50]),
        "joint_pos": np.arange(ROWS * 2, dtype=np.float32).reshape(ROWS, 2),
        "joint_vel": np.ones((ROWS, 2), np.float32),
        "body_pos_w": np.tile([[[1.0, 2.0, 3.0]]], (ROWS, 1, 1)),
        "body_quat_w": np.tile(TURN, (ROWS, 1, 1)),
        "body_lin_vel_w": np.tile([[[0.1, 0.0, 0.0]]], (ROWS, 1, 1)),
        "body_ang_vel_w": np.tile([[[1.0, 0.0, 0.0]]], (ROWS, 1, 1)),
    }
    arrays |= replaced
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    return path


def test_a_motion_has_its_base_velocities_as_mujoco_has_them(tmp_path: Path) -> None:
    recording = read_recording(motion(tmp_path / "m.npz"), {"joints": "a, b"})
    actor = only(recording)
    assert (recording.format, recording.timestep, recording.steps) == ("motion npz", 0.02, ROWS - 1)
    assert kinds(actor) == [("base", "free"), ("a", "hinge"), ("b", "hinge")]
    np.testing.assert_allclose(actor.qpos[0], [1, 2, 3, *TURN, 0, 1], atol=1e-7)
    assert actor.qvel is not None
    expected = [0.1, 0, 0, np.cos(0.6), -np.sin(0.6), 0, 1, 1]  # linear: world; angular: base
    np.testing.assert_allclose(actor.qvel[0], expected, atol=1e-7)


def test_a_motion_without_names_asks_for_them(tmp_path: Path) -> None:
    path = motion(tmp_path / "m.npz")
    assert matches(
        refused(path), "m.npz: has 2 joints without names; … --hint joints=a,b,c, … policy.yaml …"
    )
    assert matches(refused(path, joints=["a"]), "m.npz: the hint joints must … 2 … a")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("joint_vel", np.zeros((ROWS, 3)),
         "m.npz: joint_vel has shape (4, 3), expected (4, 2)"),
        ("joint_pos", np.array([[0.0, np.nan]] * ROWS),
         "m.npz: joint_pos has a value that … 0"),
        ("fps", np.array([0.0]), "m.npz: the hint fps must … > 0, … 0.0"),
        ("body_quat_w", np.zeros((ROWS, 2, 4)), "m.npz: the quaternion in row 0 … 0"),
    ],
)  # fmt: skip
def test_a_broken_motion_is_refused(tmp_path: Path, key: str, value: Any, message: str) -> None:
    assert matches(refused(motion(tmp_path / "m.npz", **{key: value}), joints="a,b"), message)


def test_an_npz_with_objects_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, fps=np.array([{"a": 1}], dtype=object))
    assert mentions(refused(path), "fps is skipped: it … Python …")


def test_a_csv_without_header_needs_its_rate(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    row = [0.0, 0.0, 0.8, 0.0, 0.0, np.sin(0.3), np.cos(0.3), 0.1, 0.2]  # xyzw
    path.write_text("\n".join(",".join(map(str, row)) for _ in range(ROWS)))
    assert matches(refused(path, joints="a,b"), "walk.csv: does not state its … --hint fps=50")
    actor = only(read_recording(path, {"joints": "a,b", "fps": 60}))
    np.testing.assert_allclose(actor.qpos[0, 3:7], TURN)
    assert actor.qvel is None
    assert actor.time[1] == pytest.approx(1 / 60)


def test_a_csv_with_a_ragged_row_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("0,0,1,0,0,0,1,0.1\n0,0,1,0,0,0,1\n")
    assert refused(path, fps=50, joints="a") == "walk.csv: row 1 has 7 columns, the first 8"


def test_loco_mujoco_has_slides_and_hinges_for_a_base(tmp_path: Path) -> None:
    path = tmp_path / "loco.npz"
    names = ("pelvis_tx", "pelvis_tilt", "knee_angle_r")
    rows = np.arange(ROWS, dtype=np.float64)
    arrays: dict[str, Any] = {f"{kind}_{n}": rows for n in names for kind in ("q", "dq")}
    np.savez(path, **arrays, goal_speed=rows)
    assert matches(refused(path), "loco.npz: does not state its … --hint fps=50")
    actor = only(read_recording(path, {"fps": 100}))
    assert kinds(actor) == list(zip(names, ("slide", "hinge", "hinge"), strict=True))
    assert actor.qpos.shape == (ROWS, 3)


# URLab ------------------------------------------------------------------------------------------

_HEADER = "time,knee," + ",".join(f"root[{i}]" for i in range(7)) + ",cam_x"


def urlab_csv(path: Path, *rows: str, header: str = _HEADER) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_urlab_csv_drops_rows_of_a_paused_world(tmp_path: Path) -> None:
    rows = [f"{t},{q},0,0,1,1,0,0,0,9" for t, q in ((0.0, 0.1), (0.002, 0.2), (0.002, 0.2))]
    recording = read_recording(urlab_csv(tmp_path / "r.csv", *rows))
    actor = only(recording)
    assert (recording.format, recording.timestep) == ("urlab", 0.002)
    assert kinds(actor) == [("knee", "hinge"), ("root", "free")]
    assert actor.qpos[:, 0].tolist() == [0.1, 0.2]
    assert actor.step.tolist() == [0, 1]


def test_a_urlab_csv_without_times_takes_a_step_per_row(tmp_path: Path) -> None:
    recording = read_recording(urlab_csv(tmp_path / "r.csv", "1,0", "2,0", header="knee,cam_x"))
    assert only(recording).time.tolist() == [0.0, 0.002]
    assert mentions(recording.notes, "it has no times: … 0.002 …")


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("time,a[0],a[1],cam_x", "0,1,2,0", "r.csv: 'a' has 2 columns; 1, 4 or 7 make …"),
        ("time,a,a,cam_x", "0,1,2,0", "r.csv: the column 'a' is duplicated …"),
        ("time,a,cam_x", "0,1,2,3", "r.csv: row 0 has 4 columns, the header 3"),
        ("time,a,cam_x", "0,x,0", "r.csv: the table is not …"),
        ("time,a,cam_x", "0,nan,0", "r.csv: the table has a … 0"),
    ],
)
def test_a_broken_urlab_csv_is_refused(tmp_path: Path, header: str, row: str, message: str) -> None:
    assert matches(refused(urlab_csv(tmp_path / "r.csv", row, header=header)), message)


def test_two_rows_in_one_step_are_refused(tmp_path: Path) -> None:
    rows = ("0,1,0", "0.002,1,0", "8.004,1,0")
    path = urlab_csv(tmp_path / "r.csv", *rows, header="time,a,cam_x")
    assert matches(refused(path), "r.csv: row 1 is in the … 4.002 … --hint timestep=0.4002")


# Tables -----------------------------------------------------------------------------------------


def table(folder: Path, header: str, *rows: str) -> Path:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_table_gives_commands_efforts_and_units(tmp_path: Path) -> None:
    header = "t_ms,q_a,q_b,w_a,w_b,tau_b,tau_a,go_a,go_b,volts"
    path = table(tmp_path, header, "0,90,180,1,2,5,6,7,8,0", "10,45,0,3,4,7,8,9,10,0")
    said: dict[str, Any] = {
        "time": "t_ms", "position": {"a": "q_a", "b": "q_b"}, "velocity": "w_{joint}",
        "effort": "tau_{joint}", "command": "go_{joint}",
        "units": {"time": "ms", "position": "deg"},
    }  # fmt: skip
    recording = read_recording(path, {"columns": said, "robot": "arm"})
    actor = only(recording)
    assert (recording.timestep, recording.format, actor.name) == (0.01, "table", "arm")
    np.testing.assert_allclose(actor.qpos, np.radians([[90, 180], [45, 0]]))
    assert actor.qvel is not None and actor.qvel.tolist() == [[1, 2], [3, 4]]
    assert actor.commands is not None and actor.commands.position.tolist() == [[7, 8], [9, 10]]
    assert actor.efforts is not None and actor.efforts.effort.tolist() == [[6, 5], [8, 7]]
    assert actor.driven == ("a", "b")
    assert recording.notes == ("columns that nothing was made of: volts",)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("q", "the hint columns must … "),
        ({"positon": "q_{joint}"}, "the hint columns has 'positon'; … 'position'?"),
        ({"position": "q_a"}, "the hint columns.position must have {joint} … 'q_a'"),
        ({"position": {"a": "q_c"}},
         "the hint columns.position: there is … 'q_c'; … 'q_a'?"),
        ({"position": {"a": "q_a", "b": "q_a"}}, "the hint columns.position names a …"),
        ({"position": "p_{joint}"}, "the hint columns names …"),
        ({"position": "q_{joint}", "effort": {"c": "t"}},
         "the hint columns.effort has joints …"),
        ({"time": "time", "position": "q_{joint}"},
         "the hint columns.time: there is … 'time'; "),
        ({"time": "t", "position": "q_{joint}", "units": {"position": "mm"}},
         "the hint columns.units has position: … s, ms, us, ns; "),
        ({"position": "q_{joint}"}, "does not state its … --hint timestep=50"),
    ],
)  # fmt: skip
def test_a_mapping_that_does_not_fit_is_named(tmp_path: Path, said: Any, message: str) -> None:
    path = table(tmp_path, "t,q_a,q_b", "0,1,2", "0.1,3,4")
    assert matches(refused(path, columns=said), f"log.csv: {message}…")


def frame(time: float, **more: Any) -> dict[str, Any]:
    states = {
        "dog_root": {"qPos": [0, 0, 1, 1, 0, 0, 0], "qVel": [0] * 6},
        "dog_knee": {"qPos": [time], "qVel": [1.0]},
        **more,
    }
    return {"timestamp": time, "jointStates": states}


@pytest.mark.parametrize("lower", [False, True])
def test_urlab_json_is_read_whatever_the_case_of_its_keys(tmp_path: Path, lower: bool) -> None:
    path = tmp_path / "r.json"
    text = json.dumps({"Frames": [frame(0.0), frame(0.005), frame(0.005)]})
    path.write_text(text.lower() if lower else text)
    recording = read_recording(path)
    actor = only(recording)
    assert recording.timestep == 0.005
    assert kinds(actor) == [("dog_root", "free"), ("dog_knee", "hinge")]
    assert actor.qvel is not None and actor.qvel.shape == (2, 7)


def test_urlab_json_with_other_joints_in_a_frame_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    odd = frame(0.005, tail={"qPos": [0], "qVel": [0]})
    path.write_text(json.dumps({"Frames": [frame(0.0), odd]}))
    assert matches(refused(path), "r.json: frame 1 has other joints …")


# RoboJuDo ---------------------------------------------------------------------------------------


def packed(array: npt.NDArray[Any], **replaced: Any) -> dict[bytes, Any]:
    """An array as msgpack-numpy writes it."""
    made = {
        b"nd": True, b"type": array.dtype.str, b"kind": b"", b"shape": list(array.shape),
        b"data": array.tobytes(),
    }  # fmt: skip
    return {**made, **{k.encode(): v for k, v in replaced.items()}}


def log(folder: Path, *, config: dict[str, Any] | None = None, **env: Any) -> Path:
    msgpack: Any = pytest.importorskip("msgpack")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    path = folder / "log.msgpack"
    x, y, z, w = *TURN[1:], TURN[0]
    with path.open("wb") as file:
        for i in range(ROWS):
            data = {
                "dof_pos": packed(np.array([0.1 * i, 0.2], np.float32)),
                "dof_vel": packed(np.zeros(2, np.float32)),
                "base_quat": packed(np.array([x, y, z, w])),
                "base_pos": packed(np.array([0.02 * i, 0.0, 0.8])),
                "base_ang_vel": packed(np.array([0.0, 0.0, 1.0])),
                **env,
            }
            frame = {
                "env_data": data, "ctrl_data": {}, "extras": None, "timestep": i, "time": 1.0 + i,
                "pd_target": packed(np.array([0.5, 0.6], np.float32)),
            }  # fmt: skip
            file.write(msgpack.packb(frame, use_bin_type=True))
    return path


CONFIG = {
    "env": {"dof": {"joint_names": ["a", "b"]}, "sim_dt": 0.001, "sim_decimation": 20},
    "policy": {"freq": 50},
}


def test_a_robojudo_log_takes_names_and_rates_from_its_config(tmp_path: Path) -> None:
    recording = read_recording(log(tmp_path, config=CONFIG))
    actor = only(recording)
    assert (recording.format, recording.timestep, recording.steps) == ("robojudo", 0.001, 80)
    assert kinds(actor) == [("base", "free"), ("a", "hinge"), ("b", "hinge")]
    assert actor.step.tolist() == [0, 20, 40, 60]
    np.testing.assert_allclose(actor.qpos[1, 3:7], TURN)
    assert actor.qvel is not None
    np.testing.assert_allclose(actor.qvel[1, :6], [1, 0, 0, 0, 0, 1], atol=1e-9)
    assert actor.commands is not None
    np.testing.assert_allclose(actor.commands.position[0], [0.5, 0.6], atol=1e-7)


def test_a_robojudo_log_without_config_asks(tmp_path: Path) -> None:
    assert refused(log(tmp_path)).startswith("log.msgpack: has 2 joints without names")
    assert matches(
        refused(log(tmp_path), joints="a,b"), "log.msgpack: does not state its … --hint fps=50"
    )


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (packed(np.zeros(2), type="|O", data=b"\x80\x04."),
         "log.msgpack: an array of type …"),
        (packed(np.zeros(2), shape=[3]),
         "log.msgpack: an array of shape (3,) … float64 … 16 …"),
        (packed(np.zeros(2), shape=[-1, -2]),
         "log.msgpack: an array of shape (-1, -2) … float64 … 16 …"),
        (packed(np.zeros(2), type="nonsense"),
         "log.msgpack: an array is broken: … 'nonsense' …"),
    ],
)  # fmt: skip
def test_arrays_that_are_not_plain_numbers_are_refused(
    tmp_path: Path, array: dict[bytes, Any], message: str
) -> None:
    assert matches(refused(log(tmp_path, config=CONFIG, dof_pos=array)), message)


def test_a_truncated_log_keeps_its_whole_frames(tmp_path: Path) -> None:
    path = log(tmp_path, config=CONFIG)
    path.write_bytes(path.read_bytes()[:-10])
    assert len(only(read_recording(path)).qpos) == ROWS - 1


# Isaac Lab --------------------------------------------------------------------------------------


def isaac(path: Path, demos: int = 1, *, order: str = "wxyz", **replaced: Any) -> Path:
    h5py: Any = pytest.importorskip("h5py")
    turn = TURN if order == "wxyz" else np.roll(TURN, -1)
    pose = np.tile([0.0, 0.0, 0.5, *turn], (ROWS + 1, 1))
    states = {
        "root_pose": pose,
        "root_velocity": np.tile([0.1, 0, 0, 1.0, 0, 0], (ROWS + 1, 1)),
        "joint_position": np.arange(2.0 * ROWS + 2).reshape(ROWS + 1, 2),
        "joint_velocity": np.zeros((ROWS + 1, 2)),
        **replaced,
    }
    with h5py.File(path, "w") as file:
        file.create_group("data").attrs["env_args"] = '{"env_name": "dog"}'
        for i in range(demos):
            demo = file["data"].create_group(f"demo_{i}")
            demo["actions"] = np.zeros((ROWS, 2), np.float32)
            demo["processed_actions"] = np.full((ROWS, 2), 0.5, np.float32)
            for name, values in states.items():
                demo[f"initial_state/articulation/dog/{name}"] = values[:1].astype(np.float32)
                demo[f"states/articulation/dog/{name}"] = values[1:].astype(np.float32)
    return path


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_an_episode_starts_with_its_initial_state(tmp_path: Path, order: str) -> None:
    path = isaac(tmp_path / "data.hdf5", order=order)
    recording = read_recording(path, {"joints": "a,b", "fps": 50, "timestep": 0.005})
    actor = recording.actors["dog"]
    assert (recording.format, recording.timestep, recording.steps) == ("isaac lab", 0.005, 16)
    assert actor.step.tolist() == [0, 4, 8, 12, 16]
    np.testing.assert_allclose(actor.qpos[0], [0, 0, 0.5, *TURN, 0, 1], atol=1e-6)
    assert actor.qvel is not None
    np.testing.assert_allclose(actor.qvel[0, 3:6], [np.cos(0.6), -np.sin(0.6), 0], atol=1e-6)
    assert actor.commands is not None and actor.commands.step.tolist() == [0, 4, 8, 12]
    assert actor.policy is not None and actor.policy.action.shape == (ROWS, 2)
    assert mentions(recording.notes, f"quaternions are taken as {order}, …")


def test_one_of_several_episodes_is_chosen(tmp_path: Path) -> None:
    path = isaac(tmp_path / "data.hdf5", 2)
    hints = {"joints": "a,b", "fps": 50}
    assert refused(path, **hints) == (
        "data.hdf5: has 2 episodes (demo_0, demo_1); choose one: --hint episode=demo_0"
    )
    assert read_recording(path, {**hints, "episode": 1}).attributes["episode"] == "demo_1"
    assert refused(path, **hints, episode="demo_7") == (
        "data.hdf5: has no episode 'demo_7'; has: demo_0, demo_1"
    )


def test_an_episode_whose_quaternions_could_be_either_asks(tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    pose = np.tile([0.0, 0.0, 0.5, half, 0, 0, half], (ROWS + 1, 1))
    path = isaac(tmp_path / "data.hdf5", root_pose=pose)
    assert matches(
        refused(path, joints="a,b", fps=50),
        "data.hdf5: the order of quaternions … --hint quaternion=wxyz",
    )


def test_an_episode_without_a_rate_asks(tmp_path: Path) -> None:
    path = isaac(tmp_path / "data.hdf5")
    assert matches(refused(path, joints="a,b"), "data.hdf5: does not state its … --hint fps=50")


# Pickles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["walk.pkl", "walk.joblib", "walk.pt", "walk.dat"])
def test_pickles_are_refused_with_the_way_out(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x80\x04\x95\x00.")
    assert matches(
        refused(path),
        f"{name}: is a pickle, which … numpy.savez … joint_pos, joint_vel, body_pos_w, "
        "body_quat_w …",
    )
