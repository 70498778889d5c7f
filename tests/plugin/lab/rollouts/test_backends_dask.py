"""A real Dask cluster of worker processes, one of which is killed in the middle."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mjrig.lab.rollouts.experiment import Rollout
from mjrig.lab.rollouts.results import TABLE, ResultsFile
from mjrig.lab.rollouts.scenarios import FreeRun
from mjrig.lab.sweep.runner import sweep
from mjrig.lab.sweep.search_space import Choices, Space
from tests.campaign import campaign_only
from tests.plugin.lab.sweep.swept import KP, hinge_scene

distributed = pytest.importorskip("distributed")

WORKERS = 3
SPACE = Space((Choices(KP, tuple(range(20, 60))), Choices("sim.timestep", (0.0005, 0.001))))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.mark.campaign
@campaign_only
def test_a_killed_worker_costs_no_row_and_doubles_none(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    add = ResultsFile.add

    def kill_in_the_middle(self: ResultsFile, outcome: Rollout) -> bool:
        if len(self) >= 5 and not killed:
            with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
                busy = next((w for w, tasks in client.processing().items() if tasks), None)
                if busy is None:  # between two tasks: with the next row
                    return add(self, outcome)
                killed.append(client.run(os.getpid, workers=[busy])[busy])
            os.kill(killed[0], signal.SIGKILL)
        return add(self, outcome)

    monkeypatch.setattr(ResultsFile, "add", kill_in_the_middle)
    path, out = hinge_scene(tmp_path / "home"), tmp_path / "out"
    test = FreeRun(0.5)
    swept = sweep(
        path, SPACE, test, executor="dask", scheduler=cluster.scheduler_address, output=out,
        execution="python",
    )  # fmt: skip
    assert len(killed) == 1
    lines = (out / TABLE).read_text().splitlines()
    tasks = [line.partition(",")[0] for line in lines[1:]]
    assert len(tasks) == len(set(tasks)) == len(swept.results) == 80
    assert {row.status for row in swept.results} == {"ok"}
    assert len(list((tmp_path / "cache" / "mjrig" / "bundles").iterdir())) == 1
    few = Space((Choices(KP, (20, 59)), Choices("sim.timestep", (0.0005,))))
    here = sweep(path, few, test, executor="inline", execution="python")
    there = swept.results.only(row.task for row in here.results)
    assert [row.metrics for row in there] == [row.metrics for row in here.results]
