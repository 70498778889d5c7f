"""Attributes of the objects that users hold: no assignment or write is lost silently."""

import dataclasses
import random
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
import pytest

import mjrig
from mjrig.components import PD, Pipeline
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.errors import AttributeNameError
from mjrig.gains import Bench
from mjrig.lab.replay.result import Replay
from mjrig.properties import HasProperties, Property
from mjrig.tuning import Results
from tests.campaign import Tally
from tests.plugin.lab.scenes import BUNDLED
from tests.wording import matches, mentions, regex

QUADRUPED, WALK = BUNDLED / "quadruped.yaml", BUNDLED / "quadruped_walk.yaml"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: Packages with public names that need no extra.
PACKAGES = ("mjrig", "mjrig.components", "mjrig.scene", "mjrig.sim", "mjrig.check", "mjrig.gains",
            "mjrig.recording", "mjrig.lab.replay", "mjrig.tuning")  # fmt: skip
#: Public classes whose attributes others set: gymnasium's wrappers, and subclasses by users.
OPEN = {"SceneEnv", "Panel", "Viewer", "View", "Ground"}


#: Objects inside the loops, which write attributes in every tick or step, and the text of a file.
INTERNAL = {"View", "Lowered", "TargetMap", "State", "Document", "FileBudget", "Resolved",
            "SceneText"}  # fmt: skip


@cache
def runtime_objects() -> dict[str, Any]:
    """What a user gets from the public functions, by class."""
    world, walking = mjrig.World(QUADRUPED, "python"), mjrig.World(WALK)
    robot, batch = world["quadruped"], mjrig.Batch(QUADRUPED, 2)
    policy_batch = mjrig.PolicyBatch(WALK, 2)
    world.step(3)
    policy_batch.step(3)
    objects = [
        world, robot, robot.setpoints, robot.control, robot.actuator("FL_hip"), robot.bindings,
        robot.bindings[0], robot.controllers[0], walking["quadruped"].part("Policy"), batch,
        batch["quadruped"], batch["quadruped"].controllers[0], policy_batch, policy_batch.policy(),
        mjrig.Recorder(world, "unused.h5"), Pipeline(PD(kp=1.0), size=2),
        Bench(mjrig.World(QUADRUPED)), Results(("a",), ("b",)), Replay("targets", "a", "b"),
        mjrig.Scene.load(QUADRUPED), mjrig.Scene.load(QUADRUPED).actors[0], world.snapshot(),
    ]  # fmt: skip
    return {type(one).__name__: one for one in objects}


def test_every_object_that_a_world_or_batch_leads_to_checks_its_attributes(tally: Tally) -> None:
    """Also objects in attributes of attributes, and the arrays in them."""
    visited: list[object] = []
    waiting = [(type(o).__name__, o, 0) for o in runtime_objects().values()]
    while waiting:
        path, target, depth = waiting.pop()
        if isinstance(target, Mapping):
            waiting += [(f"{path}[{k!r}]", v, depth) for k, v in list(target.items())[:2]]
        elif isinstance(target, list | tuple):
            waiting += [(f"{path}[{i}]", v, depth) for i, v in enumerate(target[:2])]
        is_ours = type(target).__module__.startswith("mjrig.") and not isinstance(target, Enum)
        if not is_ours or depth > 4 or any(target is other for other in visited):
            continue
        visited.append(target)
        if type(target).__name__ not in INTERNAL:
            try:
                setattr(target, "positon", 1.0)  # noqa: B010
                tally.found(f"{path} ({type(target).__name__}) accepts any attribute")
            except (AttributeError, TypeError):
                pass
        for name in (n for n in dir(target) if not n.startswith("_")):
            try:
                value = getattr(target, name)
            except (mjrig.MjrigError, AttributeError, NotImplementedError):
                continue
            if isinstance(value, np.ndarray):
                if is_writeable_copy(target, name):
                    tally.found(f"{path}.{name} is a copy and writeable")
            else:
                waiting.append((f"{path}.{name}", value, depth + 1))
    assert len({type(o) for o in visited}) > 40


