"""Scenes damaged at random: an error with its place, never a traceback or a hang."""

import os
import random
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.components import Clamp, Delay, Law
from mjrig.core.errors import ExecutionError, MjrigError, SceneError
from mjrig.core.properties import registry
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.actor_description import ActorDescription, Prop
from mjrig.core.scene.actuator import Actuator
from mjrig.core.scene.mujoco_options import SimOptions
from mjrig.lab.check.preflight import findings, report
from tests.campaign import CAMPAIGN, Tally
from tests.conftest import HINGE, LEGS
from tests.places import SCENES
from tests.resource_limits import TooLarge, TooSlow, cpu_limit, memory_limit

#: One scene that says as much as possible.
RICH = """\
mjrig: 1   # the format
vars: {kp: 40, name: dog, list: [1, 2], .nan: .nan}
seed: 3
include:
  - {file: part.yaml, prefix: p_, vars: {x: 2}, set: {box.prop.mass: 2}}
sim: {timestep: 0.002, integrator: Euler, gravity: [0, 0, -9.81]}
frames:
  - {name: bench, position: [1, 0, 0.5], euler_deg: [0, 0, 30]}
  - {name: hand, on: dog/left_shin}
actors:
  - name: ${name}
    model: legs.xml
    pose: {position: [0, 0, 1], quaternion: [1, 0, 0, 0]}
    keyframe: home
    joints: {"left_.*": 0.1}
    joint_velocities: {right_hip: 1e-3}
    dynamics: {armature: {".*_hip": 0.01}, damping: {".*": 0.1}}
    renamed: {"joint:left_knee": bend}
    keyframes:
      - {name: own, joints: {bend: 0.5, left_hip: [0.1]}, controls: {left_hip: 1}}
    actuators:
      - {type: MotorActuator, name: extra, joint: ".*_hip", gear: 2, forcerange: [-1, 1], group: 1}
      - {type: PositionActuator, joint: right_knee, kp: 10, dampratio: 1, sensors: actuatorfrc}
      - {type: GeneralActuator, joint: bend, gainprm: [1], biasprm: [0, 1], refsite: null,
         actdim: 1, dyntype: filter, dynprm: [0.1], ctrllimited: false, userdata: [1]}
    components:
      - type: PDController
        actuators: ["left_hip", "left_knee"]
        kp: {"left_.*": "${kp}", default: 20}
        kv: [1, 2, 3]
        torque_limit: 33.5
        delay: {steps: 2}
        clamps:
          - {type: DCMotor, saturation_effort: 33.5, velocity_limit: 21}
          - {type: MaxEffort, max_effort: 9}
      - {type: PIDController, actuators: right_.*, ki: 1, integral_max: .inf, decimation: 2}
  - name: rod
    model: hinge.xml
    pose: {position: [3, 0, 1], relative_to: bench}
    replicate: {count: [2, 1, 1], spacing: [1, 1, 1]}
    components: [{type: PDController, kp: 5, kv: 0.1, enabled: true, precision: float32}]
  - name: held
    model: hinge.xml
    attach: {to: dog/left_shin}
    removed: ["actuator:.*"]
    scenery: no
  - name: box
    prop: {type: BoxProp, size: [0.1, 0.1, 0.1], mass: 1, free: true}
    pose: {position: [0, 3, 1]}
  - name: ground
    prop: {type: GroundProp}
  - {name: field, prop: {type: HeightFieldProp, size: [2, 2], heights: [[0, 0], [0, 0.2]]}}
  - {name: lamp, prop: {type: LightProp}, pose: {position: [0, 0, 3]}}
collision_groups:
  - {name: a, members: [dog, "rod_.*"], ignores: [a, b]}
  - {name: b, members: ["box"], groups: [a]}
randomise:
  - {path: dog.PDController.kp, operation: scale, low: 0.9, high: 1.1}
  - {path: "rod_.*.pose.position", low: [0, 0, 0], high: [0.1, 0, 0]}
"""
SMALL = """\
mjrig: 1
actors:
  - name: arm
    model: hinge.xml
    joints: {swing: 0.2}
    actuators: [{type: PIDActuator, joint: swing, kp: 3, ki: 1, kv: 1}]
    components: [{type: PDController, kp: {"s.*": 4}, delay: {random: [0, 3]}, decimation: 2}]
"""
#: What any scene of this size may take, imports apart.
SECONDS, MEGABYTES = 1.0, 500.0
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1e-9, 1e39, -1e39, 1e300, 1e15, 10**6, 10**20, 2**31, 2**63,
    0.5, float("nan"), float("inf"), float("-inf"), "", " ", "x", "é\u202e", "a" * 300,
    "a" * 5000, "1e999", "(a+)+", "(", ".*", "a{99999999999}", "[", "${kp}", "${none}", "${",
    "../x.xml", "zero.xml", "pipe.xml", "legs.xml", "hinge.xml", "part.yaml", "s.yaml",
    "package:x/y.xml", "menagerie:x", "dog", "world", "dog/left_shin", "left_hip", [], [[]], [1],
    [1, 2], [1, 2, 3], [1, 2, 3, 4], [[1]], ["a"], [None], list(range(100)), {}, {"a": 1},
    {".*": 1}, {"(a+)+": 1}, {"default": 1}, {"type": "x"}, {"a": {"b": {}}}, {1: 2}, "\0",
    "2001-01-01", "PDController", "mod:Class", [{}], [1e39], 5000, {"steps": 1e15},
    {"seconds": 1e9}, {"steps": 100_000}, {"count": [1e9, 1, 1]}, -0.0, 1e-300,
)  # fmt: skip


