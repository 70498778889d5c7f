"""Small models and worlds that the tests share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import pytest

import mjrig
from mjrig.components import PDController
from tests.wording import matches

FLOATING = 'gravity="0 0 0"'
MOTORS = '<motor name="a" joint="shoulder"/><motor name="b" joint="elbow"/>'


def hinge(
    actuator: str = '<motor name="drive" joint="swing"/>',
    *,
    option: str = FLOATING,
    joint: str = "",
    inertia: float = 0.5,
    keys: str = "",
) -> str:
    """One hinge `swing` of known inertia about its axis, with one motor `drive`."""
    return f"""
    <mujoco>
      <compiler angle="radian" autolimits="true"/>
      <option timestep="0.001" {option}/>
      <worldbody>
        <body name="arm">
          <joint name="swing" axis="0 1 0" {joint}/>
          <inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>
        </body>
      </worldbody>
      <actuator>{actuator}</actuator>
      <keyframe>{keys}</keyframe>
    </mujoco>"""


def arm(actuators: str = MOTORS, *, option: str = FLOATING, joint: str = "", keys: str = "") -> str:
    """Two hinges, `shoulder` and `elbow`, and a tendon `cable` over both."""
    return f"""
    <mujoco>
      <compiler angle="radian" autolimits="true"/>
      <option timestep="0.001" {option}/>
      <default>
        <geom type="capsule" size="0.03" contype="0" conaffinity="0"/>
        <joint axis="0 1 0" armature="0.05" damping="0.1" {joint}/>
      </default>
      <worldbody>
        <body name="upper">
          <joint name="shoulder"/>
          <geom fromto="0 0 0 0.3 0 0"/>
          <body name="lower" pos="0.3 0 0">
            <joint name="elbow"/>
            <geom fromto="0 0 0 0.3 0 0"/>
            <site name="tip" pos="0.3 0 0"/>
          </body>
        </body>
      </worldbody>
      <tendon>
        <fixed name="cable">
          <joint joint="shoulder" coef="1"/>
          <joint joint="elbow" coef="0.5"/>
        </fixed>
      </tendon>
      <actuator>{actuators}</actuator>
      <keyframe>{keys}</keyframe>
    </mujoco>"""


#: A free base with one motor and a mocap target; its keyframes say more or less of the state.
ROVER = f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.001" {FLOATING}/>
  <worldbody>
    <body name="base" pos="0 0 0.5">
      <freejoint name="root"/>
      <geom size="0.1"/>
      <body name="mast" pos="0 0 0.2">
        <joint name="turn" axis="0 0 1" armature="0.1"/>
        <geom size="0.05" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="goal" mocap="true" pos="1 0 0">
      <geom size="0.02" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
  <keyframe>
    <key name="home" qpos="0.1 0 0.5 1 0 0 0 0.3" qvel="2 0 0 0 0 0.7 0"/>
    <key name="drive" ctrl="0.25"/>
    <key name="far" qpos="5 0 0.5 1 0 0 0 0" mpos="3 0 0"/>
  </keyframe>
</mujoco>"""

#: A leg with a motor, and a finger moved by a position actuator on a tendon.
GRIPPER = f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.001" {FLOATING}/>
  <worldbody>
    <body name="leg">
      <joint name="knee" axis="0 1 0" armature="0.1"/>
      <geom size="0.1" contype="0" conaffinity="0"/>
    </body>
    <body name="finger" pos="1 0 0">
      <joint name="finger" type="slide" axis="1 0 0" damping="1"/>
      <geom size="0.05" mass="0.1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <tendon><fixed name="grip"><joint joint="finger" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="leg" joint="knee"/>
    <position name="grip" tendon="grip" kp="50" kv="3"/>
  </actuator>
