"""Worlds of many actors: each behaves as if it were alone, and the work grows with their number."""

import random
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.check import findings
from mjrig.components import PDController, PIDController
from mjrig.core.control.setpoints import Source
from tests.campaign import Tally
from tests.worlds import FLOATING, GRIPPER, ZOO, arm, hinge

MODELS = {
    "hinge": hinge(),
    "arm": arm(),
    "servo": hinge('<position name="drive" joint="swing" kp="20" kv="1"/>'),
    "gripper": GRIPPER,
    "zoo": ZOO.replace("<worldbody>", f'<option timestep="0.001" {FLOATING}/><worldbody>', 1),
}
#: Kinds without a law of mjrig: setpoints go to the actuators directly.
DIRECT = ("servo", "zoo")
#: Kinds whose motion does not depend on the other actors, bit by bit.
SEPARATE = ("hinge", "arm", "servo", "gripper", "prop")
Edit = Callable[[mjrig.World, str], None]


def some_scene(rng: random.Random, folder: Path, kinds: tuple[str, ...]) -> mjrig.Scene:
    """Actors of random kinds next to each other."""
    scene = mjrig.Scene()
    chosen = [rng.choice(kinds) for _ in range(rng.randint(3, 9))]
    for i, kind in enumerate(chosen):
        pose = mjrig.Pose(position=[5.0 * i, 0.0, 1.0])
        if kind == "prop":
            scene.add_actor(f"prop{i}", prop={"type": "BoxProp", "free": True}, pose=pose)
            continue
        path = folder / f"{kind}.xml"
        path.write_text(MODELS[kind])
        actor = scene.add_actor(f"{kind}{i}", model=path, pose=pose)
        if kind not in DIRECT:
            actor.add_component(some_controller(rng))
    return scene


def some_controller(rng: random.Random) -> PDController:
    """A law with or without memory."""
    law = rng.choice(["pd", "pid", "delay", "slow"])
    if law == "pid":
        return PIDController(kp=30.0, kv=1.0, ki=5.0)
    memory = {"delay": {"delay": {"steps": 2}}, "slow": {"decimation": 3}}
    return PDController(kp=30.0, kv=1.0, **memory.get(law, {}))


def some_edit(rng: random.Random, snapshots: dict[mjrig.World, mjrig.Snapshot]) -> tuple[str, Edit]:
    """A change of one robot between two steps, and its name; the same for every world."""
    value, which = rng.choice([-0.0, 0.0, *(rng.uniform(-0.5, 0.5),) * 4]), rng.random()
    bad = rng.choice([float("nan"), float("inf"), 1e11])

    def array(row: str, number: float) -> Edit:
        def edit(world: mjrig.World, name: str) -> None:
            values = getattr(world[name].setpoints, row)
            if values.flags.writeable and len(values):
                values[int(which * len(values))] = number

        return edit

    def targets(world: mjrig.World, name: str) -> None:
        if not world[name].setpoints.leases and world[name].actuator_names:
            world[name].set_targets({".*": value}, feedforward={".*": -value})

    def control(number: float) -> Edit:
        def edit(world: mjrig.World, name: str) -> None:
            values = world.data.ctrl[world[name].model_map.ctrl]
            if len(values):
                values[int(which * len(values))] = number

        return edit

    def lease(world: mjrig.World, name: str) -> None:
        robot = world[name]
        if robot.setpoints.leases:
            robot.setpoints.leases[0].release()
        elif robot.actuator_names:
            robot.follow(None)
            robot.take(Source.POLICY).set_targets(np.full(len(robot.actuator_names), value))

    def inputs(world: mjrig.World, name: str) -> None:
        for vector in world[name].setpoints.inputs.values():
            if vector.flags.writeable:
                vector[:] = [value, bad if which < 0.2 else 0.5, -value, 1.0]

    def switch(world: mjrig.World, name: str) -> None:
        for component in world[name].controllers:
            component.enabled = not component.enabled

    def gain(world: mjrig.World, name: str) -> None:
        for component in world[name].components:
            component.kp = 30.0 + value

    def replace(world: mjrig.World, name: str) -> None:
        robot = world[name]
        if robot.components:
            robot.remove_component(robot.components[0])
        elif not name.startswith((*DIRECT, "prop")):
            robot.add_component(PDController(kp=20.0, kv=1.0))

    def follow(world: mjrig.World, name: str) -> None:
        robot = world[name]
        if robot.actuator_names and not robot.setpoints.leases:
            robot.follow((lambda t: (np.sin(t), None, None)) if which < 0.5 else None)

    def rewind(world: mjrig.World, name: str) -> None:
        """Rewind to the first snapshot, or to the present state where one robot is alone."""
        with suppress(mjrig.PropertyError):  # since then components were changed
            first = snapshots.get(world) if len(world.articulations) > 1 else None
            world.restore(first or world.snapshot())

    edits: dict[str, Edit] = {
        "position": array("position", value),
        "velocity": array("velocity", value),
        "feedforward": array("feedforward", value),
        "bad setpoint": array("position", bad),
        "targets": targets,
        "ctrl": control(value),
        "bad ctrl": control(bad),
        "lease": lease,
        "inputs": inputs,
        "switch": switch,
        "gain": gain,
        "replace": replace,
        "follow": follow,
        "reset": lambda world, name: world.reset(),
        "rewind": rewind,
        "apply": lambda world, name: world[name].apply_controls(),
    }
    name = rng.choice(list(edits))
    return name, edits[name]


