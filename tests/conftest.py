"""What all tests share."""

import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import wraps
from importlib import import_module
from pathlib import Path

import pytest

# As in the program: BLAS threads of several workers would wait for each other's cores. numpy reads
# it when it is imported; workers and the programs that tests start inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.campaign import CAMPAIGN, PROGRESS, TALLY, Examples, Tally, unfinished

# One GLFW per process: imgui_bundle brings its own and must come before mujoco's.
with suppress(ImportError):
    import_module("imgui_bundle")

#: One hinge with a motor, named so that patterns have something to match.
HINGE = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body name="rod">
      <joint name="swing" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5"/>
    </body>
  </worldbody>
  <actuator><motor name="swing_motor" joint="swing"/></actuator>
  <keyframe><key name="home" qpos="0.5"/></keyframe>
</mujoco>
"""

#: Two legs of two motors, and a tendon that no law can own.
LEGS = """
<mujoco>
  <worldbody>
    <body name="left">
      <joint name="left_hip" axis="0 1 0"/>
      <geom size="0.1"/>
      <body name="left_shin" pos="0 0 -0.3">
        <joint name="left_knee" axis="0 1 0"/>
        <geom size="0.1"/>
      </body>
    </body>
    <body name="right" pos="0 1 0">
      <joint name="right_hip" axis="0 1 0"/>
      <geom size="0.1"/>
      <body name="right_shin" pos="0 0 -0.3">
        <joint name="right_knee" axis="0 1 0"/>
        <geom size="0.1"/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="knees"><joint joint="left_knee" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="left_hip" joint="left_hip"/>
    <motor name="left_knee" joint="left_knee"/>
    <motor name="right_hip" joint="right_hip"/>
    <motor name="right_knee" joint="right_knee"/>
    <motor name="pull" tendon="knees"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0.1 0.2 0.3 0.4"/>
    <key name="crouch" qpos="1 1 1 1"/>
  </keyframe>
</mujoco>
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with `hinge.xml` and `legs.xml`."""
    (tmp_path / "hinge.xml").write_text(HINGE)
    (tmp_path / "legs.xml").write_text(LEGS)
    return tmp_path


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Tally]:
    """Counts the cases of a campaign and what was found."""
    counts = Tally(record_property)
    yield counts
    counts.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off the hundreds of thousands of objects that stay to the end.

    Looking through them again and again takes a third of the time that collecting the tests takes,
    in every worker, and more while they run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, so that no worker ends alone with one (needs --no-loadscope-reorder)."""
    marks = ("slow", "campaign")
    long = {i.path for i in items if any(i.get_closest_marker(mark) for mark in marks)}
    items.sort(key=lambda item: item.path not in long)


def pytest_configure(config: pytest.Config) -> None:
    """A folder for what campaigns have done if they are ended; workers inherit its name."""
    if CAMPAIGN and not hasattr(config, "workerinput"):
        os.environ[PROGRESS] = tempfile.mkdtemp(prefix="campaign-")
        # One that is told to end prints its table, as one that is interrupted does.
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_keyboard_interrupt() -> None:
    """What fails from here on would keep the table from being printed."""
    Tally.is_ended = True


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it."""
    if CAMPAIGN and not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(PROGRESS, ""), ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Give a Hypothesis test of a campaign its time limit, and count its examples."""
    made = getattr(getattr(item, "obj", None), "hypothesis", None)
    if not CAMPAIGN or made is None or item.get_closest_marker("campaign") is None:
        return (yield)
    name, whole = item.name.removeprefix("test_").replace("_", " "), made.inner_test
    examples = Examples(name, whole)

    @wraps(whole)
    def limited(*given: object, **more: object) -> None:
        examples(*given, **more)

    made.inner_test = limited
    failed = True
    try:
        done = yield
        failed = False
    finally:
        made.inner_test = whole
        item.user_properties.append((TALLY, (name, examples.tried, int(failed))))
    return done


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what every campaign tried and found, also what was ended before its end."""
    reports = [
        report
        for found in terminalreporter.stats.values()
        for report in found
        if isinstance(report, pytest.TestReport)
    ]
    rows = [
        tuple(value)
        for report in reports
        if report.when == "teardown"
        for key, value in report.user_properties
        if key == TALLY and isinstance(value, (tuple, list))
    ]
    if CAMPAIGN:
        rows += _without_tally(reports)
    done = {name for name, _, _ in rows}
    cut = unfinished(os.environ[PROGRESS], done) if PROGRESS in os.environ else []
    rows += [(f"{name} (ended before its time)", tried, len(found)) for name, tried, found in cut]
    width = max((len(name) for name, _, _ in rows), default=0)
    if rows:
        terminalreporter.section("campaigns")
        terminalreporter.line(f"{'campaign':<{width}}{'cases':>9}{'findings':>10}")
    for name, cases, findings in sorted(rows):
        terminalreporter.line(f"{name:<{width}}{cases:>9}{findings:>10}")
    for name, _, found in cut:
        for text in found:
            terminalreporter.line(f"{name}: {text}")


def _without_tally(reports: list[pytest.TestReport]) -> list[tuple[str, int, int]]:
    """Tests that are long but count nothing: each function is a campaign, each call a case."""
    tests: dict[str, set[str]] = {}
    counted = {r.nodeid for r in reports if any(key == TALLY for key, _ in r.user_properties)}
    failed = {r.nodeid for r in reports if r.failed}
    for report in reports:
        is_campaign = "campaign" in report.keywords and report.outcome != "skipped"
        if is_campaign and report.when == "call" and report.nodeid not in counted:
            tests.setdefault(report.nodeid.partition("[")[0], set()).add(report.nodeid)
    return [
        (name.rpartition("::test_")[2].replace("_", " "), len(ids), len(ids & failed))
        for name, ids in tests.items()
    ]


def _missing(text: str) -> str:
    """The reason to skip what failed for want of a package, where `make dist` tries the wheel."""
    if not os.environ.get("MJRIG_WHEEL"):
        return ""
    found = re.search(r"needs the extra '\w+'|No module named '(?!mjrig|tests)[\w.]+'", text)
    return f"the wheel alone: {found[0]}" if found else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and (reason := _missing(f"{report.longreprtext}\n{report.capstderr}")):
        report.outcome = "skipped"
        report.longrepr = str(item.path), item.location[1] or 0, reason
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.failed and (reason := _missing(report.longreprtext)):
        report.outcome, report.result = "skipped", []
        report.longrepr = str(collector.path), 0, reason
    return report
