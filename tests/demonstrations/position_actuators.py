"""A robot with position actuators under UnitreeBridge: the error names the way out."""

import tempfile
from pathlib import Path

import mjrig
from mjrig.components.bridges.unitree_bridge import ROBOTS, UnitreeBridge

joints = [f"{name}_joint" for name in ROBOTS["g1"].motors]
bodies = "".join(f'<body><joint name="{j}"/><geom size=".02" mass="1"/></body>' for j in joints)
servos = "".join(f'<position name="{j}" joint="{j}" kp="100" kv="2"/>' for j in joints)
with tempfile.TemporaryDirectory() as folder:
    model = Path(folder, "g1.xml")
    model.write_text(
        f'<mujoco><worldbody><body name="base">{bodies}</body></worldbody>'
        f"<actuator>{servos}</actuator></mujoco>"
    )
    scene = mjrig.Scene()
    scene.add_actor("g1", model=str(model)).add_component(UnitreeBridge(kind="g1"))
    try:
        mjrig.World(scene)
    except mjrig.MjrigError as error:
        print(error)
        assert "use_motors: true" in str(error)