def state_of(world: mjrig.World, name: str) -> list[Any]:
    """Everything of one robot that a step changes."""
    data, where = world.data, world[name].model_map
    arrays = (
        data.qpos[where.qpos],
        data.qvel[where.dof],
        data.act[where.act],
        data.ctrl[where.ctrl],
        world[name].setpoints.memory,
    )
    events = [event.message for event in world.events if event.actor == name]
    return [events, *(array.tobytes() for array in arrays)]


def step_by_hand(world: mjrig.World, n: int) -> None:
    """Every robot acts before every step, changed or not."""
    for _ in range(n):
        for robot in world.articulations.values():
            robot.apply_controls()
        mujoco.mj_step(world.model, world.data)


def compare(
    rng: random.Random,
    world: mjrig.World,
    others: Mapping[str, mjrig.World],
    step: Callable[[mjrig.World, int], object],
) -> str:
    """Random edits and steps; returns where the world first differs from the others' robots."""
    names, past = list(world.articulations), list[str]()
    together = len(others[names[0]].articulations) > 1
    snapshots = {one: one.snapshot() for one in (world, others[names[0]]) if together}
    for _ in range(25):
        for _ in range(rng.choice([0, 1, 1, 2])):
            name, (kind, edit) = rng.choice(names), some_edit(rng, snapshots)
            past.append(f"{kind} {name}")
            for one in {id(w): w for w in (world, *others.values())}.values():
                if name in one.articulations or kind in ("reset", "rewind"):
                    edit(one, name)
        n = rng.choice([1, 1, 1, 3])
        past.append(f"step({n})")
        world.step(n)
        for other in {id(w): w for w in others.values()}.values():
            step(other, n)
        for name in names:
            if state_of(world, name) != state_of(others[name], name):
                return f"{name} of {names} after {past}"
    return ""


@pytest.mark.campaign
def test_robots_checked_together_act_as_one_by_one(tally: Tally, tmp_path: Path) -> None:
    for rng in tally.cases("robots together against one by one", 40, 4_000):
        scene = some_scene(rng, tmp_path, (*MODELS, "prop"))
        execution = rng.choice(["auto", "auto", "python"])
        world, other = (mjrig.World(scene, execution) for _ in range(2))
        difference = compare(rng, world, dict.fromkeys(world.articulations, other), step_by_hand)
        if difference:
            tally.found(f"{execution}: {difference}")


