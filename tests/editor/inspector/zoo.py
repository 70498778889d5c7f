"""A robot with every kind of joint, alone and in company."""

from pathlib import Path

from tests.editor.windows import Bench

ZOO = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
<body name="trunk" pos="0 0 1"><freejoint name="root"/><geom size=".12" mass="5"/>
 <body name="thigh" pos=".4 0 0">
  <joint name="hip" axis="0 1 0" range="-1 1" damping=".1" armature=".02"/>
  <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.35"/>
  <body name="shin" pos="0 0 -.45"><joint name="knee" axis="0 1 0"/>
   <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.3"/>
   <body name="toe" pos="0 0 -.4"><geom size=".07"/></body></body></body>
 <body name="head" pos="-.4 0 .1"><joint name="neck" type="ball" range="0 2"/>
  <geom size=".08"/></body>
 <body name="rail" pos="0 .4 0"><joint name="rail" type="slide" axis="0 1 0" range="0 .2"/>
  <geom type="box" size=".05 .05 .05"/>
  <body name="claw" pos="0 .2 0"><joint name="claw" axis="1 0 0"/><geom size=".05"/></body></body>
</body></worldbody>
<tendon><fixed name="pull"><joint joint="rail" coef="1"/><joint joint="claw" coef="-.5"/></fixed>
</tendon>
<actuator><motor name="hip_motor" joint="hip" ctrlrange="-50 50"/>
<position name="knee_servo" joint="knee" kp="30" kv="1" forcerange="-20 20"/>
<motor name="puller" tendon="pull" gear="2"/></actuator>
<sensor><jointpos name="claw_angle" joint="claw"/></sensor></mujoco>"""
COMPANY = """\
mjrig: 1
include: [guest.yaml]
actors:
  - name: one
    model: zoo.xml
    dynamics: {damping: {'hip|knee': 0.3}}
    components:
      - {type: PDController, kp: 40, kv: 2}
  - name: two
    model: zoo.xml
    pose: {position: [0, 1.5, 0]}
"""
GUEST = "mjrig: 1\nactors:\n  - {name: guest, model: zoo.xml, pose: {position: [0, 3, 0]}}\n"


def company(folder: Path) -> Bench:
    """A window on two robots of one model and a third of an included file."""
    (folder / "zoo.xml").write_text(ZOO)
    (folder / "guest.yaml").write_text(GUEST)
    return Bench.on(COMPANY, folder)