def bases() -> list[str]:
    names = ("pendulum", "arm_pair", "quadruped", "workcell") if CAMPAIGN else ()
    texts = [(SCENES / f"{name}.yaml").read_text("utf-8") for name in names]
    return [
        RICH,
        RICH,
        RICH,
        SMALL,
        *(t.replace("../../assets/", "package:mjrig.assets/") for t in texts),
    ]


@pytest.fixture(scope="module", autouse=True)
def loaded_kernel() -> None:
    """A compiled world, so that its kernel is loaded: the first of a process takes its time."""
    with suppress(ExecutionError):
        mjrig.World(SCENES / "pendulum.yaml", "compiled").step()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hinge.xml").write_text(HINGE)
    (tmp_path / "legs.xml").write_text(LEGS)
    (tmp_path / "part.yaml").write_text(
        "mjrig: 1\nvars: {x: 1}\nactors:\n  - {name: box, prop: {type: SphereProp, radius: 0.1, "
        "mass: '${x}', free: true}}\n"
    )
    shutil.copytree(SCENES.parent / "parts", tmp_path / "parts")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "zero.xml").symlink_to("/dev/zero")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "in" / "pipe.xml")
    for name in ("hinge.xml", "legs.xml", "part.yaml"):
        shutil.copy(tmp_path / name, tmp_path / "in" / name)
    return tmp_path / "in"


# Mutations --------------------------------------------------------------------------------------


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        found += places(value, (*path, key)) if isinstance(value, dict | list) else [(*path, key)]
    return found


def inside(data: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def some_value(rng: random.Random) -> Any:
    return deepcopy(rng.choice(VALUES))


def mutated_data(rng: random.Random, data: Any) -> None:
    paths = [p for p in places(data) if p]
    if not paths:
        return
    path = rng.choice(paths)
    holder, key = inside(data, path[:-1]), path[-1]
    other = rng.choice(paths)
    kind = rng.randrange(8)
    if kind <= 3:
        holder[key] = some_value(rng)
    elif kind == 4:
        del holder[key]
    elif kind == 5:
        holder[key] = deepcopy(inside(data, other)) if len(other) > 2 else some_value(rng)
    elif kind == 6:
        holder[key] = rng.choice(
            ([holder[key]], {"a": holder[key]}, [deepcopy(holder[key]) for _ in "abc"])
        )
    elif isinstance(holder, dict):
        holder[rng.choice(("x", "type", "name", "kp", str(other[-1])))] = some_value(rng)
    else:
        holder.insert(rng.randrange(len(holder) + 1), some_value(rng))


def mutated_text(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text))
    kind = rng.randrange(6)
    if kind == 0:
        return text[:at] + rng.choice("{}[]:,-&*!|>'\"#%@`\n\t \0é\x1b\ufeff") + text[at:]
    if kind == 1:
        return text[:at] + text[at + rng.randint(1, 9) :]
    if kind == 2:
        end = at + rng.randint(1, 200)
        return text[:at] + text[at:end] * rng.randint(2, 9) + text[end:]
    if kind == 3:
        return text[:at]
    numbers = list(re.finditer(r"-?\d+\.?\d*", text))
    if kind == 4 and numbers:
        found = rng.choice(numbers)
        new = rng.choice(
            ("1e39", "-1", "0", ".nan", ".inf", "1e300", "9" * 200, "1_0", "0x1", "1e15")
        )
        return text[: found.start()] + new + text[found.end() :]
    lines = text.splitlines(keepends=True)
    first = rng.randrange(len(lines))
    other = rng.randrange(len(lines))
    lines[first], lines[other] = lines[other], lines[first]
    return "".join(lines)


def mutated(rng: random.Random, text: str) -> str:
    if rng.random() < 0.35:
        for _ in range(rng.randint(1, 2)):
            text = mutated_text(rng, text) if text else "x"
        return text
    data = yaml.safe_load(text)
    for _ in range(rng.randint(1, 3)):
        mutated_data(rng, data)
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=rng.choice((None, True)))