@pytest.mark.campaign
def test_a_robot_among_many_moves_as_alone(tally: Tally, tmp_path: Path) -> None:
    for rng in tally.cases("robots among others against alone", 20, 2_000):
        scene = some_scene(rng, tmp_path, SEPARATE)
        execution = rng.choice(["auto", "python", "compiled"])
        alone = {}
        sim = {"timestep": 0.001, "gravity": [0, 0, 0]}  # those of the models; props have none
        scene.sim = sim
        for actor in scene.actors:
            data = {"mjrig": 1, "sim": sim, "actors": [actor.to_data()]}
            single = mjrig.Scene.from_data(data)
            alone[actor.name] = mjrig.World(single, execution)
        world = mjrig.World(scene, execution)
        difference = compare(rng, world, alone, lambda other, n: other.step(n))
        if difference:
            tally.found(f"{execution}: {difference}")


def test_controls_in_another_order_than_the_actors(tmp_path: Path) -> None:
    """A carrier listed last has its controls first."""
    scene = mjrig.Scene()
    (tmp_path / "arm.xml").write_text(MODELS["arm"])
    for name in ("rider", "free", "carrier"):
        scene.add_actor(name, model=tmp_path / "arm.xml", components=[PDController(kp=9.0)])
    scene["rider"].attach = {"to": "carrier/lower"}
    world, other = mjrig.World(scene), mjrig.World(scene)
    starts = [robot.model_map.ctrl.start for robot in world.articulations.values()]
    assert starts != sorted(starts)
    for seed in range(3):
        rng = random.Random(seed)
        others = dict.fromkeys(world.articulations, other)
        assert not compare(rng, world, others, step_by_hand)


def test_a_bad_setpoint_leaves_no_change_behind(tmp_path: Path) -> None:
    """A repaired setpoint equals the last one, so a later bad control is reported as any other."""
    (tmp_path / "hinge.xml").write_text(MODELS["hinge"])
    scene = mjrig.Scene()
    for name in ("one", "two"):
        scene.add_actor(name, model=tmp_path / "hinge.xml", components=[PDController(kp=9.0)])
    world = mjrig.World(scene)
    world.step()
    version = world["one"].setpoints.version
    world["one"].setpoints.position[0] = np.nan
    world.step(2)
    assert world["one"].setpoints.version == version
    world.data.ctrl[world["one"].actuators[0].ctrl_address] = np.nan
    world.step()
    assert [event.kind for event in world.events] == ["non-finite setpoint", "non-finite effort"]


def test_a_bad_control_of_an_unused_input_stops_nobody(tmp_path: Path) -> None:
    """MuJoCo zeroes all controls if one is not finite."""
    (tmp_path / "hinge.xml").write_text(MODELS["hinge"])
    scene = mjrig.Scene()
    for name in ("one", "two"):
        scene.add_actor(name, model=tmp_path / "hinge.xml", components=[PDController(kp=9.0)])
    world = mjrig.World(scene, "native")
    robot = world["one"]
    robot.remove_component(robot.components[0])
    robot.add_component(PDController(kp=9.0))  # runs in Python and writes one of three inputs
    world["two"].set_targets({"drive": 0.5})
    world.step()
    world.data.ctrl[robot.model_map.ctrl] = np.nan
    world.step()
    assert np.all(np.isfinite(world.data.ctrl))
    assert world["two"].applied_effort[0] > 4.0  # kp times 0.5 rad at first


def test_a_command_that_was_applied_and_taken_back(tmp_path: Path) -> None:
    """The last valid setpoint is the last step's, whatever was applied before it."""
    (tmp_path / "servo.xml").write_text(MODELS["servo"])
    scene = mjrig.Scene()
    for name in ("one", "two"):
        scene.add_actor(name, model=tmp_path / "servo.xml")
    world = mjrig.World(scene)
    world.step()
    robot = world["one"]
    robot.setpoints.velocity[0] = 0.3
    robot.apply_controls()
    robot.setpoints.velocity[0] = 0.0
    world.step()
    robot.setpoints.velocity[0] = np.nan
    world.step()
    assert robot.setpoints.velocity[0] == 0.0


