"""Sweeps as a whole: points ranked, work that goes on after a kill, values written back."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.lab.rollouts.backends import Inline
from mjrig.lab.rollouts.randomisation import Randomisation
from mjrig.lab.rollouts.results import TABLE
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.runner import sweep
from mjrig.lab.sweep.search_space import Choices, Range, Space
from tests.campaign import CAMPAIGN, Tally
from tests.plugin.lab.sweep.swept import KP, KV, hinge_scene, refused
from tests.wording import matches, mentions

SHORT = FreeRun(0.2)
STIFF = Space((Choices(KP, (20, 40, 80)), Choices(KV, (2, 4))))


def test_the_stiffest_gains_sag_least(tmp_path: Path) -> None:
    swept = sweep(hinge_scene(tmp_path), STIFF, SHORT, executor="inline", workers=1)
    assert len(swept.results) == 6
    assert swept.plan.why_not_batched == ""
    assert swept.best is not None
    assert swept.best.values == {KP: 80, KV: 4}
    assert [r.score for r in swept.ranking] == sorted(r.score for r in swept.ranking)


def test_processes_and_threads_find_the_same_numbers(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    runs = [
        sweep(path, STIFF, SHORT, executor=name, workers=1)
        for name in ("inline", "processes", "threads")
    ]
    first, *others = ([(r.values, r.score) for r in run.ranking] for run in runs)
    assert all(other == first for other in others)


def test_the_scene_that_is_given_stays_as_it_is(tmp_path: Path) -> None:
    scene = mjrig.Scene.load(hinge_scene(tmp_path))
    before = scene.to_text()
    space = Space((Choices("sim.timestep", (0.001, 0.002)), Choices(f"{KP}[swing]", (20, 30))))
    sweep(scene, space, SHORT, executor="inline")
    assert scene.to_text() == before


def test_any_property_can_be_swept(tmp_path: Path) -> None:
    scene = hinge_scene(tmp_path, more="vars: {unused: 1}\n")
    space = Space(
        (
            Choices("sim.timestep", (0.001, 0.002)),
            Choices("arm.joints", ({"swing": 0.0}, {"swing": 1.0})),
            Choices("arm.PDController.decimation", (1, 4)),
        )
    )
    swept = sweep(scene, space, SHORT, executor="inline", randomise=Randomisation(start=0.1))
    assert len({row.metrics["rmse"] for row in swept.results}) == 8
    assert {row.status for row in swept.results} == {"ok"}


def test_structural_values_in_a_batch_have_the_bits_of_a_world_each(tmp_path: Path) -> None:
    space = Space((Choices("arm.PDController.delay.steps", (0, 5)), Choices(KP, (20, 40))))
    scene = hinge_scene(tmp_path)
    one = sweep(scene, space, SHORT, executor="inline", randomise=Randomisation(start=0.1))
    for row in one.results:
        alone = mjrig.Scene.load(scene)
        for name, value in row.values.items():
            alone.set(name, value)
        single = Space((Choices(KP, (row.values[KP],)),))
        again = sweep(alone, single, SHORT, executor="inline", randomise=Randomisation(start=0.1))
        assert [r.metrics for r in again.results] == [row.metrics]


def test_seeds_are_drawn_alike_for_every_point(tmp_path: Path) -> None:
    swept = sweep(
        hinge_scene(tmp_path),
        Space((Choices(KP, (40, 40.0, 41)),)),
        SHORT,
        randomise=Randomisation(mass=(0.5, 2.0)),
        seeds=3,
        executor="inline",
    )
    by_seed = {(r.values[KP], r.seed): r.metrics["rmse"] for r in swept.results}
    assert len(set(by_seed.values())) == 6
    assert sorted(range(3), key=lambda s: by_seed[40, s]) == sorted(
        range(3), key=lambda s: by_seed[41, s]
    )


def test_random_draws_of_the_scene_itself_follow_the_seed(tmp_path: Path) -> None:
    more = "randomise: [{path: arm.PDController.kp, low: 0.5, high: 2, operation: scale}]\n"
    swept = sweep(
        hinge_scene(tmp_path, more=more),
        Space((Choices(KV, (2, 4)),)),
        SHORT,
        seeds=2,
        executor="inline",
    )
    assert len({r.metrics["rmse"] for r in swept.results}) == 4


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    path, out = hinge_scene(tmp_path), tmp_path / "out"
    first = sweep(path, STIFF, SHORT, executor="inline", output=out)
    lines = (out / TABLE).read_text()
    again = sweep(path, STIFF, SHORT, executor="inline", output=out)
    assert (first.kept, again.kept) == (0, 6)
    assert (out / TABLE).read_text() == lines
    assert [r.score for r in again.ranking] == [r.score for r in first.ranking]
    wider = Space((Choices(KP, (20, 40, 80, 160)), Choices(KV, (2, 4))))
    assert sweep(path, wider, SHORT, executor="inline", output=out).kept == 6
    assert (out / TABLE).read_text().startswith(lines)


def test_another_scene_or_test_is_not_mixed_in_by_accident(tmp_path: Path) -> None:
    path, out = hinge_scene(tmp_path), tmp_path / "out"
    sweep(path, STIFF, SHORT, executor="inline", output=out)
    model = tmp_path / "arm.xml"
    model.write_text(model.read_text().replace('mass="1"', 'mass="2"'))
    with refused(f"{out}: holds results of something … --mix"):
        sweep(path, STIFF, FreeRun(0.3), executor="inline", output=out)
    mixed = sweep(path, STIFF, SHORT, executor="inline", output=out, mix=True)
    assert mixed.kept == 0
    assert len((out / TABLE).read_text().splitlines()) == 13


@pytest.mark.campaign
def test_a_killed_sweep_goes_on_and_leaves_nobody_behind(tmp_path: Path, tally: Tally) -> None:
    path = hinge_scene(tmp_path)
    for rng in tally.cases("sweeps killed", 1, 25):
        out, wanted = tmp_path / f"out{tally.tried}", rng.randint(4, 35) if CAMPAIGN else 4
        command = [sys.executable, "-m", "mjrig", "sweep", str(path), "--grid", f"{KP}=20:80:40",
                   "--execution", "python", "--run", "0.5", "--workers", "1",
                   "-o", str(out)]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        table = out / TABLE
        while process.poll() is None and (
            not table.exists() or table.read_bytes().count(b"\n") < wanted
        ):
            Event().wait(0.01)
        process.kill()
        assert process.stdout is not None
        process.stdout.read()  # ends when the last worker has ended, too
        process.stdout.close()
        process.wait()
        before = table.read_text().splitlines()[:-1]
        with table.open("a") as file:
            file.write("torn,li")
        if not wanted - 1 <= len(before) < 41:
            tally.found(f"{len(before)} rows at the kill")
        if main([*command[3:], "--executor", "inline"]) != 0:
            tally.found("does not go on")
        after = table.read_text().splitlines()
        if after[: len(before)] != before:
            tally.found("rows that were there changed")
        if len(after) != 41 or len({line.partition(",")[0] for line in after}) != 41:
            tally.found(f"{len(after) - 1} rows for 40 points")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("arm.PDController.kpp", "PDController has no property 'kpp'; did … 'kp'?"),
        ("leg.PDController.kp", "the scene has no … 'leg'; …"),
        ("arm.PDController.kp[knee]",
         "arm.PDController.kp: 'knee' matches no actuator or … 'arm'; …"),
        ("arm.PDController.decimation[swing]",
         "arm.PDController.decimation[swing]: 'arm.PDController.decimation' is not one "
         "value …"),
    ],
)  # fmt: skip
def test_a_wrong_path_shows_before_the_work_begins(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(mjrig.MjrigError) as caught:
        sweep(hinge_scene(tmp_path), Space((Choices(name, (1, 2)),)), output=tmp_path / "out")
    assert mentions(str(caught.value), message)
    assert not (tmp_path / "out").exists()


def test_a_wrong_value_shows_before_the_work_begins(tmp_path: Path) -> None:
    space = Space(ranges=(Range(KP, -5.0, 5.0),), samples=3)
    with pytest.raises(mjrig.PropertyError, match=r"kp: must be >= 0 N·m/rad, got -5"):
        sweep(hinge_scene(tmp_path), space, SHORT)
    with refused("the number of seeds … >= 1, … 0"):
        sweep(hinge_scene(tmp_path), STIFF, SHORT, seeds=0)


def test_what_fails_in_the_work_is_told_in_its_row(tmp_path: Path) -> None:
    space = Space((Choices("arm.joints", ({"swing": 0.1}, {"swong": 0.1})),))
    swept = sweep(hinge_scene(tmp_path), space, SHORT, executor="inline")
    good, bad = swept.results
    assert (good.status, bad.status) == ("ok", "failed")
    assert bad.error == (
        "<text>:3:5: actors[0].joints: arm.joints: 'swong' matches no hinge or slide joint of "
        "'arm'; did you mean 'swing'?"
    )


def test_a_scene_without_a_controller_has_nothing_to_test(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    path.write_text(path.read_text().partition("    components")[0])
    with refused("no actor of the …"):
        sweep(path, Space((Choices("sim.timestep", (0.001, 0.002)),)), SHORT)


def test_of_two_actors_one_must_be_named_unless_the_parameters_do(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    text = path.read_text()
    actor = text.partition("actors:\n")[2]
    path.write_text(text + actor.replace("name: arm", "name: leg"))
    steps = Space((Choices("sim.timestep", (0.001, 0.002)),))
    with refused("choose the actor under …"):
        sweep(path, steps, SHORT)
    assert sweep(path, steps, SHORT, actor="leg", executor="inline").plan.experiment.actor == "leg"
    stiff = Space((Choices("leg.PDController.kp", (20, 40)),))
    assert sweep(path, stiff, SHORT, executor="inline").plan.experiment.actor == "leg"


def test_any_executor_does(tmp_path: Path) -> None:
    class Remote(Inline):
        """Sees none of the files here, as far as anybody knows."""

        asked = 0

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
            Remote.asked += 1
            return super().submit(fn, *args, **kwargs)

    path = hinge_scene(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        first = sweep(path, STIFF, SHORT, executor=threads)
    second = sweep(path, STIFF, SHORT, executor=Remote())
    assert Remote.asked > 0
    assert [r.score for r in first.ranking] == [r.score for r in second.ranking]


# The command -------------------------------------------------------------------------------------


def run_command(path: Path, *words: str) -> int:
    fast = ["--run", "0.2", "--executor", "inline", "-o", str(path.parent / "out")]
    return main(["sweep", str(path), *fast, *words])


def test_the_command_ranks_and_writes_a_preset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = hinge_scene(tmp_path)
    best = tmp_path / "best.yaml"
    assert run_command(path, "--grid", f"{KP}=20,80", "--best", str(best)) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["points:", "2", "points"]
    at = out.index("best points:")
    assert out[at + 1].split()[:3] == [KP, "objective", "rmse"]
    assert [line.split()[0] for line in out[at + 2 : at + 4]] == ["80", "20"]
    assert f"  {tmp_path / 'out' / 'results.csv'}" in out
    assert best.read_text() == (
        "mjrig_gains: 1\nPDController:\n  kp: {drive: 80}\n  kv: {drive: 4}\n"
        "  torque_limit: {drive: 20}\n"
    )


def test_the_best_values_go_into_a_scene_of_the_same_folder(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    best = tmp_path / "best.yaml"
    grid = ("--grid", f"{KP}[swing]=20,80", "--grid", "sim.timestep=0.001")
    assert run_command(path, *grid, "--best-scene", str(best)) == 0
    found = mjrig.Scene.load(best)
    assert mjrig.World(found)["arm"].controllers[0].gains()["kp"].tolist() == [80.0]
    assert "kv: 4, torque_limit: 20" in best.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to sweep; give --grid, --range … --sample, … --randomise … --seeds"),
        (("--grid", f"{KP}=1,2", "--signal", "steep"),
         "unknown test signal 'steep'; did … 'step'?"),
        (("--grid", f"{KP}=1,2", "--metric", "rise_time"),
         "unknown metric 'rise_time'; available: rmse, worst_rmse, effort, saturation, "
         "travel, fell"),
        (("--grid", f"{KP}=1,2", "--joint", "swing"), "--joint and --together are for --signal"),
        (("--grid", "sim.timestep=0.001,0.002", "--best", "best.yaml"),
         "a preset holds gains … sim.timestep …"),
    ],
)  # fmt: skip
def test_the_command_tells_what_is_wrong_on_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    path = hinge_scene(tmp_path)
    if "--signal" in words:
        code = main(["sweep", str(path), "-o", str(tmp_path / "out"), *words])
    else:
        code = run_command(path, *words)
    assert code == 1
    assert matches(capsys.readouterr().err, f"mjrig: {message}\n")


def test_a_signal_is_swept_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = hinge_scene(tmp_path)
    words = ["--grid", f"{KV}=1,8", "--signal", "step:0.2:0.5", "--metric", "overshoot"]
    code = main(["sweep", str(path), "--executor", "inline", "-o", str(tmp_path / "o"), *words])
    assert code == 0
    out = capsys.readouterr().out.splitlines()
    assert out[out.index("best points:") + 2].split()[0] == "8"


def test_not_one_point_that_works_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = hinge_scene(tmp_path)
    path.write_text(path.read_text().replace("torque_limit: 20", "torque_limit: .inf"))
    code = run_command(path, "--grid", f"{KV}=1e7,1e8", "--randomise", "start=0.1")
    assert code == 1
    assert capsys.readouterr().err == (
        "mjrig: no point succeeded; first error: diverged; all are in "
        f"{tmp_path / 'out' / 'results.csv'}\n"
    )


def test_a_controller_in_a_module_beside_the_scene_is_swept_in_processes(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    (tmp_path / "code.py").write_text(
        "from mjrig.components import PDController\n\n\nclass Mine(PDController):\n    pass\n"
    )
    path.write_text(path.read_text().replace("type: PDController", '"type": "code:Mine"'))
    scene = mjrig.Scene.load(path, trust=True)
    space = Space((Choices("arm.Mine.kp", (20, 80)),))
    runs = [
        sweep(scene, space, SHORT, executor=name, workers=2, mix=True)
        for name in ("inline", "processes")
    ]
    first, second = ([(r.values, r.score) for r in run.ranking] for run in runs)
    assert len(second) == 2
    assert second == first
