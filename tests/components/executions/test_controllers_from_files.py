"""Controllers and laws as a scene file describes them, and what is said of wrong ones."""

from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.components import (
    MLP,
    MaxEffort,
    NeuralController,
    PDController,
    PIDController,
    Pipeline,
)
from tests.components.executions.chains import ALL, chain, command, of, trajectory
from tests.worlds import refused

pytest.importorskip("numba", reason="needs the extra 'fast'")


# Controllers from files -------------------------------------------------------------------------

HEAD = """\
mjrig: 1
actors:
  - name: dog
    model: chain.xml
    components:
      - """


def written(folder: Path, component: str, xml: str = "") -> Path:
    """A scene file with one component, given as flow or block text, beside its model."""
    (folder / "chain.xml").write_text(xml or chain())
    file = folder / "s.yaml"
    file.write_text(HEAD + component + "\n")
    return file


def loaded(folder: Path, component: str, execution: str = "python") -> mjrig.World:
    """A world from such a file."""
    return mjrig.World(written(folder, component), execution)


def test_a_pid_controller_is_read_from_a_file(tmp_path: Path) -> None:
    text = (
        "{type: PIDController, kp: 30, ki: {a: 5, default: 2}, integral_max: 0.1, kv: 1, "
        "delay: {steps: [0, 1, 2, 3, 4]}, decimation: 2, "
        "clamps: [{type: DCMotor, saturation_effort: 3, velocity_limit: 9}, "
        "{type: MaxEffort, max_effort: {a: 1, default: 2}}]}"
    )
    world = loaded(tmp_path, text)
    controller = of(world)
    assert isinstance(controller, PIDController)
    assert controller.ki.tolist() == [5, 2, 2, 2, 2]
    assert controller.decimation == 2
    assert controller.clamp_names == ("clamps[0]", "clamps[1]", "torque_limit")
    expected = trajectory(world, 100)
    for execution in ("compiled", "auto"):
        assert np.array_equal(trajectory(loaded(tmp_path, text, execution), 100), expected)


def test_a_float32_law_runs_in_float32(tmp_path: Path) -> None:
    text = "{type: PIDController, kp: 30, ki: 2, precision: float32, delay: {steps: 2}}"
    world = loaded(tmp_path, text)
    assert of(world).pipeline.state.integral.dtype == np.float32
    wide = loaded(tmp_path, text.replace("float32", "float64"))
    narrow, exact = trajectory(world, 100), trajectory(wide, 100)
    assert not np.array_equal(narrow, exact)
    np.testing.assert_allclose(narrow, exact, atol=1e-3)


@pytest.mark.parametrize("law", ["PD", "PID"])
def test_a_law_controller_does_what_the_controller_of_that_law_does(
    tmp_path: Path, law: str
) -> None:
    gains = "kp: 40, kv: 2" + (", ki: 6" if law == "PID" else "")
    more = "torque_limit: 3, delay: {steps: 2}, clamps: [{type: MaxEffort, max_effort: 2}]"
    one = f"{{type: LawController, law: {{type: {law}, {gains}}}, {more}}}"
    two = f"{{type: {law}Controller, {gains}, {more}}}"
    expected = trajectory(loaded(tmp_path, two), 200)
    assert loaded(tmp_path, one, "auto").execution == "native"
    for execution in ALL:
        world = loaded(tmp_path, one, execution)
        assert np.array_equal(trajectory(world, 200), expected), execution