class Many(NamedTuple):
    """Two equal worlds; `step` compares them, with `other` stepped by hand."""

    world: mjrig.World
    other: mjrig.World

    def step(self, n: int = 1) -> None:
        self.world.step(n)
        step_by_hand(self.other, n)
        for array in ("qpos", "qvel", "act", "ctrl"):
            assert (
                getattr(self.world.data, array).tobytes()
                == getattr(self.other.data, array).tobytes()
            )
        assert [e.message for e in self.world.events] == [e.message for e in self.other.events]

    def edit(self, change: Callable[[mjrig.World], object]) -> None:
        for world in self:
            change(world)


@pytest.fixture(scope="module")
def many_scene(tmp_path_factory: pytest.TempPathFactory) -> mjrig.Scene:
    return crowd(120, tmp_path_factory.mktemp("many"))


@pytest.fixture
def many(many_scene: mjrig.Scene) -> Many:
    """In motion, each arm with a different target."""
    both = Many(mjrig.World(many_scene), mjrig.World(many_scene))
    for world in both:
        for i, robot in enumerate(world.articulations.values()):
            robot.set_targets({"a": 0.002 * i})
    both.step(3)
    return both


def test_one_of_many_is_edited(many: Many) -> None:
    def gain(world: mjrig.World) -> None:
        world["arm50"].components[0].kp = 80.0

    def enable(world: mjrig.World, *, enabled: bool) -> None:
        world["arm119"].components[0].enabled = enabled

    before = many.world.snapshot()
    many.edit(gain)
    many.step()
    many.edit(lambda world: enable(world, enabled=False))
    many.step(2)
    robot = many.world["arm119"]  # without a law the target goes to the motor
    assert np.array_equal(robot.applied_effort, robot.setpoints.position)
    many.edit(lambda world: enable(world, enabled=True))
    many.step(2)
    assert not np.array_equal(robot.applied_effort, robot.setpoints.position)
    assert np.all(many.world["arm50"].controllers[0].gains()["kp"] == 80.0)
    many.edit(lambda world: world.restore(before))
    many.step()
    many.edit(lambda world: world.reset())
    many.step(2)


@pytest.mark.parametrize("law", [{"delay": {"steps": 4}}, {"decimation": 3}])
def test_one_of_many_gets_a_law_with_memory(many: Many, law: dict[str, Any]) -> None:
    def replace(world: mjrig.World) -> None:
        robot = world["arm100"]
        robot.remove_component(robot.components[0])
        robot.add_component(PDController(kp=30.0, kv=1.0, **law))

    many.edit(replace)
    many.step(5)
    before = many.world.snapshot()
    many.edit(lambda world: world["arm100"].set_targets({"a": 0.5}))
    many.step(5)
    many.edit(lambda world: world.restore(before))
    many.step()


def test_a_bad_setpoint_is_reported_for_its_actor_alone(many: Many) -> None:
    def spoil(world: mjrig.World) -> None:
        world["arm71"].setpoints.position[0] = np.nan

    many.edit(spoil)
    many.step(2)
    assert [(event.actor, event.kind) for event in many.world.events] == [
        ("arm71", "non-finite setpoint")
    ]
    assert many.world.events[0].message.startswith("arm71.shoulder: position setpoint is nan")
    assert many.world["arm71"].setpoints.position[0] == 0.002 * 71


def test_actors_come_and_go(tmp_path: Path) -> None:
    """An edited scene builds the same world as one authored like this from the start."""
    scene = crowd(40, tmp_path)
    mjrig.World(scene).step()
    for i in (0, 7, 39):
        scene.remove(f"arm{i}")
    scene.add_actor("late", model=tmp_path / "arm.xml", components=[PDController(kp=9.0)])
    authored = mjrig.Scene.from_data(scene.to_data())
    both = Many(mjrig.World(scene), mjrig.World(authored))
    both.edit(lambda world: world["late"].set_targets({"a": 0.4}))
    both.step()
    both.edit(lambda world: world["arm8"].set_targets({"b": -0.3}))
    both.step(5)
    assert np.all(both.world["late"].setpoints.position == [0.4, 0.0])
    assert np.any(both.world["arm8"].applied_effort)
    assert not np.any(both.world["arm9"].applied_effort)


