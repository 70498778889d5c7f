"""A program for a Unitree robot in this process: messages without DDS."""

from pathlib import Path
from typing import Any

import mjrig
from mjrig.components.bridges.dds.link import LocalLink
from mjrig.components.bridges.dds.unitree_messages import codec
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.unitree_bridge import ROBOTS, UnitreeBridge


class Client:
    """Serves a scene, and talks to its first robot."""

    def __init__(self, scene: Path, kind: str) -> None:
        described = mjrig.Scene.load(scene)
        actor = described.actors[0]
        actor.add_component(UnitreeBridge(kind=kind))
        self.world = mjrig.World(described)
        self.robot = self.world.articulations[actor.name]
        found = self.robot.components[-1]
        assert isinstance(found, UnitreeBridge)
        self.bridge = found
        self.link = LocalLink(self.bridge.make_wire())
        self.bridge.use_link(self.link)
        package = ROBOTS[kind].package
        self.commands, self.states = codec(f"{package}.LowCmd_"), codec(f"{package}.LowState_")
        self.serving = Serving(self.world)

    def command(self, **values: Any) -> Any:
        """A command to all motors: values by field."""
        record = self.commands.record()
        record["motor_cmd"]["mode"] = 1
        for name, value in values.items():
            record["motor_cmd"][name] = value
        return record

    def say(self, record: Any) -> None:
        """Send a command."""
        self.link.say("rt/lowcmd", self.commands.encode(record))

    def state(self) -> Any:
        """The last state that was sent."""
        return self.states.decode([m for t, m in self.link.sent if t == "rt/lowstate"][-1])
