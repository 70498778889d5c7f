"""log.yaml: guesses, corrections, and logs that cannot be read."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml
from rosbags.typesys import get_types_from_msg

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import RecordingError
from mjrig.data.robot_logs.containers.message_definitions import definition_text
from mjrig.data.robot_logs.field_names import meaning
from mjrig.data.robot_logs.log_map import map_schema
from tests.plugin.data.robot_logs import simulated as sim
from tests.wording import mentions


@pytest.fixture(scope="module")
def run() -> sim.Run:
    return sim.simulated(1.0)


@pytest.fixture
def bag(run: sim.Run, tmp_path: Path) -> Path:
    store = sim.ros2()
    return sim.write_rosbag2(tmp_path / "bag", sim.joint_messages(run, store), store, "SQLITE3")


@pytest.mark.parametrize(
    ("topic", "path", "expected"),
    [
        ("/joint_states", "position[hip]", ("position", "position[{}]", "hip")),
        ("/joint_commands", "position[hip]", ("command", "position[{}]", "hip")),
        ("/lowcmd", "motor_cmd[3].kp", ("kp", "motor_cmd[{}].kp", "3")),
        ("/lowcmd", "motor_cmd[3].tau", ("feedforward", "motor_cmd[{}].tau", "3")),
        ("/lowcmd", "motor_cmd[3].mode", None),
        ("/lowstate", "motor_state[3].ddq", None),
        ("/lowstate", "motor_state[3].q_raw", None),
        ("/c/state", "reference.positions[a]", ("command", "reference.positions[{}]", "a")),
        ("/c/state", "feedback.velocities[a]", ("velocity", "feedback.velocities[{}]", "a")),
        ("/c/state", "error.positions[a]", None),
        ("/d", "interface_values[a].values[position]",
         ("position", "interface_values[{}].values[position]", "a")),
        ("log", "q_a", ("position", "q_{}", "a")),
        ("log", "a.velocity", ("velocity", "{}.velocity", "a")),
        ("log", "pos_FR_0_deg", ("position", "pos_{}_deg", "FR_0")),
        ("log", "/states/joint1/position", ("position", "/states/{}/position", "joint1")),
        ("log", "- arm_1_joint_effort", ("effort", "- {}_effort", "arm_1_joint")),
        ("log", "action[hip.pos]", ("command", "action[{}.pos]", "hip")),
        ("log", "voltage", None),
    ],
)  # fmt: skip
def test_names_say_what_a_column_is(
    topic: str, path: str, expected: tuple[str, str, str] | None
) -> None:
    found = meaning(topic, path)
    said = None if found is None else (found.quantity, found.field, found.label)
    assert said == expected


def test_a_mapping_is_written_and_a_wrong_guess_is_one_line(
    bag: Path, run: sim.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(bag), "--map"]) == 0
    path = bag.with_name("bag.log.yaml")
    assert capsys.readouterr().out.endswith(f"{path} written\n")
    jsonschema.validate(yaml.safe_load(path.read_text()), map_schema())
    before = mjrig.read_recording(bag, {"offset": 0})
    assert "read by bag.log.yaml" in before.notes
    text = path.read_text().replace("wrist: {id: wrist}", "wrist: {id: wrist, sign: -1, offset: 1}")
    path.write_text(text.replace('"position[{}]", unit: rad', '"position[{}]", unit: deg', 1))
    after = mjrig.read_recording(bag, {"offset": 0})
    one, two = (next(iter(r.actors.values())) for r in (before, after))
    wrist = next(j.qpos.start for j in one.joints if j.name == "wrist")
    np.testing.assert_allclose(two.qpos[:, wrist], 1.0 - np.radians(one.qpos[:, wrist]), atol=1e-12)
    assert main(["convert", str(bag), "--map"]) == 1
    assert "exists already; --overwrite replaces it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.replace("id: wrist", "id: shoulder"), "mapped to wrist already"),
        (lambda t: t.replace("from: /joint_states", "from: /joint_state"), "did you mean"),
        (lambda t: t.replace("unit: rad}", "unit: feet}", 1), "'feet' is no unit of …"),
        (lambda t: t.replace("id: wrist", "id: gripper"), "the position of wrist"),
        (lambda t: t.replace("robot:", "robbot:"), "robbot: is not known"),
        (lambda t: t.replace("stamp: header", "stamp: tick"), "has no stamps of … 'tick'"),
        (lambda t: t.replace('unit: "N·m"', "unit: A"), "is a current in …"),
    ],
)
def test_a_mapping_that_does_not_fit_is_refused(
    bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str], str],
    said: str,
) -> None:
    path = tmp_path / "my.yaml"
    assert main(["convert", str(bag), str(path), "--map"]) == 0
    text = change(path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    capsys.readouterr()
    output = tmp_path / "out.npz"
    assert main(["convert", str(bag), str(output), "--hint", f"map={path}"]) == 1
    error = capsys.readouterr().err
    assert mentions(error, said) and error.count("\n") == 1
    assert not output.exists()


def _cut(bag: Path, run: sim.Run) -> Path:
    whole = sim.write_bag1(bag.with_name("cut.bag"), run)
    whole.write_bytes(whole.read_bytes()[:-2000])
    return whole


def _cut_sqlite(bag: Path, run: sim.Run) -> Path:
    file = bag / "bag.db3"
    file.write_bytes(file.read_bytes()[: -file.stat().st_size // 3])
    return bag


def _cut_at_once(bag: Path, run: sim.Run) -> Path:
    whole = sim.write_json_mcap(bag.with_name("cut.mcap"), run)
    whole.write_bytes(whole.read_bytes()[:40])
    return whole


def _amperes(bag: Path, run: sim.Run) -> Path:
    path = sim.write_csv(bag.with_name("amperes.csv"), run)
    path.write_text(path.read_text().replace("tau_", "current_"))
    return path


def _backwards(bag: Path, run: sim.Run) -> Path:
    store = sim.ros2()
    messages = sim.joint_messages(run, store)
    for sent in messages[200:]:
        sent.content.header.stamp.sec -= 1000
    return sim.write_rosbag2(bag.with_name("set_back"), messages, store, "SQLITE3")


def _still(bag: Path, run: sim.Run) -> Path:
    zero = np.zeros_like(run.q)
    still = sim.Run(run.time, zero, zero, zero, run.command_time, run.command)
    return sim.write_csv(bag.with_name("still.csv"), still)


def _table_backwards(bag: Path, run: sim.Run) -> Path:
    path = sim.write_csv(bag.with_name("back.csv"), run)
    lines = path.read_text().splitlines()
    lines[40], lines[41] = lines[41], lines[40]
    path.write_text("\n".join(lines))
    return path


def _no_joints(bag: Path, run: sim.Run) -> Path:
    store = sim.ros2()
    kind = "std_msgs/msg/String"
    sent = [sim.Sent("/chatter", kind, sim.EPOCH + k, store.types[kind]("hi")) for k in range(3)]
    return sim.write_rosbag2(bag.with_name("chat"), sent, store, "SQLITE3")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_cut, "is cut off or …"),
        (_cut_sqlite, "is cut off or …"),
        (_cut_at_once, "is cut off before …"),
        (_amperes, "is a current in … torque_constant"),
        (_backwards, "its header stamps run … 1000 …"),
        (_still, "no joint moves"),
        (_table_backwards, "run backwards, by 0.002 s …"),
        (_no_joints, "no field looks like … /chatter"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(
    bag: Path,
    run: sim.Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path, sim.Run], Path],
    said: str,
) -> None:
    output, log = tmp_path / "out.npz", str(make(bag, run))
    assert main(["convert", log, str(output)]) == 1
    error = capsys.readouterr().err
    assert mentions(error, said) and error.count("\n") == 1
    assert not output.exists()
    (tmp_path / "arm.xml").write_text(sim.MODEL)
    (tmp_path / "arm.yaml").write_text(sim.SCENE)
    before = sorted(tmp_path.rglob("*"))
    assert main(["tune", "fit", str(tmp_path / "arm.yaml"), log, "--write"]) == 1
    assert capsys.readouterr().err == error
    assert (tmp_path / "arm.yaml").read_text() == sim.SCENE
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["replay", "tune fit"])
def test_a_log_of_another_robot_is_refused(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    other = sim.MODEL.replace("shoulder", "hip").replace("wrist", "knee")
    (tmp_path / "arm.xml").write_text(other)
    scene = tmp_path / "arm.yaml"
    scene.write_text(sim.SCENE)
    options = [str(bag), "--scene", str(scene)]
    if command == "tune fit":
        options = [str(scene), str(bag), "--write"]
    assert main([*command.split(), *options]) == 1
    error = capsys.readouterr().err
    assert "another robot than 'arm'" in error and error.count("\n") == 1
    assert all(name in error for name in (*sim.NAMES, "hip", "knee"))
    assert scene.read_text() == sim.SCENE


def test_a_cut_mcap_is_read_up_to_the_cut(run: sim.Run, tmp_path: Path) -> None:
    path = sim.write_json_mcap(tmp_path / "run.mcap", run)
    whole = mjrig.read_recording(path, {"offset": 0})
    path.write_bytes(path.read_bytes()[:-600])
    cut = mjrig.read_recording(path, {"offset": 0})
    assert any("cut off" in note for note in cut.notes)
    assert 0 < cut.steps <= whole.steps


@pytest.mark.parametrize("family", ["unitree_go", "unitree_hg"])
def test_motors_of_unitree_without_definitions_are_named_by_index(
    tmp_path: Path, family: str
) -> None:
    motors, used = (20, 12) if family == "unitree_go" else (35, 29)
    store = sim.ros2()
    for kind in ("LowState", "LowCmd"):
        store.register(
            get_types_from_msg(definition_text(f"{family}/{kind}"), f"{family}/msg/{kind}")
        )
    messages = []
    for k in range(60):
        for kind in ("LowState", "LowCmd"):
            content = sim.filled(store, f"{family}/msg/{kind}")
            parts = content.motor_state if kind == "LowState" else content.motor_cmd
            assert len(parts) == motors
            for i, part in enumerate(parts):
                part.mode = int(i < used)
                part.q = (
                    0.01 * i + 0.001 * k if i < used else 0.0 if kind == "LowState" else 2.146e9
                )
                if kind == "LowCmd":
                    part.kp, part.kd, part.dq = 40.0, 1.0, 0.0 if i < used else 16000.0
            if kind == "LowState":
                content.tick = 1000 + 2 * k
            messages.append(
                sim.Sent(
                    f"/{kind.lower()}", f"{family}/msg/{kind}", sim.EPOCH + k * 2_000_000, content
                )
            )
    path = sim.write_rosbag2(tmp_path / "bag", messages, store, "SQLITE3")
    with sqlite3.connect(path / "bag.db3") as database:  # as bags before Iron
        database.execute("DROP TABLE message_definitions")
    database.close()
    recording = mjrig.read_recording(path)
    (actor,) = recording.actors.values()
    names = [joint.name for joint in actor.joints]
    assert len(names) == used and actor.name == ("go2" if used == 12 else "g1")
    first = {"go2": "FR_hip_joint", "g1": "left_hip_pitch_joint"}[actor.name]
    assert names[0] == first
    np.testing.assert_allclose(actor.qpos[0], 0.01 * np.arange(used), atol=1e-6)
    assert actor.plant.joints["kp"][first] == 40.0 and actor.plant.joints["kv"][first] == 1.0


def test_an_unknown_hint_is_named(bag: Path) -> None:
    with pytest.raises(RecordingError, match="unknown hint 'maps'"):
        mjrig.read_recording(bag, {"maps": "a.yaml"})
