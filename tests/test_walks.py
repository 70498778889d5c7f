"""Common calls pass through a limited number of modules, and imports form short chains."""

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tests.places import ROOT

TOOLS = ROOT / "tools"
pytestmark = [
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the tests are not in a checkout"),
    pytest.mark.slow,
]

#: The figures that `python tools/walks.py` prints, with a margin of about 2 %.
#: Lower these when the tree gets simpler.
#: Call path: modules, packages, functions, depth.
CALL_BUDGETS = {
    "load": (60, 12, 528, 15),
    "drag": (36, 14, 163, 25),
    "save": (18, 6, 136, 22),
    "fit": (143, 22, 1415, 35),
    "import": (122, 25, 1165, 31),
    "bench": (117, 20, 1140, 41),
}
TREE_BUDGETS = {"import chain": 34, "modules": 580, "lines": 136_800}


@pytest.fixture(scope="module")
def walks() -> Any:
    sys.path.insert(0, str(TOOLS))
    try:
        return import_module("walks")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def call_paths(walks: Any) -> Any:
    return walks.follow_all()


@pytest.mark.parametrize("name", CALL_BUDGETS)
def test_a_call_stays_within_its_budget(call_paths: Any, name: str) -> None:
    figures = call_paths[name].figures
    budgets = zip(figures, CALL_BUDGETS[name], strict=True)
    excess = {k: f"{figures[k]} > {v}" for k, v in budgets if figures[k] > v}
    assert not excess, f"python tools/walks.py --trace {name}"


def test_every_call_has_a_budget(walks: Any) -> None:
    assert list(walks.CALLS) == list(CALL_BUDGETS)


def test_a_call_has_the_same_path_in_every_run(walks: Any, call_paths: Any) -> None:
    assert walks.follow_all(["drag"])["drag"] == call_paths["drag"]


def test_the_source_tree_stays_within_its_budget(walks: Any) -> None:
    figures = walks.measure_tree().figures
    excess = {k: f"{figures[k]} > {v}" for k, v in TREE_BUDGETS.items() if figures[k] > v}
    assert not excess, "python tools/walks.py --trace imports"


# The recorder ---------------------------------------------------------------------------------


def define(module: str, text: str, **names: object) -> dict[str, Any]:
    """The names of a made-up module."""
    names["__name__"] = module
    exec(compile(text, f"{module}.py", "exec"), names)
    return names


#: Two modules of one package, one of another package, and one that is not mjrig's.
LAW = """
def clip(value):
    return min(value, 1)

def factorial(n):
    return n * factorial(n - 1) if n else 1

def fail():
    raise ValueError

def never_called():
    pass
"""
SOLVER = """
def apply(function, *arguments):
    return function(*arguments)
"""
ROBOT = """
def step():
    return apply(clip, 2)

def step_all():
    return sum(clip(x) for x in [3, 4]) + sum([clip(x) for x in [5, 6]])

def run_safely():
    try:
        fail()
    except ValueError:
        return step()

def values():
    try:
        yield clip(1)
    except ValueError:
        yield clip(2)

def interrupt():
    iterator = values()
    next(iterator)
    iterator.throw(ValueError())
    iterator.close()
    return step()

def run_in_thread():
    thread = Thread(target=step)
    thread.start()
    thread.join()

def import_module():
    exec(compile("step()", "new.py", "exec"), {"__name__": "mjrig.new", "step": step})
"""


@pytest.fixture(scope="module")
def robot() -> dict[str, Any]:
    law = define("mjrig.laws.pd", LAW)
    solver = define("solver", SOLVER)
    functions = {name: law[name] for name in ("clip", "fail", "factorial")}
    functions["apply"] = solver["apply"]
    return define("mjrig.robot", ROBOT, Thread=threading.Thread, **functions)


def record(walks: Any, call: Callable[[], object]) -> Any:
    recorder = walks.Recorder()
    recorder.install()
    try:
        recorder.active = True
        call()
        recorder.active = False
    finally:
        recorder.remove()
    return recorder.result()


@pytest.mark.parametrize(
    ("name", "functions", "deepest"),
    [
        ("step", 2, ["robot:step", "laws.pd:clip"]),
        ("step_all", 2, ["robot:step_all", "laws.pd:clip"]),
        ("run_safely", 4, ["robot:run_safely", "robot:step", "laws.pd:clip"]),
        ("interrupt", 4, ["robot:interrupt", "robot:values", "laws.pd:clip"]),
        ("run_in_thread", 3, ["robot:step", "laws.pd:clip"]),
        ("import_module", 1, ["robot:import_module"]),
    ],
)
def test_the_recorder_counts_functions_of_mjrig(
    walks: Any, robot: dict[str, Any], name: str, functions: int, deepest: list[str]
) -> None:
    path = record(walks, robot[name])
    assert path.functions == functions
    assert path.deepest == [f"mjrig.{function}" for function in deepest]
    modules = {function.partition(":")[0] for function in path.deepest}
    assert {visit.module for visit in path.visits} == modules
    assert path.packages == sorted(module.rpartition(".")[0] for module in modules)


def test_each_level_of_a_recursion_is_deeper(walks: Any, robot: dict[str, Any]) -> None:
    path = record(walks, lambda: robot["factorial"](3))
    assert path.figures == {"modules": 1, "packages": 1, "functions": 1, "depth": 4}


def test_only_calls_while_the_recorder_is_active_count(walks: Any, robot: dict[str, Any]) -> None:
    recorder = walks.Recorder()
    recorder.install()
    try:
        robot["step"]()
    finally:
        recorder.remove()
    assert recorder.result() == walks.CallPath()


def test_the_longest_chain_of_imports(walks: Any) -> None:
    imports = [("a", "d"), ("a", "b"), ("b", "c"), ("c", "d"), ("e", "c")]
    assert walks.longest_chain(imports) == ["a", "b", "c", "d"]
    assert walks.longest_chain([]) == []