#: Where a type of a family goes in a scene; its own values are added to the last mapping.
HOLDERS: dict[type[Any], Callable[[dict[str, Any]], dict[str, Any]]] = {
    Actuator: lambda item: {"model": "legs.xml", "actuators": [{"joint": "left_hip"} | item]},
    Prop: lambda item: {"prop": item},
    Clamp: lambda item: {
        "model": "legs.xml",
        "components": [{"type": "PDController", "clamps": [item]}],
    },
    Law: lambda item: {"model": "legs.xml", "components": [{"type": "LawController", "law": item}]},
    Delay: lambda item: {
        "model": "legs.xml",
        "components": [
            {"type": "PDController", "delay": {k: v for k, v in item.items() if k != "type"}}
        ],
    },
    ActorComponent: lambda item: {"model": "legs.xml", "components": [item]},
}


def one_property(rng: random.Random) -> dict[str, Any]:
    """A scene in which one property of any type, of an actor or of `sim`, has any value."""
    kind = rng.random()
    if kind < 0.1:
        name = rng.choice([p.name for p in SimOptions.properties()])
        actor = {"name": "dog", "model": "legs.xml"}
        return {"mjrig": 1, "sim": {name: some_value(rng)}, "actors": [actor]}
    if kind < 0.25:
        name = rng.choice([p.name for p in ActorDescription.properties() if p.name != "name"])
        actor = {"name": "dog", "model": "legs.xml", name: some_value(rng)}
        return {"mjrig": 1, "actors": [actor]}
    name = rng.choice([n for n in registry.names() if holder_of(n) is not None])
    cls, hold = registry.get(name, HasProperties), holder_of(name)
    assert hold is not None
    item = {"type": name}
    own = list(cls.properties())
    for prop in rng.sample(own, k=min(len(own), rng.choice((1, 1, 2)))):
        item[prop.name] = some_value(rng)
    return {"mjrig": 1, "actors": [{"name": "dog"} | hold(item)]}


def holder_of(name: str) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    cls = registry.get(name, HasProperties)
    ours = cls.__module__.startswith("mjrig.")
    return next((h for base, h in HOLDERS.items() if ours and issubclass(cls, base)), None)


# What is done with them -------------------------------------------------------------------------


def load_and_save(folder: Path, text: str) -> mjrig.Scene:
    scene = mjrig.Scene.load(folder / "s.yaml")
    assert scene.to_text() == text, "an untouched scene changed"
    return scene


def use(folder: Path, text: str) -> None:
    world = mjrig.World(load_and_save(folder, text), "python")
    world.step()


def check(folder: Path, text: str) -> None:
    world = mjrig.World(load_and_save(folder, text))
    report(world, findings(world))
    world.step(2)


def trial(action: Callable[[Path, str], object], folder: Path, text: str) -> str | None:
    """What is wrong with the way a text is dealt with; None: nothing."""
    (folder / "s.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    try:
        # Infinite gains are nobody's error.
        with memory_limit(MEGABYTES), cpu_limit(SECONDS), np.errstate(all="ignore"):
            action(folder, text)
    except SceneError as error:
        if not re.match(r"(?s).*?:\d+:\d+: ", str(error)):
            return f"an error without its place: {error}"
    except MjrigError as error:
        return f"{type(error).__name__} is not a SceneError: {error}"
    except TooSlow:
        return f"took more than {SECONDS} s of CPU"
    except TooLarge as error:
        return f"took {error} of memory"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("text", [RICH, SMALL])
def test_the_scenes_themselves_are_fine(folder: Path, text: str) -> None:
    (folder / "s.yaml").write_text(text)
    check(folder, text)


@pytest.mark.campaign
def test_mutated_scenes_are_read_or_refused(folder: Path, tally: Tally) -> None:
    texts = bases()
    actions = (load_and_save, use, check) if CAMPAIGN else (load_and_save, load_and_save, use)
    for rng in tally.cases("mutated scenes", 60, 20_000, minutes=10):
        text = mutated(rng, rng.choice(texts))
        action = rng.choice(actions)
        if wrong := trial(action, folder, text):
            tally.found(f"{action.__name__}: {wrong[:300]}\n{text if CAMPAIGN else text[:2000]}")


@pytest.mark.campaign
def test_every_property_takes_or_refuses_any_value(folder: Path, tally: Tally) -> None:
    for rng in tally.cases("any value for any property", 90, 30_000, minutes=10):
        text = yaml.safe_dump(one_property(rng), sort_keys=False)
        action = rng.choice((use, check)) if CAMPAIGN else use
        if wrong := trial(action, folder, text):
            tally.found(f"{action.__name__}: {wrong[:300]}\n{text[:2000]}")
