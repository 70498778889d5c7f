"""The sabotage table: how often the diagnosis names the mistake that was made."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import mjrig
from mjrig.cli.main import main
from tests.campaign import CAMPAIGN, Tally

pytest.importorskip("onnxruntime", reason="networks need onnxruntime (extra `policy`)")

from tests.plugin.sim2sim.sabotage import (
    MISTAKES,
    ROBOTS,
    Fixture,
    Judged,
    driven_fixture,
    judge,
    shared_fixture,
    walk_fixture,
)
from tests.test_real_transfer import FIXTURES

#: The bars: the true cause is first, among the first three, and a wrong one is claimed.
FIRST, THREE, WRONG = 0.80, 0.90, 0.02
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
    assert (found.what, found.recorded, found.here, found.confident) == ("kv", 5.0, 6.5, True)
    controller.assign({"kv": {"FL_pitch_calf": 6.5, "default": 5.0}})
    found = mjrig.replay(path, mjrig.World(scene)).diagnosis[0]
    assert (found.what, found.where, found.confident) == ("kv", "FL_pitch_calf", True)
    assert set(found.fix[0].value.values()) == {5.0}  # type: ignore[attr-defined]


def fixtures(folder: Path) -> list[Fixture]:
    own = [walk_fixture(), driven_fixture("arm", folder), driven_fixture("humanoid", folder)]
    shared = [shared_fixture(n, folder) for n in FIXTURES] if ROBOTS.is_dir() else []
    return own + shared


@pytest.mark.campaign
@pytest.mark.skipif(not CAMPAIGN, reason="the whole table takes an hour: make campaign")
def test_the_whole_table(tally: Tally, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything = [(f, m) for f in fixtures(tmp_path) for m in MISTAKES]
    rows: list[Judged] = []
    for _ in tally.cases("sabotage", 0, len(everything), minutes=50):
        fixture, mistake = everything[tally.tried - 1]
        folder = tmp_path / str(tally.tried)
        folder.mkdir()
        found = judge(fixture, mistake, folder)
        if found is not None:
            rows.append(found)
    with capsys.disabled():
        print(f"\n{table(rows)}")
    shares = figures(rows)
    if shares[0] < FIRST or shares[1] < THREE or shares[2] > WRONG:
        tally.found(table(rows))


def figures(rows: list[Judged]) -> tuple[float, float, float]:
    """Shares: first, among the first three, wrong with confidence."""
    count = max(len(rows), 1)
    return (
        sum(r.first for r in rows) / count,
        sum(r.near for r in rows) / count,
        sum(bool(r.wrong) for r in rows) / count,
    )


def table(rows: list[Judged]) -> str:
    """The figures of each fixture and of all, and every case that was not named first."""
    names = list(dict.fromkeys(r.fixture for r in rows))
    lines = [f"{'':22}cases  first  three  wrong  CPU of one diagnosis: median, most [s]"]
    for name in [*names, "all"]:
        mine = [r for r in rows if name in (r.fixture, "all")]
        first, near, wrong = figures(mine)
        seconds = sorted(r.seconds for r in mine)
        lines.append(
            f"{name:22}{len(mine):5}  {first:5.0%}  {near:5.0%}  {wrong:5.1%}  "
            f"{seconds[len(mine) // 2]:.1f}, {seconds[-1]:.1f}"
        )
    lines += [f"{r.fixture:22}{r.mistake:32}{r.said[:90]}" for r in rows if not r.first]
    return "\n".join(lines)
