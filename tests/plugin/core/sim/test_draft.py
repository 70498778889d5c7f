"""A model compiled once with its laws lowered is the one that is compiled twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.core.model.binding import describe_actuators
from mjrig.core.model.build import Layout, lay_out
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim import world as worlds
from mjrig.core.sim.native_compile import Drafted, draft_actuators
from mjrig.core.sim.world import World
from mjrig.lab.check.preflight import findings, report
from tests.campaign import CAMPAIGN
from tests.places import SCENES

BUNDLED = sorted(SCENES.glob("*.yaml"))

MODEL = """<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="base">
      <freejoint name="root"/><geom size=".1"/>
      <body name="one" pos=".3 0 0"><joint name="a" axis="0 1 0"/><geom size=".05"/>
        <body name="two" pos=".3 0 0"><joint name="b" axis="1 0 0"/><geom size=".05"/>
          <body name="tip" pos=".2 0 0"><joint name="f" type="slide"/><geom size=".02"/></body>
        </body>
      </body>
      <body name="arm" pos="-.3 0 0"><joint name="c" range="-1 1"/><geom size=".05"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="grip"><joint joint="f" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="b" joint="b" gear="3" ctrlrange="-2 2"/>
    <position name="hold" joint="c" kp="5" ctrlrange="-1 1"/>
    <motor name="a" joint="a" gear="-2" forcerange="-4 5"/>
    <general name="slow" joint="c" dyntype="filter" dynprm=".1" gainprm="1"/>
    <motor name="grip" tendon="grip"/>
    <motor name="plain" joint="c" ctrlrange="-1 1" ctrllimited="false" forcerange="-3 3"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0 0 1 2 0 0 0 .1 .2 0 .3" ctrl=".1 .2 .3 .4 .5 .6" act=".7"/>
    <key name="low" qpos="0 0 .5 1 0 0 0 0 0 0 0"/>
  </keyframe>
</mujoco>"""

COMPONENTS = {
    "pd": "{type: PDController, actuators: [a, b], kp: 20, kv: 1}",
    "everything": "{type: PDController, kp: {a: 20, default: 5}, torque_limit: 3}",
    "pid": "{type: PIDController, actuators: [a, b], ki: 3, integral_max: 0.2}",
    "integrator": "{type: PIDController, actuators: a, ki: 3, integration: integrator}",
    "delay": "{type: PDController, actuators: [a, b], delay: {steps: {a: 2, b: 0}, max_steps: 5}}",
    "random delay": "{type: PDController, actuators: [a, b], delay: {random: [0, 3]}}",
    "off": "{type: PDController, actuators: [a, b], enabled: false}",
    "dc": "{type: PDController, actuators: [a, b], "
    "clamps: [{type: DCMotor, saturation_effort: 20, velocity_limit: 10}]}",
    "decimation": "{type: PDController, actuators: [a, b], decimation: 2}",
    "two": "{type: PDController, actuators: a}, {type: PIDController, actuators: b, ki: 1}",
    "beside": "{type: PDController, actuators: a}, {type: PassthroughController, actuators: hold}",
    "tendon": "{type: PDController, actuators: [a, grip], transmissions: all}",
    "float32": "{type: PDController, actuators: [a, b], precision: float32}",
}
TWO_ACTORS = """
mjrig: 1
actors:
  - {name: one, model: m.xml, keyframe: home, components: [%s]}
  - {name: two, model: m.xml, pose: {position: [3, 0, 0]}, keyframe: low,
     actuators: [{type: MotorActuator, joint: f, name: push, forcerange: [-2, 2]}],
     components: [%s]}
"""
RANDOM = """
seed: 3
randomise: [{path: one.PDController.kp, scale: [0.5, 2]}]
"""


class Compiles:
    """Counts how often MuJoCo compiles."""

    count = 0


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiles]:
    counter, compiler = Compiles(), mujoco.MjSpec.compile

    def compile_spec(*arguments: Any, **options: Any) -> Any:
        counter.count += 1
        return compiler(*arguments, **options)

    monkeypatch.setattr(mujoco.MjSpec, "compile", compile_spec)
    yield counter


def in_two_steps(scene: Any, execution: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world that is bound in python first, and compiled again with its laws lowered."""
    with monkeypatch.context() as patch:
        patch.setattr(worlds, "draft", lambda *arguments: None)
        return World(scene, execution)


def model_bytes(model: Any) -> bytes:
    saved = np.zeros(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, saved)
    return saved.tobytes()


def states(world: World) -> list[Any]:
    """Every state every actor knows, as bytes."""
    found = []
    for robot in world.articulations.values():
        where = robot.model_map
        for name, state in [("", where.initial), *where.keyframes.items()]:
            found.append((name, [None if v is None else v.tobytes() for v in vars(state).values()]))
    return found


def facts(world: World) -> list[Any]:
    """What must not depend on how often was compiled."""
    return [
        [
            robot.actuators,
            list(robot.bindings),
            robot.bindings.skipped,
            [(c.execution, [b.actuator for b in c.bindings]) for c in robot.controllers],
            robot.model_map.ctrl,
            robot.model_map.act.tolist(),
        ]
        for robot in world.articulations.values()
    ]