# The amount of work -----------------------------------------------------------------------------


def calls_of(work: Callable[[], object]) -> int:
    """Number of function calls, C functions included."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def crowd(count: int, folder: Path) -> mjrig.Scene:
    """A scene of that many arms, added one by one."""
    scene = mjrig.Scene()
    (folder / "arm.xml").write_text(MODELS["arm"])
    for i in range(count):
        name = f"arm{i}"
        scene.add_actor(name, model=folder / "arm.xml", components=[PDController(kp=30.0, kv=1.0)])
        scene.set(f"{name}.pose.position", [0.0, 2.0 * i, 0.0])
    return scene


def test_building_is_linear_in_the_number_of_actors(tmp_path: Path) -> None:
    counts: dict[str, list[int]] = {}
    for count in (10, 50, 100):  # the first one imports what is needed
        scenes, worlds = list[mjrig.Scene](), list[mjrig.World]()

        def note(name: str, work: Callable[[], object]) -> None:
            counts.setdefault(name, []).append(calls_of(work))

        note("scene", lambda: scenes.append(crowd(count, tmp_path)))  # noqa: B023
        note("world", lambda: worlds.append(mjrig.World(scenes[0])))  # noqa: B023
        (scene,), (world,) = scenes, worlds
        data, snapshot = scene.to_data(), world.snapshot()
        note("to_data", scene.to_data)
        note("from_data", lambda: mjrig.Scene.from_data(data))  # noqa: B023
        note("check", lambda: findings(world))  # noqa: B023
        note("reset", world.reset)
        note("snapshot", world.snapshot)
        note("restore", lambda: world.restore(snapshot))  # noqa: B023
        note("python", lambda: mjrig.World(scene, "python"))  # noqa: B023

        def switch_all() -> None:
            for robot in world.articulations.values():  # noqa: B023
                robot.components[0].enabled = False
            world.step()  # noqa: B023

        note("switch", switch_all)
    ratios = {name: calls[2] / calls[1] for name, calls in counts.items()}
    # Every edit of a scene compares the names of all actors, which is little work for each.
    assert ratios.pop("scene") < 2.3
    assert max(ratios.values()) < 2.05, ratios


@pytest.mark.parametrize("python", [False, True])
def test_idle_actors_cost_no_calls_in_a_step(tmp_path: Path, *, python: bool) -> None:
    calls = []
    for count in (5, 40):
        world = mjrig.World(crowd(count, tmp_path))
        if python:  # one of them runs in Python
            robot = world["arm3"]
            robot.remove_component(robot.components[0])
            robot.add_component(PDController(kp=30.0, kv=1.0))
        world.step(3)
        calls.append(calls_of(world.step))
    assert calls[0] == calls[1]


def test_only_a_commanded_actor_acts(tmp_path: Path) -> None:
    calls = []
    for count in (5, 40):
        world = mjrig.World(crowd(count, tmp_path))
        world.step(3)
        world["arm2"].setpoints.position[0] = 0.3
        calls.append(calls_of(world.step))
    assert calls[0] == calls[1]


class Notes:
    """An observer that notes nothing."""

    looks_after = False

    def before_controls(self) -> None: ...

    def before_step(self) -> None: ...

    def after_step(self) -> None: ...

    def plan_changed(self) -> None: ...

    def state_replaced(self, why: str) -> None: ...


@pytest.mark.parametrize("execution", ["python", "compiled", "native"])
def test_an_observer_changes_nothing(tmp_path: Path, execution: str) -> None:
    """A limit that is set while an observer looks on counts in the next step."""
    worlds = [mjrig.World(crowd(1, tmp_path), execution) for _ in range(2)]
    worlds[0].take_notes(Notes())
    for world in worlds:
        robot = world["arm0"]
        robot.set_targets({"a": 1.0})
        world.step(5)
        robot.components[0].torque_limit = 0.5
        world.step(5)
        assert np.abs(robot.applied_effort).max() <= 0.5
    assert worlds[0].data.qpos.tobytes() == worlds[1].data.qpos.tobytes()
