"""Edits of values per joint: what they name changes, everything else stays as it resolves."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

import mjrig
from mjrig.core.findings import Finding, Level, Remedy
from mjrig.core.names import literal
from mjrig.core.patterns import Slots
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.lab.findings.remedies import apply
from mjrig.lab.replay.diagnosis.plant_hypotheses import PlantDifference, plant_fix
from mjrig.lab.replay.repairs import edited, resolved, values_edit
from tests.plugin.lab.replay.recorded import BIPED, biped

JOINTS = ("left_hip", "left_knee", "right_hip", "right_knee")
SLOTS = Slots([(j,) for j in JOINTS], "", "joint")
#: Patterns that never disagree about a joint within one tuple.
PATTERNS = (
    (".*_hip",),
    (".*_hip", ".*_knee"),
    ("left_.*", "right_knee"),
    ("left_.*|right_hip",),
    ("left_hip", "right_.*"),
    (".*",),
)


def written(rng: random.Random, *, infinite: bool = False) -> Any:
    """Values per joint in one of the forms a file may have."""

    def number() -> float:
        return math.inf if infinite and rng.random() < 0.3 else rng.choice([5.0, 12.5, 40.0, 80.0])

    form = rng.choice(["nothing", "number", "list", "patterns", "patterns and default", "default"])
    if form == "nothing":
        return None
    if form == "number":
        return number()
    if form == "list":
        return [number() for _ in JOINTS]
    if form == "default":
        return {DEFAULT: number()}
    found = {p: number() for p in rng.choice(PATTERNS)}
    return found if form == "patterns" else {**found, DEFAULT: number()}


@pytest.mark.parametrize("part", range(4))
def test_an_edit_changes_the_named_values_and_no_other(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        check_one_edit(random.Random(seed))


def check_one_edit(rng: random.Random) -> None:
    authored = written(rng)
    before = resolved(authored, SLOTS, 7.0)
    chosen = rng.sample(range(len(JOINTS)), rng.randint(1, len(JOINTS)))
    one = rng.random() < 0.5
    wanted = {i: 33.0 if one else 30.0 + i for i in chosen}
    after = edited(authored, SLOTS, wanted)
    expected = [wanted.get(i, float(v)) for i, v in enumerate(before)]
    assert resolved(after, SLOTS, 7.0).tolist() == expected
    if isinstance(authored, list):
        assert isinstance(after, list)
    if isinstance(authored, dict):  # keys that say nothing about these joints stay as written
        untouched = {
            p: v
            for p, v in authored.items()
            if p != DEFAULT and not set(SLOTS.match(p)) & set(wanted)
        }
        assert untouched.items() <= after.items()
        assert (DEFAULT in authored) == (DEFAULT in after)


def test_the_text_of_an_edit_names_old_and_new_values_of_what_changes() -> None:
    edit = values_edit("scene", "kp", {".*_hip": 60.0, DEFAULT: 40.0}, SLOTS, {1: 45.0}, {1: 40.0})
    assert edit.value == {".*_hip": 60.0, DEFAULT: 40.0, "left_knee": 45.0}
    assert edit.changed == "left_knee 40 → 45"
    whole = dict.fromkeys(range(4), 20.0), dict.fromkeys(range(4), 24.0)
    assert values_edit("scene", "kp", 24.0, SLOTS, *whole).changed == "24 → 20"
    assert values_edit("scene", "kp", 24.0, SLOTS, *whole).value == 20.0


KINDS = ("kp", "kv", "torque_limit", "delay", "armature", "damping", "frictionloss")


def values(world: mjrig.World) -> dict[str, dict[str, float]]:
    found = plant_of(world, world["robot"]).joints
    return {what: dict(found[what]) for what in KINDS}


def scene_of(folder: Path, controller: dict[str, Any], **actor: Any) -> mjrig.Scene:
    (folder / "robot.xml").write_text(BIPED)
    data = {"name": "robot", "model": "robot.xml", "components": [controller], **actor}
    text = yaml.safe_dump({"mjrig": 1, "actors": [data]}, sort_keys=False)
    (folder / "scene.yaml").write_text(text)
    return mjrig.Scene.load(folder / "scene.yaml")


def authored_scene(rng: random.Random, folder: Path) -> mjrig.Scene:
    """A biped whose gains, limits, delay and joints are written in any form."""
    said = {"kp": written(rng) or 80.0, "kv": 3.0, "torque_limit": written(rng, infinite=True)}
    delay = rng.choice([None, 2, [0, 1, 2, 3]])
    if delay is not None:
        said["delay"] = {"steps": delay}
    said = {k: v for k, v in said.items() if v is not None}
    patterns = {p: rng.choice([0.01, 0.05]) for p in rng.choice(PATTERNS)}
    dynamics = {rng.choice(["armature", "damping"]): patterns}
    return scene_of(folder, {"type": "PDController", **said}, dynamics=dynamics)


@pytest.mark.parametrize("seed", range(14))
def test_a_repair_of_a_plant_changes_what_it_says_and_nothing_else(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    scene = authored_scene(rng, tmp_path)
    world = mjrig.World(scene)
    before = values(world)
    what = KINDS[seed % len(KINDS)]
    chosen = rng.sample(JOINTS, rng.randint(1, len(JOINTS)))
    # The model's motors end at 40 N·m: a higher limit is not the controller's to give.
    new = {"delay": 0.008, "torque_limit": 11.0, "armature": 0.03}.get(what, 6.5)
    recorded = {**before[what], **dict.fromkeys(chosen, new)}
    difference = PlantDifference(what, recorded, before[what], tuple(chosen))
    edits = plant_fix(world, world["robot"], difference)
    assert edits
    finding = Finding("kp", Level.WARNING, remedies=(Remedy("", edits),))
    said = apply([finding], scene).lines
    scene.save()
    again = mjrig.World(mjrig.Scene.load(tmp_path / "scene.yaml"))
    expected = {**before, what: recorded}
    assert values(again) == {w: pytest.approx(v) for w, v in expected.items()}
    assert len(said) == len(edits) and all(" → " in line for line in said)


def test_the_fix_of_one_limit_keeps_the_default_of_the_others(tmp_path: Path) -> None:
    limits = {"left_knee": 3.0, DEFAULT: math.inf}
    controller = {"type": "PDController", "kp": 80.0, "torque_limit": limits}
    world = mjrig.World(scene_of(tmp_path, controller))
    here = plant_of(world, world["robot"]).joints["torque_limit"]
    difference = PlantDifference("torque_limit", {**here, "left_knee": 9.0}, here, ("left_knee",))
    (edit,) = plant_fix(world, world["robot"], difference)
    assert edit.value == {"left_knee": 9.0, DEFAULT: math.inf}
    assert edit.changed == "left_knee 3 → 9"


def test_a_limit_of_the_model_below_the_recorded_one_has_no_edit() -> None:
    world = biped()  # motors of 40 N·m
    here = plant_of(world, world["robot"]).joints["torque_limit"]
    difference = PlantDifference("torque_limit", {**here, "left_hip": 90.0}, here, ("left_hip",))
    assert plant_fix(world, world["robot"], difference) == ()


def test_names_that_read_like_patterns_are_escaped() -> None:
    slots = Slots([("m_(0)",), ("m_(1)",)])
    after = edited(4.0, slots, {1: 5.0})
    assert after == {DEFAULT: 4.0, literal("m_(1)"): 5.0}
    assert resolved(yaml.safe_load(yaml.safe_dump(after)), slots, 0.0).tolist() == [4.0, 5.0]
