"""Models and scenes that the tests of composed worlds share."""

from pathlib import Path

import mjrig

#: Two hinges with motors; a hand with a site at the end, turned by 90° about z; a free base not.
ARM = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.001" gravity="0 0 0"/>
  <default><default class="link"><geom size="0.02" contype="0" conaffinity="0"/></default></default>
  <asset><mesh name="shape" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
  <worldbody>
    <body name="base" pos="0 0 0.5">
      <geom class="link"/>
      <body name="upper">
        <joint name="shoulder" axis="0 1 0" armature="0.1"/>
        <geom class="link" type="capsule" fromto="0 0 0 0.3 0 0"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="elbow" axis="0 1 0" armature="0.1"/>
          <geom class="link" type="mesh" mesh="shape"/>
          <site name="flange" pos="0.1 0 0" euler="0 0 1.5707963267948966"/>
          <body name="cable" pos="0 0 -0.1">
            <joint name="swing" axis="1 0 0" damping="0.1"/>
            <geom class="link"/>
          </body>
        </body>
      </body>
    </body>
    <site name="bench" pos="0 0 0.4"/>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder"/>
    <motor name="elbow" joint="elbow"/>
  </actuator>
  <keyframe><key name="home" qpos="0.1 0.2 0.3"/></keyframe>
</mujoco>"""

#: A free palm with one finger, the same class and mesh names as the arm, and a floor of its own.
GRIPPER = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.001" gravity="0 0 0"/>
  <default><default class="link"><geom size="0.01" contype="0" conaffinity="0"/></default></default>
  <asset><mesh name="shape" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset>
  <worldbody>
    <body name="palm" pos="0 0 1">
      <freejoint name="root"/>
      <geom class="link" type="mesh" mesh="shape"/>
      <site name="mount" pos="0 0 -0.05"/>
      <body name="finger" pos="0.05 0 0">
        <joint name="finger" type="slide" axis="1 0 0" armature="0.1"/>
        <geom class="link"/>
      </body>
      <body name="guide" pos="0 0.01 0"><geom class="link"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="pull"><joint joint="finger" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="finger" joint="finger"/>
    <position name="hold" tendon="pull" kp="3"/>
  </actuator>
  <keyframe><key name="home" qpos="1 2 3 1 0 0 0 0.01" ctrl="0 0.25"/></keyframe>
</mujoco>"""

FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'


def scene_of(folder: Path, text: str, **models: str) -> mjrig.Scene:
    """A scene file `scene.yaml` in a folder, with `arm.xml`, `gripper.xml` and other models."""
    for name, xml in {"arm": ARM, "gripper": GRIPPER, **models}.items():
        (folder / f"{name}.xml").write_text(xml)
    (folder / "scene.yaml").write_text("mjrig: 1\n" + text)
    return mjrig.Scene.load(folder / "scene.yaml")


def world_of(folder: Path, text: str, execution: str = "python", **models: str) -> mjrig.World:
    """The world of such a scene."""
    return mjrig.World(scene_of(folder, text, **models), execution)
