"""Imports with a mistake and without a recording: never a wrong cause, at most `unclear`."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
import yaml

from mjrig.components.importers.policy_import import Imported, import_policy
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.core.errors import MjrigError
from mjrig.lab.replay.diagnosis.order_hypotheses import mirrored
from tests.campaign import SEED, Tally
from tests.places import ASSETS
from tests.plugin.lab.replay.sabotage.policy_mistakes import spread
from tests.test_real_transfer import FIXTURES, ROBOTS

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")
#: Robots that can fall, so that a run tells something; those of other projects need ../shared.
NAMES = ["walk", "urlgym_g1", "rlsar_go2_robotlab", "pg_go1", "booster_t1"]
KINDS = ["shuffled", "two joints", "sides", "scale", "default", "rate"]


def imported(name: str, scene: Path, said: Overrides, *, probe: bool = True) -> Imported:
    if name == "walk":
        files, network = [ASSETS / "walk" / "policy.yaml"], None
        model = ASSETS / "quadruped" / "quadruped.xml"
    else:
        files = [ROBOTS / "configs" / config for config in FIXTURES[name].configs]
        network = ROBOTS / "policies" / f"{name}.onnx"
        model = ROBOTS / "models" / FIXTURES[name].model / "scene.xml"
    return import_policy(files, network, model, scene, overrides=said, probe=probe)


@dataclass(frozen=True)
class WrongImport:
    """What a user gave that is wrong; `joints` are the right ones, empty if theirs are right."""

    text: str
    said: Overrides
    joints: tuple[str, ...] = ()


def drawn(rng: Random, right: dict[str, object], kind: str) -> WrongImport:
    """A mistake in what a user overrides."""
    joints = tuple(str(j) for j in right["joints"])  # type: ignore[attr-defined]
    action = right.get("action") or {}
    scale = spread(right, action.get("scale", 1.0))  # type: ignore[attr-defined]
    factor = rng.choice([rng.uniform(0.3, 0.7), rng.uniform(1.5, 3.0)])
    if kind == "scale":
        return WrongImport(
            f"scale × {factor:.2f}", Overrides(scale=tuple(s * factor for s in scale))
        )
    if kind == "default":
        pose = [v + rng.uniform(-0.4, 0.4) for v in spread(right, right.get("default", 0.0))]
        return WrongImport("default pose", Overrides(default=tuple(pose)))
    if kind == "rate":
        hertz = 1.0 / (float(right["timestep"]) * int(right["decimation"]))  # type: ignore[arg-type]
        return WrongImport("rate × 2", Overrides(rate=2.0 * hertz))
    order = list(range(len(joints)))
    sides = mirrored(joints, "left and right")
    if kind == "shuffled":
        rng.shuffle(order)
    elif kind == "sides" and sides is not None:
        order = [int(i) for i in sides]
    else:
        a, b = rng.sample(order, 2)
        order[a], order[b] = order[b], order[a]
    wrong = tuple(joints[i] for i in order)
    return WrongImport(kind, Overrides(joints=wrong), joints)


@pytest.mark.campaign
def test_a_wrong_import_is_unclear_or_its_order_is_named_rightly(
    tally: Tally, tmp_path: Path
) -> None:
    names, told = NAMES if ROBOTS.is_dir() else NAMES[:1], []
    for rng in tally.cases("wrong imports", 1, 20, minutes=30):
        number = tally.tried - 1
        # Every kind comes in turn; the robot and the size are drawn.
        name, kind = rng.choice(names) if number else "walk", KINDS[(number + SEED) % len(KINDS)]
        folder = tmp_path / str(number)
        right = imported(name, folder / "right" / "scene.yaml", Overrides(), probe=False)
        case = drawn(rng, yaml.safe_load(right.policy.read_text()), kind)
        try:
            found = imported(name, folder / "wrong" / "scene.yaml", case.said)
        except MjrigError as error:
            told.append(f"{name}: {case.text}: refused: {error}")
            continue
        codes = {f.kind: f for f in found.findings}
        named = codes.get("order-probe")
        outcome = "unclear" if "unclear" in codes else "nothing" if named is None else named.fix
        told.append(f"{name}: {case.text}: {outcome}")
        if named is not None and named.fix != f"--joints {','.join(case.joints)}":
            tally.found(told[-1])
    assert told
    print("\n".join(told))
