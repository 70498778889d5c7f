"""Every kind of reference to the world body that MuJoCo loads is loaded, with the same results."""

import tempfile
from pathlib import Path

import mujoco
import numpy as np

import mjrig

MODEL = """
<mujoco>
  <worldbody>
    <light name="lamp" mode="targetbody" target="world" pos="1 0 2"/>
    <camera name="view" mode="targetbody" target="world" pos="1 1 1"/>
    <body name="box" pos="0 0 1"><freejoint/><geom size=".1" type="sphere"/></body>
  </worldbody>
  <sensor>
    <subtreecom body="world"/>
    <framepos objtype="body" objname="world"/>
    <framepos objtype="body" objname="box" reftype="body" refname="world"/>
  </sensor>
  <actuator><adhesion body="world" ctrlrange="0 1"/></actuator>
</mujoco>
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "model.xml")
    path.write_text(MODEL)
    bare = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(bare)
    scene = mjrig.Scene()
    scene.add_actor("box", model=path)
    world = mjrig.World(scene)
    world.step(100)
    mujoco.mj_step(bare, data, 100)
    assert np.array_equal(world.data.sensordata, data.sensordata)
    assert np.array_equal(world.data.qpos, data.qpos)
    print(f"{bare.nsensor} sensors and {bare.nu} actuator of the world body: the same bits")
