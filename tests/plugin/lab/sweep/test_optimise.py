"""Searches: the best is found, studies go on, and are never mixed by accident."""

from pathlib import Path

import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.lab.rollouts.results import TABLE
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.search_space import Choices, Parameter, Range
from tests.plugin.lab.sweep.swept import KP, KV, hinge_scene, refused

pytest.importorskip("optuna")
from mjrig.lab.sweep.optimisation import optimise
from tests.wording import regex

SHORT = FreeRun(0.2)
#: Sag falls with kp, effort weighs little: the best is at the stiff end.
STIFF: list[Parameter] = [Range(KP, 10.0, 100.0, log=True)]


@pytest.mark.parametrize("sampler", ["tpe", "cmaes", "random"])
def test_a_search_finds_the_stiff_end(tmp_path: Path, sampler: str) -> None:
    if sampler == "cmaes":
        pytest.importorskip("cmaes")
    parameters: list[Parameter] = [*STIFF, Range(KV, 2.0, 6.0)]
    found = optimise(
        hinge_scene(tmp_path), parameters, SHORT, trials=30, sampler=sampler, executor="inline"
    )
    assert len(found.study.trials) == len(found.ranking) == 30
    assert found.best == found.ranking[0].values
    assert found.best[KP] > 70.0


def test_the_score_is_the_one_a_sweep_finds(tmp_path: Path) -> None:
    from mjrig.lab.sweep.runner import sweep
    from mjrig.lab.sweep.search_space import Space

    path = hinge_scene(tmp_path)
    found = optimise(path, STIFF, SHORT, trials=5, executor="inline")
    value = found.best[KP]
    swept = sweep(path, Space((Choices(KP, (value,)),)), SHORT, executor="inline")
    assert swept.ranking[0].score == found.study.best_value


def test_one_worker_and_one_seed_give_the_same_trials(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    first, second, other = (
        [
            t.params
            for t in optimise(
                path, STIFF, SHORT, trials=6, seed=seed, executor="inline"
            ).study.trials
        ]
        for seed in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["", "sqlite:///{folder}/study.db", "{folder}/own.journal"])
def test_a_study_goes_on_where_it_ended(tmp_path: Path, storage: str) -> None:
    path, where = hinge_scene(tmp_path), storage.format(folder=tmp_path)
    out = tmp_path / "out"
    for trials in (4, 7, 7):
        found = optimise(
            path, STIFF, SHORT, trials=trials, storage=where, output=out, executor="inline"
        )
        assert len(found.study.trials) == trials
        assert len((out / TABLE).read_text().splitlines()) == trials + 1


def test_a_study_shared_by_two_has_the_trials_of_both(tmp_path: Path) -> None:
    path, where = hinge_scene(tmp_path), str(tmp_path / "shared.journal")
    for name, trials in (("a", 3), ("b", 5)):
        out = tmp_path / name
        found = optimise(
            path, STIFF, SHORT, trials=trials, storage=where, output=out, executor="inline"
        )
    assert len(found.study.trials) == 5
    assert len(found.results) == 2
    assert found.best == found.ranking[0].values
    assert found.ranking[0].score == found.study.best_value


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    path, where = hinge_scene(tmp_path), str(tmp_path / "a.journal")
    optimise(path, STIFF, SHORT, trials=1, storage=where, executor="inline")
    with refused("the study 'mjrig' has another … --mix"):
        optimise(path, STIFF, SHORT, objective="effort", storage=where, executor="inline")


def test_what_diverges_counts_as_infinitely_bad_and_the_search_goes_on(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    path.write_text(path.read_text().replace("torque_limit: 20", "torque_limit: .inf"))
    kinds: list[Parameter] = [Choices(KV, (4, 1e7)), *STIFF]
    found = optimise(path, kinds, SHORT, trials=12, executor="inline", sampler="random")
    assert found.best[KV] == 4
    problems = [t.user_attrs["problem"] for t in found.study.trials if t.user_attrs]
    assert set(problems) == {"diverged"}


def test_a_trial_is_the_mean_over_its_seeds(tmp_path: Path) -> None:
    from mjrig.lab.rollouts.randomisation import Randomisation

    found = optimise(
        hinge_scene(tmp_path),
        STIFF,
        SHORT,
        trials=3,
        seeds=2,
        randomise=Randomisation(mass=(0.5, 2.0)),
        executor="inline",
    )
    assert len(found.results) == 6
    best = found.ranking[0]
    assert found.study.best_value == best.score
    assert best.score == pytest.approx(sum(r.metrics["rmse"] for r in best.rows) / 2)


def test_structural_parameters_are_searched_too(tmp_path: Path) -> None:
    kinds: list[Parameter] = [Range("arm.PDController.delay.steps", 0, 3, whole=True), *STIFF]
    found = optimise(hinge_scene(tmp_path), kinds, SHORT, trials=4, executor="threads", workers=2)
    assert {row.status for row in found.results} == {"ok"}
    assert all(isinstance(t.params[kinds[0].name], int) for t in found.study.trials)


def test_wrong_searches_are_refused(tmp_path: Path) -> None:
    path = hinge_scene(tmp_path)
    with refused("unknown sampler 'tpee'; did you … 'tpe'?"):
        optimise(path, STIFF, SHORT, sampler="tpee")
    with refused("nothing to search; give …"):
        optimise(path, [], SHORT)
    with refused("the number of trials … >= 1, … 0"):
        optimise(path, STIFF, SHORT, trials=0)
    with pytest.raises(mjrig.MjrigError, match=regex("the study 'mjrig' cannot be …")):
        optimise(path, STIFF, SHORT, storage="nothing://here")


def test_the_command_searches_and_writes_the_best(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, best = hinge_scene(tmp_path), tmp_path / "best.yaml"
    code = main(
        ["optimise", str(path), "--range", f"{KP}=10:100:log", "--run", "0.2", "--trials", "6",
         "--executor", "inline", "-o", str(tmp_path / "out"), "--best", str(best)]
    )  # fmt: skip
    assert code == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("Search of scene.yaml: best rmse ")
    assert out[1].split() == ["trials:", "6"]
    assert out[-1] == f"  best gains: {best}"
    assert best.read_text().startswith("mjrig_gains: 1\nPDController:\n")
