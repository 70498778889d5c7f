"""Damaged files of runs and bundles: read, or refused in words, whatever was changed in them."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import open_files
from mjrig.components.importers.stack_registry import recognised, stack_named
from mjrig.components.policies.leapp import read_safetensors
from mjrig.core.errors import MjrigError
from tests.campaign import Tally
from tests.components.importers import biped
from tests.components.importers.isaac import bundles, runs
from tests.components.importers.test_mutated_files import mutated

JUNK: tuple[Any, ...] = (
    None, [], {}, "", "x", -1, 0, 1e308, float("nan"), float("inf"), [[1.0]], [None], {"a": None},
    True, "(", "[a-", ".*", "lambda x: x", "<class 'a.b'>", ["(a+)+$"], {"*": 1}, (1.0, 2.0, 3.0),
    {".*": 1.0, ".*_joint": 2.0}, "isaaclab.envs.mdp.observations:image", 10**400, "a" * 600,
)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside."""
    found: list[tuple[Any, ...]] = []
    if not isinstance(data, dict | list | tuple):
        return found
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        found += [(*path, key), *places(value, (*path, key))]
    return found


def damaged(data: Any, rng: random.Random) -> Any:
    """Some values replaced, removed, doubled or renamed."""
    data = copy.deepcopy(data)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(places(data))
        owner = data
        for key in path[:-1]:
            owner = owner[key]
        if isinstance(owner, tuple):
            continue
        how = rng.random()
        if how < 0.6:
            owner[path[-1]] = copy.deepcopy(rng.choice(JUNK))
        elif how < 0.8:
            del owner[path[-1]]
        elif isinstance(owner, dict):
            owner[f"{path[-1]}{rng.choice(('', '_', '.x'))}"] = owner.pop(path[-1])
        else:
            owner.append(copy.deepcopy(owner[path[-1]]))
    return data


def ask(paths: list[Path], robot: Robot) -> str:
    """Read files as an import does; what went wrong other than in words."""
    try:
        source = open_files(paths, None, robot, Overrides())
        stack_named(recognised(source)).read(source)
    except MjrigError as error:
        return "" if str(error).strip() else "an error without words"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.campaign
def test_mutated_runs_are_read_or_refused(tmp_path: Path, tally: Tally) -> None:
    robot = Robot(runs.model(tmp_path))
    network = biped.network(tmp_path / "policy.onnx", 27)
    sound = {
        "env.yaml": runs.env(),
        "agent.yaml": runs.agent(),
        "IO_descriptors.yaml": runs.descriptors(),
        "mjlab.yaml": runs.mjlab(),
    }
    for rng in tally.cases("mutated runs of Isaac Lab", 60, 4000):
        name = rng.choice(list(sound))
        with_run = name == "agent.yaml" or (name == "IO_descriptors.yaml" and rng.random() < 0.5)
        given = {name: sound[name], **({"env.yaml": sound["env.yaml"]} if with_run else {})}
        paths = [runs.write(tmp_path, data, file) for file, data in given.items()]
        target = tmp_path / name
        if rng.random() < 0.7:
            try:
                runs.write(tmp_path, damaged(sound[name], rng), name)
            except ValueError:  # a number too long for Python's own writer
                continue
        else:
            target.write_text(mutated(target.read_text(), rng))
        wrong = ask([*paths, network], robot)
        if wrong:
            tally.found(f"{wrong} in {target.read_text()!r}")


@pytest.mark.campaign
def test_mutated_bundles_are_read_or_refused(tmp_path: Path, tally: Tally) -> None:
    robot = Robot(runs.model(tmp_path))
    bundle = bundles.write(tmp_path)
    sound, text = bundles.description(tmp_path), bundle.read_text()
    values = tmp_path / "Walk_initial_values.safetensors"
    content = values.read_bytes()
    for rng in tally.cases("mutated LEAPP bundles", 40, 3000):
        values.write_bytes(content)
        bundle.write_text(text)
        how = rng.random()
        if how < 0.6:
            try:
                runs.write(tmp_path, damaged(sound, rng), bundle.name)
            except ValueError:
                continue
        elif how < 0.8:
            bundle.write_text(mutated(text, rng))
        else:
            changed = bytearray(content)
            for _ in range(rng.randint(1, 4)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            values.write_bytes(bytes(changed[: rng.randint(1, len(changed))]))
            try:
                read_safetensors(values)
            except MjrigError:
                pass
            except Exception as error:
                tally.found(f"{type(error).__name__}: {error} in {bytes(changed)!r}")
        wrong = ask([bundle], robot)
        if wrong:
            tally.found(f"{wrong} in {bundle.read_text()!r}")
