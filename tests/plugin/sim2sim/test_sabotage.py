"""The sabotage table: how often the diagnosis names the mistake that was made."""

from pathlib import Path

import pytest
import yaml

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
    "quaternion order",
    "delay of 1 tick",
    "action scale",
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
    """The figures, and every case that was not named first."""
    first, near, wrong = figures(rows)
    longest = max((r.seconds for r in rows), default=0.0)
    lines = [
        f"{len(rows)} cases: cause first {first:.0%}, in the first three {near:.0%}, "
        f"wrong with confidence {wrong:.1%}; longest {longest:.0f} s of CPU"
    ]
    lines += [f"{r.fixture:22}{r.mistake:32}{r.said[:90]}" for r in rows if not r.first]
    return "\n".join(lines)
