"""A rate that the timestep does not allow is reported when serving begins."""

import mjrig
from mjrig.components.bridges.serving import Serving

scene = mjrig.Scene.load("config/scenes/quadruped_served.yaml")
scene.set("quadruped.UnitreeBridge.enabled", False)
scene.set("sim.timestep", 0.002)
for name, value in {"port": 0, "state_port": 0, "websocket_port": 0, "rate": 200.0}.items():
    scene.set(f"quadruped.SocketBridge.{name}", value)
with Serving(mjrig.World(scene)) as serving:
    messages = [event.message for event in serving.world.events]
print("\n".join(messages))
assert any("Hz instead of 200" in message for message in messages)