def is_writeable_copy(target: object, name: str) -> bool:
    """Whether a write to an array of an attribute is lost."""
    array = getattr(target, name)
    if not array.flags.writeable or not array.size:
        return False
    before = array.flat[0]
    array.flat[0] = not before if array.dtype == bool else before + 1
    is_lost = bool(getattr(target, name).flat[0] == before)
    array.flat[0] = before
    return is_lost


def misspellings(name: str, rng: random.Random) -> Iterator[str]:
    """A letter dropped, doubled, changed or swapped with its neighbour."""
    i = rng.randrange(len(name))
    yield name[:i] + name[i + 1 :]
    yield name[:i] + name[i] + name[i:]
    yield name[:i] + rng.choice(LETTERS) + name[i + 1 :]
    yield name[:i] + name[i : i + 2][::-1] + name[i + 2 :]


def test_a_misspelt_attribute_is_an_error_on_every_object(tally: Tally) -> None:
    """The name is one that the class knows, with a typo."""
    objects = list(runtime_objects().values())
    for rng in tally.cases("misspelt attributes", 300, 100_000, minutes=1):
        target = rng.choice(objects)
        public = [n for n in dir(target) if not n.startswith("_")]
        name = rng.choice(public)
        for wrong in misspellings(name, rng):
            if hasattr(target, wrong) or not wrong.isidentifier() or wrong.startswith("_"):
                continue
            before = set(target.__dict__)
            try:
                setattr(target, wrong, 1.0)
                tally.found(f"{type(target).__name__}.{wrong} = 1.0 is accepted")
            except AttributeError as error:
                if wrong not in str(error):
                    tally.found(f"{type(target).__name__}.{wrong}: {error}")
            if set(target.__dict__) != before:
                tally.found(f"{type(target).__name__}.{wrong} was stored")


def test_methods_and_read_only_attributes_cannot_be_replaced(tally: Tally) -> None:
    for target in runtime_objects().values():
        cls = type(target)
        for name in (n for n in dir(cls) if not n.startswith("_")):
            member = getattr(cls, name)
            fixed = isinstance(member, property) and member.fset is None
            if not (fixed or callable(member)) or isinstance(member, Property):
                continue
            try:
                setattr(target, name, 1.0)
                tally.found(f"{cls.__name__}.{name} was replaced")
            except AttributeError as error:
                if name not in str(error):
                    tally.found(f"{cls.__name__}.{name}: {error}")


def arrays_of(target: object, name: str) -> dict[Any, np.ndarray[Any, Any]]:
    """The array of an attribute, or those of its mapping."""
    try:
        value = getattr(target, name)
    except (mjrig.MjrigError, AttributeError):
        return {}
    several = dict(enumerate(value)) if isinstance(value, list | tuple) else value
    named = several if isinstance(several, Mapping) else {"": value}
    return {key: array for key, array in named.items() if isinstance(array, np.ndarray)}


def test_a_write_to_an_array_is_seen_or_refused(tally: Tally) -> None:
    """Every array of every public attribute is live or read-only."""
    count = 0
    lowered = mjrig.World(QUADRUPED, "native")["quadruped"]
    compiled = mjrig.World(QUADRUPED, "compiled")["quadruped"]
    for target in (*runtime_objects().values(), lowered.controllers[0], compiled.controllers[0]):
        for name in (n for n in dir(target) if not n.startswith("_")):
            for key, array in arrays_of(target, name).items():
                count += 1
                if not array.flags.writeable or not array.size:
                    continue
                before = array.flat[0]
                array.flat[0] = not before if array.dtype == bool else before + 1
                if arrays_of(target, name)[key].flat[0] == before:
                    tally.found(f"{type(target).__name__}.{name} {key} is a copy and writeable")
                array.flat[0] = before
    assert count > 60


