"""What a bridge reports when it begins to listen, and which robots it refuses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.components import PDController
from mjrig.components.bridges.bridge import Bridge
from mjrig.components.bridges.dds.link import LocalLink
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.bridges.ros_bridge import RosBridge
from mjrig.components.bridges.serving import Serving
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.components.bridges.unitree_bridge import ROBOTS, UnitreeBridge
from tests.places import SCENES

PORTS: dict[type[Bridge], dict[str, Any]] = {
    SocketBridge: {"port": 0, "state_port": 0, "websocket": False}
}


def opened(bridge: Bridge, timestep: float = 0.002) -> Iterator[tuple[Serving, Bridge]]:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.set("sim.timestep", timestep)
    scene.actors[0].add_component(bridge)
    world = mjrig.World(scene)
    copy = world[scene.actors[0].name].components[-1]
    assert isinstance(copy, Bridge)
    if isinstance(copy, DdsBridge):
        copy.use_link(LocalLink(copy.make_wire()))
    with Serving(world) as serving:
        yield serving, copy


@pytest.mark.parametrize(
    ("bridge", "timestep", "rate", "steps"),
    [
        (RosBridge, 0.002, 250, 2),
        (UnitreeBridge, 0.005, 200, 1),
        (SocketBridge, 0.003, 1000 / 3, 1),
    ],
)
def test_a_rate_that_cannot_be_met_is_reported(
    bridge: type[Bridge], timestep: float, rate: float, steps: int
) -> None:
    for serving, copy in opened(bridge(**PORTS.get(bridge, {})), timestep):
        (remark,) = copy.remarks
        assert (remark.kind, remark.where, remark.unit) == ("state-rate", copy.label, "Hz")
        assert (remark.here, remark.expected) == (pytest.approx(rate), copy.rate)
        assert remark.evidence["every"] == copy.every == steps
        assert any(remark.text in event.message for event in serving.world.events)
        (edit,) = remark.edits  # which resolves it
        assert edit.path == f"{remark.where}.rate"
        for _, repaired in opened(bridge(rate=edit.value, **PORTS.get(bridge, {})), timestep):
            assert repaired.remarks == ()


@pytest.mark.parametrize(
    ("bridge", "timestep"),
    [(UnitreeBridge, 0.002), (UnitreeBridge, 0.001), (RosBridge, 0.005), (RosBridge, 0.001)],
)
def test_a_rate_that_is_met_is_not_mentioned(bridge: type[Bridge], timestep: float) -> None:
    for serving, copy in opened(bridge(), timestep):
        assert copy.remarks == () and serving.world.events == ()
        assert copy.every * timestep == pytest.approx(1.0 / copy.rate)


@pytest.mark.parametrize(
    ("interface", "warns"), [("lo", False), ("eth0", True), ("10.0.0.2", True)]
)
def test_dds_outside_loopback_is_warned_about(interface: str, warns: bool) -> None:
    for _, copy in opened(UnitreeBridge(interface=interface)):
        found = [(remark.kind, remark.here) for remark in copy.remarks]
        assert found == [("open-network", interface)] * warns


# Robots without motors --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The joints of a G1, each with a position actuator."""
    joints = [f"{name}_joint" for name in ROBOTS["g1"].motors]
    bodies = "".join(
        f'<body><joint name="{joint}"/><geom size=".02" mass="1"/></body>' for joint in joints
    )
    servos = "".join(f'<position name="{j}" joint="{j}" kp="100" kv="2"/>' for j in joints)
    file = tmp_path_factory.mktemp("g1") / "g1.xml"
    file.write_text(
        '<mujoco><worldbody><body name="base" pos="0 0 1"><freejoint/><geom size=".1"/>'
        f"{bodies}</body></worldbody><actuator>{servos}</actuator></mujoco>"
    )
    return file


def scene_of(model: Path, *components: Any, use_motors: bool) -> mjrig.Scene:
    scene = mjrig.Scene()
    actor = scene.add_actor("g1", model=str(model))
    actor.use_motors = use_motors
    for component in components:
        actor.add_component(component)
    return scene


@pytest.mark.parametrize("bridge", [UnitreeBridge(kind="g1"), RosBridge()])
def test_position_actuators_are_refused_with_the_way_out(model: Path, bridge: Bridge) -> None:
    with pytest.raises(mjrig.MjrigError, match=r"29 of its joints have .* use_motors: true"):
        mjrig.World(scene_of(model, bridge.copy(), use_motors=False))
    world = mjrig.World(scene_of(model, bridge.copy(), use_motors=True))
    served = world["g1"].components[0]
    assert isinstance(served, DdsBridge)
    served.use_link(LocalLink(served.make_wire()))
    with Serving(world):
        assert len(served.motors.with_gains) == 29


@pytest.mark.parametrize("is_last", [True, False])
def test_controllers_may_be_listed_after_the_bridge(model: Path, is_last: bool) -> None:
    components = [PDController(kp=10.0, kv=1.0), SocketBridge(**PORTS[SocketBridge])]
    ordered = components[::-1] if is_last else components
    with Serving(mjrig.World(scene_of(model, *ordered, use_motors=True))) as serving:
        assert len(serving.bridges[0].motors.with_gains) == 29


def test_a_motor_without_a_controller_is_refused_when_serving_begins() -> None:
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.actors[0].components = ()
    scene.actors[0].add_component(UnitreeBridge())
    world = mjrig.World(scene)
    with pytest.raises(mjrig.MjrigError, match="has no PDController or PIDController"):
        Serving(world)
