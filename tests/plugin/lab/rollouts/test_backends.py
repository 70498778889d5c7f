"""Who works on tasks: every task is taken once, whatever happens to the workers."""

import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

import mjrig
from mjrig.lab.rollouts import worker
from mjrig.lab.rollouts.backends import Inline, Pool, drive, open_pool
from tests.patience import PATIENCE
from tests.plugin.lab.sweep.swept import refused

Taken = list[str]


def run(
    pool: Pool, pieces: list[list[str]], work: Callable[[Pool, list[str]], "Future[Any]"]
) -> tuple[Taken, dict[str, str]]:
    taken: Taken = []
    given_up: dict[str, str] = {}
    feed = iter(pieces)

    def give_up(task: str, why: str) -> str:
        given_up[task] = why
        return task

    for found in drive(pool, lambda: next(feed, None), work, give_up):
        taken.extend(found)
    return [task for task in taken if task not in given_up], given_up


def echo(pool: Pool, piece: list[str]) -> "Future[Any]":
    return pool.executor.submit(list, piece)


def deadly(pool: Pool, piece: list[str]) -> "Future[Any]":
    """A piece with `bad` in it ends its worker."""
    return pool.executor.submit(os._exit, 1) if "bad" in piece else echo(pool, piece)


@pytest.mark.parametrize("name", ["inline", "threads"])
def test_every_piece_is_taken_once(name: str) -> None:
    with open_pool(name, 2) as pool:
        taken, given_up = run(pool, [["a", "b"], ["c"], ["d"]], echo)
    assert sorted(taken) == ["a", "b", "c", "d"]
    assert given_up == {}


def test_a_task_that_ends_its_worker_is_given_up_and_the_rest_goes_on() -> None:
    pieces = [["a"], ["b", "bad", "c"], ["d"], ["e"], ["f"]]
    with open_pool("processes", 2) as pool:
        taken, given_up = run(pool, pieces, deadly)
    assert sorted(taken) == ["a", "b", "c", "d", "e", "f"]
    assert given_up == {"bad": "its worker died on every attempt"}


def test_a_worker_that_is_lost_once_costs_nothing_but_time() -> None:
    deaths: list[str] = []

    def once(pool: Pool, piece: list[str]) -> "Future[Any]":
        if "b" in piece and not deaths:
            deaths.append("b")
            return pool.executor.submit(os._exit, 1)
        return echo(pool, piece)

    with open_pool("processes", 1) as pool:
        taken, given_up = run(pool, [["a"], ["b"], ["c"]], once)
    assert (sorted(taken), given_up) == (["a", "b", "c"], {})


def test_an_executor_that_breaks_when_work_is_handed_out_is_replaced() -> None:
    class Breaks(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
            raise BrokenProcessPool("gone")

    pool = Pool(Breaks(), lambda: 1, renew=Inline)
    assert run(pool, [["a"], ["b"]], echo) == (["a", "b"], {})


def test_a_broken_executor_of_somebody_else_is_the_end() -> None:
    def broken(pool: Pool, piece: list[str]) -> "Future[Any]":
        raise BrokenProcessPool("gone")

    with (
        open_pool(Inline()) as pool,
        refused("the executor broke: a …"),
    ):
        run(pool, [["a"]], broken)


def test_an_error_on_the_way_is_told_after_a_second_try() -> None:
    def failing(pool: Pool, piece: list[str]) -> "Future[Any]":
        return pool.executor.submit(int, "x") if "bad" in piece else echo(pool, piece)

    with open_pool("inline") as pool:
        taken, given_up = run(pool, [["a", "bad"]], failing)
    assert taken == ["a"]
    assert given_up == {"bad": "ValueError: invalid literal for int() with base 10: 'x'"}


def test_a_piece_that_is_not_taken_is_handed_out_again() -> None:
    asked: list[str] = []

    def nothing_at_first(pool: Pool, piece: list[str]) -> "Future[Any]":
        asked.extend(piece)
        return echo(pool, piece if len(asked) > 1 else [])

    with open_pool("inline") as pool:
        assert run(pool, [["a"]], nothing_at_first) == (["a"], {})
    assert asked == ["a", "a"]


def test_an_executor_of_somebody_else_stays_open() -> None:
    with ThreadPoolExecutor(1) as own:
        with open_pool(own) as pool:
            assert pool.workers() == 1
        assert own.submit(len, "abc").result() == 3


def test_wrong_executors_are_refused() -> None:
    with refused("unknown executor 'process'; did you … 'processes'?"), open_pool("process"):
        pass
    with refused("the number of workers … >= 1, … 0"), open_pool("threads", 0):
        pass
    message = "the executor dask needs … tcp://192.168.1.5:8786"
    with refused(message), open_pool("dask"):
        pass
    with refused("a scheduler is for …"):
        with open_pool("threads", scheduler="tcp://x:1"):
            pass


def test_a_missing_dask_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(mjrig.MissingExtraError, match="mjrig\\[cluster\\]"):
        with open_pool("dask", scheduler="tcp://127.0.0.1:1"):
            pass


def test_tasks_on_threads_are_quiet_and_the_log_goes_on_afterwards(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Blocks that overlap in two threads: neither ends the quiet of the other, nor keeps it."""
    logger = logging.getLogger("mjrig")
    inside, may_end = threading.Event(), threading.Event()

    def task() -> None:
        with worker._quiet():
            inside.set()
            may_end.wait(PATIENCE)
            logger.warning("from the task")

    with worker._quiet():
        other = threading.Thread(target=task)
        other.start()
        inside.wait(PATIENCE)
        logger.warning("from here")
    logger.warning("loud again")
    may_end.set()
    other.join()
    logger.warning("and still")
    assert [r.message for r in caplog.records] == ["loud again", "and still"]
