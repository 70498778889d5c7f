"""The sabotage table: how often the diagnosis names the mistake that was made."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from mjrig.lab.replay.diagnosis.order_hypotheses import shifted
from tests.campaign import CAMPAIGN, SEED, Tally
from tests.places import ROOT

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")

from tests.plugin.lab.replay.sabotage.fixtures import (
    MAKERS,
    ROBOTS,
    Fixture,
    available,
    shared_fixture,
    walk_fixture,
)
from tests.plugin.lab.replay.sabotage.judging import (
    FIRST,
    THREE,
    WRONG,
    Judged,
    figures,
    judge,
    table,
)
from tests.plugin.lab.replay.sabotage.policy_mistakes import policy
from tests.plugin.lab.replay.sabotage.running import CaseLog, Run, drawn_cases
from tests.plugin.lab.replay.sabotage.sabotaged import Sabotaged, plain
from tests.plugin.lab.replay.sabotage.table import MISTAKES

needs_shared = pytest.mark.skipif(
    not ROBOTS.is_dir(), reason="needs the robots of ../shared beside the checkout"
)
#: In `make test`: the cheap ones, one of each stage.
SHORT = (
    "kp of one joint",
    "torque limit in the recording, not listed",
    "quaternion order",
    "delay of 1 tick",
    "action scale",
    "action filter in the recording",
    "action clip",
    "action offset",
    "observation clip",
    "order of terms",
    "velocities in degrees",
    "default pose",
    "scale of joint velocities",
    "scale of the command",
    "gait period",
    "decimation",
    "length of the stand",
    "first tick",
    "gait offset",
    "scale of one velocity",
    "action scale of one joint",
    "precision of the state",
    "precision of the controller",
    "another network",
    "lost setpoints",
)


@pytest.mark.parametrize("mistake", SHORT)
def test_a_mistake_is_named_first(mistake: str, tmp_path: Path) -> None:
    found = judge(walk_fixture(), mistake, tmp_path)
    assert found is not None and found.first, found


def test_the_fix_makes_the_edit_and_prints_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixture = walk_fixture()
    case = MISTAKES["scale of joint velocities"][1](fixture, tmp_path)
    assert case is not None and case.policy is not None
    scene, actor = tmp_path / "scene.yaml", case.scene.actors[0]
    case.scene.set(f"{actor.name}.model", str((case.scene.base / str(actor.model)).resolve()))
    case.scene.save(scene)
    command = ["replay", str(fixture.recording.path), "--scene", str(scene), "--mode", "policy"]
    assert main([*command, "--trials", "0", "--fix"]) == 0
    assert "observation.terms[4].scale: 0.1 → 0.05" in capsys.readouterr().err
    terms = yaml.safe_load(case.policy.read_text())["observation"]["terms"]
    assert terms[4]["scale"] == 0.05
    assert main([*command, "--trials", "0", "--fix"]) == 0
    assert "nothing to fix" in capsys.readouterr().err


def test_only_the_commands_that_were_given_tell_their_scale(tmp_path: Path) -> None:
    case = MISTAKES["scale of one command"][1](walk_fixture(), tmp_path)
    assert case is not None
    found = case.run().diagnosis[0]
    assert (found.kind, found.where) == ("command scale", "CommandTerm: vx")
    assert "unknown for vy, wz" in found.text
    assert found.edits[0].value == [2.0, 2.0, 1.0]
    assert found.edits[0].changed == "vx 1 → 2"


@needs_shared
@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("urllab_g1_velocity", "history fill"),
        ("rlsar_go2_robotlab", "gains of the stand"),
        ("urlgym_g1", "target of the stand"),
        ("urlgym_g1", "gait clock"),
    ],
)
def test_what_rules_before_the_first_tick_is_named(name: str, mistake: str, tmp_path: Path) -> None:
    found = judge(shared_fixture(name, tmp_path), mistake, tmp_path)
    assert found is not None and found.first, found


def beside_the_table(name: str, folder: Path) -> Sabotaged:
    """Mistakes that look like others."""
    fixture = walk_fixture()
    edits: dict[str, Any] = {
        "positions that are not relative": ("JointPositions", {"relative": False}),
        "gravity with the other sign": ("ProjectedGravity", {"scale": -1.0}),
        "a command that is not seen": ("CommandTerm", {"scale": [0.0, 2.0, 1.0]}),
        "a clip of one term": ("BaseAngularVelocity", {"clip": 0.05}),
        "a term that is late here": ("JointPositions", {"delay": 2}),
    }
    if name in edits:
        kind, change = edits[name]

        def edit(data: dict[str, Any], fixture: Fixture) -> None:
            for term in data["observation"]["terms"]:
                if term["type"] == kind:
                    term.update(change)

        found = policy(edit)(fixture, folder)
        assert found is not None
        return found
    actor, ticks = fixture.actor, fixture.actor.policy
    assert ticks is not None
    rng = np.random.default_rng(0)
    noise = (1.0 + 0.01 * rng.standard_normal(ticks.observation.shape)).astype(np.float32)
    changed: dict[str, Any] = {
        "noise in the observations": {"observation": ticks.observation * noise},
        "observations backwards": {"observation": ticks.observation[:, ::-1].copy()},
        "actions after a scale": {"action": ticks.action * np.float32(0.25)},
        "actions one tick late": {"action": np.roll(ticks.action, 1, axis=0)},
        "commands that were not recorded": {"command": np.zeros_like(ticks.command)},
    }
    other = replace(actor, policy=replace(ticks, **changed[name]))
    recording = replace(fixture.recording, actors={actor.name: other}, states=None)
    return replace(plain(fixture), recording=recording, mode="policy")


@pytest.mark.parametrize(
    ("name", "claimed"),
    [
        ("positions that are not relative", "observation offset"),
        ("gravity with the other sign", "observation scale"),
        ("a command that is not seen", "command scale"),
        ("a clip of one term", "observation clip"),
        ("a term that is late here", "observation latency"),
        ("noise in the observations", ""),
        ("observations backwards", ""),
        ("actions after a scale", "recorded actions"),
        ("actions one tick late", ""),
        ("commands that were not recorded", "recorded commands"),
    ],
)
def test_what_is_beside_the_table_is_not_taken_for_something_in_it(
    name: str, claimed: str, tmp_path: Path
) -> None:
    result = beside_the_table(name, tmp_path).run()
    assert [f.kind for f in result.diagnosis if f.is_cause] == ([claimed] if claimed else [])


def test_precision_is_told_where_actions_reach_their_clip(tmp_path: Path) -> None:
    def edit(data: dict[str, Any], fixture: Fixture) -> None:
        assert fixture.actor.policy is not None
        most = float(np.abs(fixture.actor.policy.action).max())
        data["action"] |= {"clip": [-most, most], "dtype": "float64"}

    case = policy(edit)(walk_fixture(), tmp_path)
    assert case is not None
    found = case.run().diagnosis
    assert [(f.kind, f.where, f.is_cause) for f in found] == [("precision", "action.dtype", True)]


def test_late_setpoints_are_named_whatever_else_is_wrong(tmp_path: Path) -> None:
    steps = 27
    case = MISTAKES["kp of all"][1](walk_fixture(), tmp_path)
    assert case is not None
    case.recording = shifted(case.recording, steps)
    found = case.run().diagnosis[0]
    assert (found.kind, found.expected) == ("tick phase", f"{steps} physics steps later")
    assert found.is_cause


def test_a_run_that_differs_without_a_finding_does_not_transfer_silently() -> None:
    fixture = walk_fixture()
    noise = 1e-3 * np.random.default_rng(0).standard_normal(fixture.actor.qpos.shape)
    actor = replace(fixture.actor, qpos=fixture.actor.qpos + noise)
    recording = replace(fixture.recording, actors={actor.name: actor}, states=None)
    result = mjrig.replay(recording, mjrig.World(fixture.scene), "policy", trials=1)
    assert not any(f.share for f in result.diagnosis)
    assert result.verdict == "differs, cause unknown"
    assert any(n.startswith("not judged: ") for n in result.notes)


def test_gains_of_a_policy_that_stands_are_not_taken_for_the_robots(tmp_path: Path) -> None:
    fixture = walk_fixture()
    data: dict[str, Any] = {**fixture.said, "start": {"duration": 0.1, "kp": 80.0, "kv": 8.0}}
    data["network"] = str(Path(data["network"]).resolve())
    file, path = tmp_path / "policy.yaml", tmp_path / "run.npz"
    file.write_text(yaml.safe_dump(data))
    scene = mjrig.Scene.load(fixture.scene)
    actor = scene.actors[0]
    policy = next(c for c in actor.components if type(c).__name__ == "Policy")
    policy.assign({"file": str(file)})
    world = mjrig.World(scene)
    with mjrig.Recorder(world, path):
        world.step(400)
    assert mjrig.replay(path, mjrig.World(scene)).bit_exact
    controller = next(c for c in actor.components if hasattr(c, "kp"))
    controller.assign({"kv": 6.5})
    found = mjrig.replay(path, mjrig.World(scene)).diagnosis[0]
    assert (found.kind, found.expected, found.here, found.is_cause) == ("kv", 5.0, 6.5, True)
    controller.assign({"kv": {"FL_pitch_calf": 6.5, "default": 5.0}})
    found = mjrig.replay(path, mjrig.World(scene)).diagnosis[0]
    assert (found.kind, found.where, found.is_cause) == ("kv", "FL_pitch_calf", True)
    assert set(found.edits[0].value.values()) == {5.0}  # type: ignore[attr-defined]


@pytest.mark.campaign
@pytest.mark.skipif(not CAMPAIGN, reason="the whole table takes an hour: make campaign")
@pytest.mark.parametrize("name", MAKERS)
def test_the_whole_table(
    name: str, tally: Tally, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name not in available():
        pytest.skip("needs the robots of ../shared beside the checkout")
    cases, run = drawn_cases([name], 1.0, 0), Run(tmp_path, CaseLog(out("sabotage.jsonl")))
    rows = []
    for _ in tally.cases(f"sabotage: {name}", 0, len(cases), minutes=50):
        rows.append(run.table(cases[tally.tried - 1]))
    shares = shown([r for r in rows if r is not None], capsys)
    if shares[0] < FIRST or shares[1] < THREE or shares[2] > WRONG:
        tally.found("see the table above")


@pytest.mark.campaign
@pytest.mark.skipif(not CAMPAIGN, reason="takes several minutes: make campaign")
def test_mistakes_that_the_table_does_not_have(
    tally: Tally, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, CaseLog(out("sabotage_drawn.jsonl")))
    rows = []
    for _ in tally.cases("sabotage: drawn at random", 0, 100, minutes=30):
        rows.append(run.drawn(tally.tried - 1, SEED)[1])
    shares = shown([r for r in rows if r is not None], capsys)
    if shares[2] > WRONG:
        tally.found("see the table above")


def out(name: str) -> Path:
    """Where a campaign logs its cases."""
    path = ROOT / "out" / name
    path.parent.mkdir(exist_ok=True)
    return path


def shown(rows: list[Judged], capsys: pytest.CaptureFixture[str]) -> tuple[float, float, float]:
    """Print the figures, and return them."""
    with capsys.disabled():
        print(f"\n{table(rows)}")
    return figures(rows)