def test_every_public_class_checks_its_attributes(tally: Tally) -> None:
    """A class that is added to the public names checks them too."""
    for package in PACKAGES:
        module = import_module(package)
        for name in (n for n in dir(module) if not n.startswith("_")):
            cls = getattr(module, name)
            if not isinstance(cls, type) or name in OPEN:
                continue
            if issubclass(cls, BaseException | Enum | Property):
                continue
            frozen = dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
            if not frozen and not issubclass(cls, CheckedAttributes | HasProperties):
                tally.found(f"{package}.{name} accepts any attribute")


def refusal(target: object, name: str, value: object) -> str:
    """The message when an attribute is assigned."""
    with pytest.raises(AttributeNameError) as info:
        setattr(target, name, value)
    return str(info.value)


def test_errors_name_the_nearest_attribute_or_the_way() -> None:
    objects = runtime_objects()
    setpoints, batch = objects["Setpoints"], objects["Batch"]
    message = refusal(setpoints, "positon", np.zeros(12))
    assert matches(message, "Setpoints has no attribute 'positon'; did … 'position'?")
    controller = batch["quadruped"].controllers[0]
    message = refusal(controller, "kp", 5.0)
    assert matches(message, "quadruped.PDController.kp has a value per … set_gains(kp=…)")
    message = refusal(objects["World"], "timestep", 0.01)
    assert message.startswith("World.timestep is read-only; call scene.set('sim.timestep', …)")
    message = refusal(objects["Batch"], "time", 0.0)
    assert message == "Batch.time is read-only; write data('time')"
    message = refusal(objects["World"], "step", 3)
    assert matches(message, "World.step is a method and … step(…)")


def test_assigned_setpoints_are_copied_and_checked() -> None:
    robot = mjrig.World(QUADRUPED)["quadruped"]
    values = np.linspace(0.0, 1.0, 12)
    robot.setpoints.position = values
    view = robot.setpoints.position
    values[:] = 7.0
    np.testing.assert_array_equal(view, np.linspace(0.0, 1.0, 12))
    robot.setpoints.velocity += 2.0
    assert (robot.setpoints.velocity == 2.0).all()
    with pytest.raises(ValueError, match="must have 12 values, got shape"):
        robot.setpoints.feedforward = np.zeros(11)
    robot.control.force = np.arange(18.0)
    np.testing.assert_array_equal(robot.control.force, np.arange(18.0))
    with pytest.raises(ValueError, match=regex("control.target_qd takes numbers of shape (18,)")):
        robot.control.target_qd = [1.0, 2.0]
    with robot.take(), pytest.raises(mjrig.LeaseError):
        robot.setpoints.position = values


def test_assigned_rows_of_a_batch_are_copied_and_checked() -> None:
    batch = mjrig.Batch(QUADRUPED, 2)
    robot = batch["quadruped"]
    robot.position = 0.5
    assert (robot.setpoints[0] == 0.5).all()
    robot.position += 0.25
    assert (robot.setpoints[0] == 0.75).all()
    with pytest.raises(
        ValueError, match=regex("quadruped.velocity takes numbers of shape (2, 12)")
    ):
        robot.velocity = np.zeros((3, 12))
    batch.qvel = 0.0
    batch.qpos[:, 2] = 1.0
    assert (batch.qpos[:, 2] == 1.0).all()


class Scored(CheckedAttributes):
    """As a user would extend a class."""

    score: float
    name: Final[str]

    def __init__(self) -> None:
        self.score = 0.0
        self.name = "first"


def test_annotations_declare_attributes_and_final_ones_are_fixed() -> None:
    scored = Scored()
    scored.score = 2.0
    scored._private = 1  # type: ignore[attr-defined]
    message = refusal(scored, "name", "second")
    assert message == "Scored.name is read-only"
    message = refusal(scored, "weight", 1.0)
    assert mentions(message, "annotate it in the … `weight: float`")
