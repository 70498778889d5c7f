"""Several robots served at once: each has its own conversation, or the scene is refused."""

import json
import os
from itertools import product
from typing import Any

import pytest

import mjrig
from mjrig.components import PDController
from mjrig.components.bridges.bridge import Bridge
from mjrig.components.bridges.clients import Client
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.bridges.ros_bridge import RosBridge
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.components.bridges.unitree_bridge import UnitreeBridge
from mjrig.scene import Pose
from tests.places import SCENES

pytest.importorskip("cyclonedds", reason="needs the extra 'bridge'")

DOMAIN = 20 + os.getpid() % 80
QUADRUPED = SCENES.parent.parent / "assets" / "quadruped" / "quadruped.xml"
BRIDGES: tuple[tuple[type[DdsBridge], dict[str, Any]], ...] = (
    (UnitreeBridge, {"domain": DOMAIN}),
    (UnitreeBridge, {"domain": DOMAIN + 1}),
    (UnitreeBridge, {"domain": DOMAIN, "kind": "b2"}),
    (RosBridge, {"domain": DOMAIN}),
    (RosBridge, {"domain": DOMAIN, "controller": "other"}),
    (RosBridge, {"domain": DOMAIN, "namespace": "b"}),
    (RosBridge, {"domain": DOMAIN + 1}),
)


def two_dogs(*bridges: Bridge) -> mjrig.World:
    scene = mjrig.Scene()
    for k, bridge in enumerate(bridges):
        pose = Pose(position=(0.0, 2.0 * k, 0.0))
        dog = scene.add_actor(f"dog{k}", model=QUADRUPED, keyframe="home", pose=pose)
        dog.add_component(PDController(kp=150.0, kv=5.0, torque_limit=33.5))
        dog.add_component(bridge)
    return mjrig.World(scene)


def may_meet(one: tuple[type, dict[str, Any]], other: tuple[type, dict[str, Any]]) -> bool:
    """Whether one program would command both."""
    spaces = [values.get("namespace", "") for _, values in (one, other)]
    same_domain = one[1]["domain"] == other[1]["domain"]
    return one[0] is other[0] and same_domain and spaces[0] == spaces[1]


def is_served(world: mjrig.World) -> bool:
    try:
        with Serving(world):
            return True
    except mjrig.MjrigError as error:
        assert "dog1." in str(error) and "could not tell them apart; give one another" in str(error)
        return False


@pytest.mark.parametrize("first", range(len(BRIDGES)))
def test_bridges_that_one_program_would_command_are_refused(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mjrig.components.bridges.dds_bridge.DdsLink", _NoLink)
    for i, j in product([first], range(len(BRIDGES))):
        one, other = BRIDGES[i], BRIDGES[j]
        world = two_dogs(one[0](**one[1]), other[0](**other[1]))
        assert is_served(world) is not may_meet(one, other), f"{one} and {other}"


class _NoLink:
    """In place of a process."""

    def __init__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


def test_robots_of_one_world_share_its_clock() -> None:
    pytest.importorskip("zmq", reason="needs the extra 'bridge'")
    ports = {"port": 0, "state_port": 0, "websocket": False}
    world = two_dogs(SocketBridge(**ports), SocketBridge(**ports))
    with Serving(world) as serving:
        bridges = [b for b in serving.bridges if isinstance(b, SocketBridge)]
        clients = [Client(f"client {k}") for k in range(2)]

        def ask(k: int, **request: Any) -> dict[str, Any]:
            replies: list[bytes] = []
            bridges[k].handle(json.dumps(request).encode(), clients[k], replies.append)
            reply: dict[str, Any] = json.loads(replies[0])
            return reply

        assert ask(0, op="set", position=0.1)["ok"] and ask(1, op="set", position=0.1)["ok"]
        assert ask(0, op="step", take=True)["ok"]
        assert ask(1, op="describe")["clock"] == "client 0"
        error = ask(1, op="step")["error"]
        assert error.startswith("step: client 0 of dog0.SocketBridge has the clock (lock step)")
        assert ask(1, op="set", position=0.2)["ok"]  # its robot is still its own
        assert ask(1, op="step", take=True)["ok"]
        assert [bridge.is_in_lock_step for bridge in bridges] == [False, True]
        assert ask(0, op="run")["error"].startswith("run: client 1 of dog1.SocketBridge")
        assert ask(1, op="run")["ok"]