def test_a_neural_controller_runs_the_network_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    (tmp_path / "nets").mkdir()
    file = tmp_path / "nets" / "net.onnx"
    networks.mlp(file, 2, {"model_type": "mlp", "effort_scale": 3.0})
    text = "{type: NeuralController, path: nets/net.onnx, torque_limit: 2, decimation: 2}"
    world = loaded(tmp_path, text)
    assert isinstance(of(world), NeuralController)
    robot, pipe = world["dog"], Pipeline(MLP(file), clamps=[MaxEffort(2)], size=5)
    held = np.zeros(5)
    for step in range(20):
        command(robot, np.zeros(5), 9 * step)
        if step % 2 == 0:
            target = robot.setpoints.position
            held = pipe.step(world.data.qpos, world.data.qvel, target, dt=0.002)
        world.step()
        np.testing.assert_allclose(robot.effort, held, atol=1e-5)
    auto = of(loaded(tmp_path, text, "auto"))
    assert auto.execution.reason == (
        "not native: MuJoCo has no network actuator; not compiled: networks run in onnxruntime"
    )


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_recurrent_network_is_in_a_snapshot(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    metadata = {"model_type": kind, "input_columns": ["position_error", "velocity"],
                "sample_dt_s": 0.001}  # fmt: skip
    getattr(networks, kind)(tmp_path / "net.onnx", metadata)
    world = loaded(tmp_path, "{type: NeuralController, path: net.onnx, delay: {steps: 1}}")
    trajectory(world, 10)
    state = world.snapshot()
    first = trajectory(world, 20)
    world.reset()
    world.restore(state)
    assert np.array_equal(trajectory(world, 20), first)


def test_a_network_trained_with_another_tick_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from tests import networks

    metadata = {"model_type": "gru", "input_columns": ["velocity"], "sample_dt_s": 0.005}
    networks.gru(tmp_path / "net.onnx", metadata)
    text = "{type: NeuralController, path: net.onnx, decimation: %d}"
    assert of(loaded(tmp_path, text % 5)).is_bound
    with pytest.raises(mjrig.SceneError) as caught:
        loaded(tmp_path, text % 4)
    assert str(caught.value) == (
        f"{tmp_path}/s.yaml:6:9: actors[0].components[0]: dog.NeuralController: "
        "net.onnx: was trained with dt 0.005 s (sample_dt_s), got 0.004"
    )


#: What is wrong in a component, and where and how it is told.
WRONG = {
    "{type: LawController}": (
        "6:9",
        "law",
        "dog.LawController.law: needs a law, as in law: {type: PD, kp: 40}",
    ),
    "{type: NeuralController}": (
        "6:9",
        "path",
        "dog.NeuralController.path: needs an ONNX file",
    ),
    "{type: NeuralController, path: gone.onnx}": (
        "6:40",
        "path",
        "dog.NeuralController.path: there is no file 'gone.onnx'; available: chain.xml, s.yaml",
    ),
    "{type: PDController, clamps: [{type: MaxEffort, max_effort: -1}]}": (
        "6:69",
        "clamps[0].max_effort",
        "dog.PDController.clamps[0].max_effort: must be >= 0 N·m, got -1",
    ),
    "{type: PDController, clamps: [{type: MaxEfort}]}": (
        "6:46",
        "clamps[0]",
        "dog.PDController.clamps[0]: there is no clamp type 'MaxEfort'; did you mean 'MaxEffort'?",
    ),
    "{type: PDController, clamps: [{type: MaxEffort, max_effort: {z: 1}}]}": (
        "6:70",
        "clamps[0].max_effort",
        "dog.PDController.clamps[0].max_effort: 'z' matches no actuator or joint of 'dog'; "
        "available: a, one, b, two, c, three, d, four, e, five",
    ),
    "{type: PDController, clamps: [{type: MaxEffort}, {type: DCMotor, max_efort: 1}]}": (
        "6:74",
        "clamps[1].max_efort",
        "DCMotor has no property 'max_efort'; did you mean 'max_effort'?",
    ),
    "{type: PDController, clamps: [{type: PositionTable}]}": (
        "6:39",
        "clamps[0].positions",
        "dog.PDController.clamps[0]: needs positions and efforts",
    ),
    "{type: PDController, clamps: [{type: DCMotor, velocity_limit: 3}]}": (
        "6:39",
        "clamps[0].saturation_effort",
        "dog.PDController.clamps[0].saturation_effort: must be finite where velocity_limit is, "
        "got inf for 'a'",
    ),
    "{type: PDController, delay: {steps: [1, 2]}}": (
        "6:45",
        "delay.steps",
        "dog.PDController.delay.steps: must have 5 values, one per actuator, got 2; "
        "order: a, b, c, d, e",
    ),
    "{type: PDController, delay: {steps: -1}}": (
        "6:45",
        "delay.steps",
        "dog.PDController.delay.steps: must be >= 0 steps, got -1",
    ),
    "{type: PDController, delay: {steps: 5, max_steps: 3}}": (
        "6:59",
        "delay.max_steps",
        "dog.PDController.delay: a delay of 5 steps is above max_steps 3",
    ),
    "{type: PDController, law: {type: PDD}}": (
        "6:42",
        "law",
        "dog.PDController.law: there is no law type 'PDD'; did you mean 'PD'?",
    ),
    "{type: LawController, law: {type: PD, kp: -4}}": (
        "6:51",
        "law.kp",
        "dog.LawController.law.kp: must be >= 0 N·m/rad, got -4",
    ),
    "{type: LawController, law: {type: MLP, path: gone.onnx}}": (
        "6:54",
        "law.path",
        "dog.LawController.law.path: there is no file 'gone.onnx'; available: chain.xml, s.yaml",
    ),
    "{type: PDController, decimation: 0}": (
        "6:42",
        "decimation",
        "dog.PDController.decimation: must be >= 1 steps, got 0",
    ),
    "{type: PDController, precision: float16}": (
        "6:41",
        "precision",
        "dog.PDController.precision: must be one of float64, float32; got 'float16'; "
        "did you mean 'float64'?",
    ),
}


@pytest.mark.parametrize("component", WRONG)
def test_a_nested_value_that_is_wrong_is_found(tmp_path: Path, component: str) -> None:
    where, path, text = WRONG[component]
    with pytest.raises(mjrig.SceneError) as caught:
        loaded(tmp_path, component)
    expected = f"s.yaml:{where}: actors[0].components[0].{path}: {text}"
    assert str(caught.value).replace(f"{tmp_path}/", "") == expected


def test_gains_beside_a_law_are_refused() -> None:
    message = "PDController.kp: has no effect with law; give it to the law, or remove law"
    with refused(mjrig.PropertyError, message):
        PDController(kp=999, law={"type": "PD", "kp": 1})