</mujoco>"""

#: One of each kind of actuator and transmission; the name says which.
ZOO = """
<mujoco>
  <compiler autolimits="true"/>
  <worldbody>
    <body name="box">
      <freejoint name="root"/>
      <geom size="0.1"/>
      <site name="tip"/>
      <body name="one" pos="0.3 0 0">
        <joint name="hinge" axis="0 1 0"/>
        <geom size="0.1"/>
        <body name="two" pos="0.3 0 0">
          <joint name="slide" type="slide"/>
          <geom size="0.1"/>
          <site name="crank"/>
          <body name="three" pos="0.3 0 0">
            <joint name="ball" type="ball"/>
            <geom size="0.1"/>
            <site name="slider"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="cable"><joint joint="hinge" coef="1"/></fixed></tendon>
  <actuator>
    <position name="position" joint="hinge" kp="10"/>
    <motor name="motor" joint="hinge"/>
    <motor name="in_parent" jointinparent="hinge"/>
    <motor name="slide_motor" joint="slide"/>
    <motor name="tendon" tendon="cable"/>
    <motor name="site" site="tip" gear="0 0 1 0 0 0"/>
    <motor name="crank" cranksite="crank" slidersite="slider" cranklength="1"/>
    <motor name="ball" joint="ball" gear="1 0 0"/>
    <motor name="free" joint="root" gear="1 0 0 0 0 0"/>
    <adhesion name="adhesion" body="three" ctrlrange="0 1"/>
    <velocity name="velocity" joint="hinge" kv="1"/>
    <intvelocity name="intvelocity" joint="hinge" kp="10" actrange="-1 1"/>
    <damper name="damper" joint="hinge" kv="1" ctrlrange="0 1"/>
    <cylinder name="cylinder" joint="slide"/>
    <muscle name="muscle" joint="hinge" ctrlrange="0 1" lengthrange="0.1 1"/>
    <general name="filtered" joint="hinge" dyntype="filter" dynprm="0.1"/>
    <pid name="pid" joint="hinge" kp="10" kv="1" input="pos vel ff"/>
    <orientation name="orientation" joint="ball" kp="10" input="quat"/>
    <dcmotor name="dcmotor" joint="hinge" motorconst="0.1" resistance="1"/>
  </actuator>
</mujoco>"""


def make_scene(
    models: Mapping[str, str],
    folder: str,
    actors: Mapping[str, Mapping[str, object]],
    sim: Mapping[str, object] | None,
) -> mjrig.Scene:
    """A scene with one actor per model, whose text is put into `folder`."""
    scene = mjrig.Scene()
    if sim is not None:
        scene.assign({"sim": sim})
    for name, xml in models.items():
        path = Path(folder, f"{name}.xml")
        path.write_text(xml)
        scene.add_actor(name, model=path, **actors.get(name, {}))
    return scene


def make_worlds(
    models: Mapping[str, str],
    *,
    sim: Mapping[str, object] | None = None,
    **actors: Mapping[str, object],
) -> mjrig.World:
    """A world with several actors: name → MJCF, and properties by name."""
    with TemporaryDirectory() as folder:
        return mjrig.World(make_scene(models, folder, actors, sim), "python")


def make_world(
    xml: str,
    components: Sequence[mjrig.ActorComponent] = (),
    *,
    sim: Mapping[str, object] | None = None,
    execution: str = "python",
    pause_on_event: bool = False,
    **actor: object,
) -> mjrig.World:
    """A world with one actor, `robot`."""
    given = {"robot": {"components": list(components), **actor}}
    with TemporaryDirectory() as folder:
        scene = make_scene({"robot": xml}, folder, given, sim)
        return mjrig.World(scene, execution, pause_on_event=pause_on_event)


def make_robot(
    xml: str, *components: mjrig.ActorComponent, **actor: object
) -> tuple[mjrig.World, mjrig.Articulation]:
    """The world and its only actor."""
    world = make_world(xml, components, **actor)  # type: ignore[arg-type]
    return world, world["robot"]


def bare(xml: str) -> tuple[Any, Any]:
    """A model and its data, without mjrig."""
    model = mujoco.MjModel.from_xml_string(xml)
    return model, mujoco.MjData(model)


def pd_of(robot: mjrig.Articulation, index: int = 0) -> PDController:
    """A controller of the robot that is a PDController."""
    controller = robot.controllers[index]
    assert isinstance(controller, PDController)
    return controller


@contextmanager
def refused(kind: type[BaseException], message: str) -> Iterator[None]:
    """Expect an error whose message matches a pattern of `tests.wording`."""
    with pytest.raises(kind) as info:
        yield
    assert matches(info.value, message)