def check_equal(scene: Any, execution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        slow = in_two_steps(scene, execution, monkeypatch)
    except mjrig.MjrigError as error:
        with pytest.raises(type(error)) as raised:
            World(scene, execution)
        assert str(raised.value) == str(error)
        return
    fast = World(scene, execution)
    assert model_bytes(fast.model) == model_bytes(slow.model)
    assert facts(fast) == facts(slow)
    assert states(fast) == states(slow)
    assert report(fast, findings(fast)) == report(slow, findings(slow))
    for world in (fast, slow):
        world.step(200)
    assert fast.snapshot().integration.tobytes() == slow.snapshot().integration.tobytes()
    for world in (fast, slow):
        for robot in world.articulations.values():
            for keyframe in robot.keyframes[:1]:
                world.reset(keyframe)
        world.step(3)
    assert fast.snapshot().integration.tobytes() == slow.snapshot().integration.tobytes()


@pytest.mark.campaign
@pytest.mark.parametrize("execution", ["auto", "native"] if CAMPAIGN else ["auto"])
@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.stem)
def test_bundled(path: Path, execution: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_equal(path, execution, monkeypatch)


@pytest.mark.campaign
@pytest.mark.parametrize(
    "execution", ["auto", "native", "python", "compiled"] if CAMPAIGN else ["auto", "native"]
)
@pytest.mark.parametrize("extra", ["", RANDOM], ids=["as it is", "random"])
@pytest.mark.parametrize("name", COMPONENTS)
def test_two_actors(
    name: str, extra: str, execution: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.xml").write_text(MODEL)
    path = tmp_path / "s.yaml"
    path.write_text(TWO_ACTORS % (COMPONENTS[name], COMPONENTS["pd"]) + extra)
    check_equal(path, execution, monkeypatch)


@pytest.mark.parametrize("execution", ["auto", "native", "python"])
def test_the_quadruped_is_compiled_once(execution: str, compiles: Compiles) -> None:
    world = World(SCENES / "quadruped.yaml", execution)
    assert world.execution == ("python" if execution == "python" else "native")
    assert compiles.count == 1


def test_grippers_and_servos_do_not_cost_a_compile(tmp_path: Path, compiles: Compiles) -> None:
    (tmp_path / "m.xml").write_text(MODEL[: MODEL.index("<keyframe>")] + "</mujoco>")
    (tmp_path / "s.yaml").write_text(
        "mjrig: 1\nactors:\n"
        f"- {{name: one, model: m.xml, components: [{COMPONENTS['everything']}]}}\n"
    )
    assert World(tmp_path / "s.yaml").execution == "native"
    assert compiles.count == 1


def test_the_motors_of_a_draft_are_those_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(MODEL)
    (tmp_path / "s.yaml").write_text("mjrig: 1\nactors:\n- {name: one, model: m.xml}\n")
    layout = lay_out(Scene.load(tmp_path / "s.yaml"))
    assert isinstance(layout, Layout)
    own = Drafted(layout.parts["one"].actuators.now, {})
    drafted = draft_actuators(layout.spec, {"one": own})["one"]
    compiled = describe_actuators(layout.spec.compile(), None, "one/")
    assert [b.actuator for b in drafted] == [b.actuator for b in compiled]
    same = ("joint", "ctrl_count", "kind", "transmission", "target", "gear", "gain", "inputs")
    for mine, real in zip(drafted, compiled, strict=True):
        assert mine.is_bindable == real.is_bindable
        if mine.is_bindable:
            for name in (*same, "ctrl_range", "force_range", "actuator_id", "output_count"):
                assert getattr(mine, name) == getattr(real, name), name


@pytest.mark.parametrize(
    "motor",
    [
        'ctrllimited="true" ctrlrange="1 -1"',
        'forcelimited="true" forcerange="2 2"',
        'forcerange="2 1"',
        'delay="0.01" nsample="10"',
    ],
)
def test_lowering_hides_no_error_of_the_model(
    motor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.xml").write_text(
        f"""<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
        <actuator><motor name="m" joint="j" {motor}/></actuator></mujoco>"""
    )
    path = tmp_path / "s.yaml"
    path.write_text(
        "mjrig: 1\nactors:\n- {name: r, model: m.xml, components: [{type: PDController}]}\n"
    )
    check_equal(path, "auto", monkeypatch)


def test_a_model_that_does_not_compile_is_blamed_by_its_own_names(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(
        """<mujoco><worldbody><body name="b"><joint name="j"/></body></worldbody>
        <keyframe><key name="k" qpos="1"/></keyframe></mujoco>"""
    )
    path = tmp_path / "s.yaml"
    path.write_text("mjrig: 1\nactors:\n- {name: r, model: m.xml}\n")
    with pytest.raises(mjrig.SceneError, match=r"3:20: .*r\.model: .*mass and inertia"):
        World(path)
