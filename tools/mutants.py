"""Change the numbers of a package one at a time, and run the tests that execute them.

    python tools/mutants.py lab/rollouts               # constants: twice and half as large
    python tools/mutants.py core/patterns.py --logic   # comparisons, signs, and/or, off by one
    python tools/mutants.py lab/rollouts --inline      # also numbers inside functions
    python tools/mutants.py lab/rollouts lab/gains --report    # only the table of earlier results

No source file changes: an import hook, active in the process of the tests and in its children,
compiles the module with the change. A first run with probes finds out which tests execute the
statements that read a constant. Both are kept in out/mutants, so an interrupted run continues
where it ended; a mutant that survived is tried again when its tests change. Numbers that decide
nothing (protocols, layout, documented defaults) are declared in tools/mutants_exempt.toml.
"""

import argparse
import ast
import fnmatch
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation_hook import PLAN, Point, Tracker, install, points

ROOT = Path(__file__).resolve().parent.parent
#: The folders of mjrig's code and the names they are imported by.
FOLDERS = {"plugin": "mjrig", "components": "mjrig.components", "editor": "mjrig.editor"}
#: Imported once, before the process of the tests forks. imgui_bundle brings the GLFW to be used.
COMMON = ("imgui_bundle", "numpy", "mujoco", "yaml", "hypothesis", "pytest", "h5py", "numba")


# Finding what reads a constant ------------------------------------------------------------------


@dataclass
class Source:
    """A module: its file, its tree and how far each node is inside functions and classes."""

    name: str
    path: Path
    tree: ast.Module = field(init=False)
    #: Every node's parent.
    parents: dict[ast.AST, ast.AST] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.path.read_bytes())
        nodes = ast.walk(self.tree)
        self.parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (above := self.parents.get(node)) is not None:
            yield above
            node = above


Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Stands for the statements of a cached function: the test that runs them is not the only one.
CACHED = ("", 0, 0)
Symbol = tuple[str, str]  # module and name; ("", name) is an attribute of anything


def readers(sources: Sequence[Source], symbols: Iterable[Symbol]) -> set[tuple[str, int, int]]:
    """Statements (module, line, column) that run when one of these names is read."""
    statements: set[tuple[str, int, int]] = set()
    seen: set[Symbol] = set()
    waiting = list(symbols)
    while waiting:
        symbol = waiting.pop()
        if symbol in seen:
            continue
        seen.add(symbol)
        module, name = symbol
        for source in sources:
            for node in ast.walk(source.tree):
                if isinstance(node, ast.ImportFrom) and module and node.module == module:
                    names = [a.asname or a.name for a in node.names if a.name == name]
                    waiting += [(source.name, alias) for alias in names]
                is_name = isinstance(node, ast.Name) and node.id == name and source.name == module
                is_attribute = isinstance(node, ast.Attribute) and node.attr == name
                if (is_name or is_attribute) and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                    waiting += _read(source, node, statements)
    return statements


def _read(source: Source, node: ast.AST, found: set[tuple[str, int, int]]) -> list[Symbol]:
    """Add the statement that reads a name; return names that get their value from it."""
    above = [node, *source.above(node)]
    functions = [n for n in above if isinstance(n, Functions)]
    statement = next(n for n in above if isinstance(n, ast.stmt))
    if any("cache" in ast.unparse(d) for f in functions for d in f.decorator_list):
        found.add(CACHED)
    if functions and statement is not functions[0]:
        found.add((source.name, statement.lineno, statement.col_offset))
    elif functions:  # a default or a decorator
        found.add(_entry(source, functions[0]))
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        is_in_class = any(isinstance(n, ast.ClassDef) for n in above)
        if not is_in_class:
            return [(source.name, name) for name in names]
        if all(name.upper() == name for name in names):
            return [("", name) for name in names]
        found |= _entries(source, next(n for n in above if isinstance(n, ast.ClassDef)))
    else:
        found |= _entries(source, source.tree)
    return []


def _entries(source: Source, node: ast.AST) -> set[tuple[str, int, int]]:
    return {_entry(source, n) for n in ast.walk(node) if isinstance(n, Functions)}


def _entry(source: Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, int, int]:
    """The first statement of a function that is not its docstring."""
    first = node.body[0]
    if len(node.body) > 1 and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        first = node.body[1]
    return source.name, first.lineno, first.col_offset


# Running tests ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended: passed, failed, a crash or no end within the time."""

    status: str
    test: str
    seconds: float
    durations: dict[str, float]
    failures: list[str]
    log: str


class _Plugin:
    """In the process of the tests: selects them, fastest first, and writes what happened."""

    def __init__(self, report: Path, order: Mapping[str, float], tracker: Tracker | None) -> None:
        self._report, self._order, self._tracker = report, order, tracker

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        if self._order:
            config.hook.pytest_deselected(items=[i for i in items if i.nodeid not in self._order])
            items[:] = [i for i in items if i.nodeid in self._order]
            items.sort(key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._write(report.nodeid, report.duration, failed=report.failed)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._write(report.nodeid, 0.0, failed=True)

    def _write(self, test: str, seconds: float, *, failed: bool) -> None:
        with self._report.open("a") as file:
            file.write(json.dumps([test, seconds, failed]) + "\n")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self._tracker is not None:
            self._tracker.begin(nodeid)


class _FilePlugin:
    """What fixtures of a module and its import execute counts for all tests of the file."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker

    def _in_file(self, file: str) -> Generator[None, Any, Any]:
        before = self._tracker.test
        self._tracker.begin(file)
        try:
            return (yield)
        finally:
            self._tracker.begin(before)

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        return (yield from self._in_file(self._tracker.test.partition("::")[0]))

    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        return (yield from self._in_file(collector.nodeid.partition("::")[0]))


def run_tests(
    root: Path, files: Sequence[str], order: Mapping[str, float], plan: Mapping[str, Any],
    *, limit: float, stop: bool,
) -> Outcome:  # fmt: skip
    """Run tests in a forked process that compiles modules according to `plan`."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        work = Path(folder)
        (work / "plan.json").write_text(json.dumps(plan))
        # Children of the tests find the hook by the interpreter's own start-up file.
        start = f"import sys\nsys.path.append({str(Path(__file__).parent)!r})\n"
        start += "import mutation_hook\nsys.path.pop()\nmutation_hook.install()\n"
        (work / "sitecustomize.py").write_text(start)
        begin = time.monotonic()
        sys.stdout.flush()
        process = os.fork()
        if not process:
            _test_process(root, files, order, work, stop=stop)
        status = _wait(process, limit)
        seconds = time.monotonic() - begin
        durations: dict[str, float] = defaultdict(float)
        failures = []
        report = work / "report"
        for line in report.read_text().splitlines() if report.is_file() else []:
            test, spent, failed = json.loads(line)
            durations[test] += spent
            failures += [test] * failed
        if status == "crash" and failures:
            status = "failed"
        log = (work / "log").read_text(errors="replace")
        return Outcome(status, (failures or [""])[0], seconds, dict(durations), failures, log)


def _test_process(
    root: Path, files: Sequence[str], order: Mapping[str, float], work: Path, *, stop: bool
) -> None:
    """Run in the forked process; does not return."""
    code: int = 99
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        log = os.open(work / "log", os.O_CREAT | os.O_WRONLY)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, file in enumerate((null, log, log)):
            os.dup2(file, number)
        os.chdir(root)
        os.environ[PLAN] = str(work / "plan.json")
        os.environ["PYTHONPATH"] = str(work)
        os.environ["NUMBA_CACHE_DIR"] = str(work)  # kernels are cached without their constants
        sys.path.insert(0, str(root))
        import hypothesis
        import pytest

        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile(
            "mutants", phases=phases, derandomize=True, database=None
        )
        hypothesis.settings.load_profile("mutants")
        tracker = install()
        plugins: list[object] = [_Plugin(work / "report", order, tracker)]
        if tracker is not None:
            for name in ("pytest_fixture_setup", "pytest_make_collect_report"):
                pytest.hookimpl(wrapper=True)(getattr(_FilePlugin, name))  # marks it
            plugins.append(_FilePlugin(tracker))
        options = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist"]
        options += ["-x"] if stop else []
        code = int(pytest.main([*options, *files], plugins=plugins))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _wait(process: int, limit: float) -> str:
    end = time.monotonic() + limit
    ended, status = 0, 0
    try:
        while not ended and time.monotonic() < end:
            time.sleep(0.02)
            ended, status = os.waitpid(process, os.WNOHANG)
    finally:
        with suppress(ProcessLookupError):  # the tests' children end with them
            os.killpg(process, signal.SIGKILL)
        if not ended:
            os.waitpid(process, 0)
    if not ended:
        return "timeout"
    code = os.waitstatus_to_exitcode(status)
    return {0: "passed", 1: "failed", 2: "failed", 5: "passed"}.get(code, "crash")


# A package: its constants, their tests, the results ----------------------------------------------


class Package:
    """The mutants of one package or module, with results in `out`."""

    def __init__(
        self, path: Path, root: Path, tests: Sequence[str], out: Path,
        *, inline: bool = False, logic: bool = False, only: str = "*",
        exempt: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.root, self.tests, self.inline, self.logic = root, list(tests), inline, logic
        self.label = path.relative_to(root).as_posix()
        suffix = ".logic" if logic else ""
        self._file = out / f"{self.label.replace('/', '.')}{suffix}.json"
        self._data: dict[str, Any] = {"map": {}, "files": {}, "times": {}, "results": {}}
        with suppress(FileNotFoundError):
            self._data = json.loads(self._file.read_text())
        files = [path] if path.is_file() else sorted(path.rglob("*.py"))
        self.modules = [Source(module_name(f, root), f) for f in files]
        self.points = {
            f"{source.path.relative_to(root).as_posix()}:{point.key}": (source, point)
            for source in self.modules
            for point in points(source.tree, inline=inline, logic=logic)
        }
        self.points = {k: p for k, p in self.points.items() if fnmatch.fnmatch(k, only)}
        #: What is not declared to decide nothing.
        self.tuned = {k: p for k, p in self.points.items() if not is_exempt(k, exempt)}

    def _save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self._data, indent=1, ensure_ascii=False))
        part.replace(self._file)

    # Which tests
    def _test_files(self) -> dict[str, str]:
        paths = [self.root / test for test in self.tests]
        files = [f for p in paths for f in ([p] if p.is_file() else sorted(p.rglob("test_*.py")))]
        digest = lambda f: hashlib.sha256(f.read_bytes()).hexdigest()[:16]  # noqa: E731
        return {f.relative_to(self.root).as_posix(): digest(f) for f in files}

    def map_tests(self, *, fresh: bool, limit: float) -> None:
        """Find out which tests execute each constant; files that did not change are known."""
        known = set(self._data["map"])
        files = self._test_files()
        is_complete = set(self.tuned) <= known and not fresh
        changed = [f for f in files if not is_complete or self._data["files"].get(f) != files[f]]
        if not changed:
            return
        print(
            f"finding the tests of {len(self.tuned)} constants in {len(changed)} files", flush=True
        )
        statements = self._statements()
        probes: dict[str, Any] = defaultdict(lambda: {"probes": []})
        for module, line, column in set().union(*statements.values()) - {CACHED}:
            probes[module]["probes"].append((line, column))
        with tempfile.NamedTemporaryFile("r", prefix="mutants-") as track:
            plan = {"modules": probes, "track": track.name}
            outcome = run_tests(self.root, changed, {}, plan, limit=limit, stop=False)
            pairs = [line.rstrip("\n").split("\t") for line in track]
        broken = [test for test in outcome.failures if "::" not in test]  # not even collected
        if broken or outcome.status in ("crash", "timeout"):
            raise SystemExit(f"{outcome.log}\nthe tests did not run to their end: {outcome.status}")
        tests_of: dict[str, set[str]] = defaultdict(set)
        for probe, test in pairs:
            tests_of[probe].add(test)
        failures = set(outcome.failures)
        passed = [t for t in outcome.durations if t not in failures]
        in_file: dict[str, list[str]] = defaultdict(list)
        for test in passed:
            in_file[test.partition("::")[0]].append(test)
        for key, places in statements.items():
            tests = set().union(*(tests_of[f"{m}:{line}:{c}"] for m, line, c in places), ())
            whole = [t for test in tests if "::" not in test for t in in_file[test]]
            others = [t for t in self._data["map"].get(key, ()) if _file_of(t) not in changed]
            whole += passed if CACHED in places else []
            runnable = {t for t in [*tests, *whole] if t in outcome.durations} - failures
            self._data["map"][key] = sorted({*others, *runnable})
        times = {t: s for t, s in self._data["times"].items() if _file_of(t) not in changed}
        self._data["times"] = times | {t: outcome.durations[t] for t in passed}
        self._data["files"] |= {f: files[f] for f in changed}
        self._save()
        done = f"{len(passed)} tests passed in {outcome.seconds:.0f} s"
        print(f"{done}; excluded: {' '.join(sorted(failures)) or 'none'}", flush=True)

    def _statements(self) -> dict[str, set[tuple[str, int, int]]]:
        """The statements that read each constant, in all modules."""
        folders = [self.root / folder for folder in FOLDERS] if self.root == ROOT else [self.root]
        files = {f for folder in folders for f in folder.rglob("*.py")}
        texts = {f: f.read_text() for f in sorted(files)}
        sources: dict[Path, Source] = {source.path: source for source in self.modules}
        found = {}
        for key, (source, point) in self.tuned.items():
            if point.is_inline:
                found[key] = self._inline_statements(source, point)
                continue
            name = point.name.partition("[")[0]
            names = [n for n in name.split(".")[-1:]]
            for file, text in texts.items():
                if file not in sources and names[0] in text:
                    sources[file] = Source(module_name(file, self.root), file)
            symbol = (source.name, name) if "." not in name else ("", names[0])
            found[key] = readers(list(sources.values()), [symbol])
        return found

    def _inline_statements(self, source: Source, point: Point) -> set[tuple[str, int, int]]:
        for node in ast.walk(source.tree):
            if getattr(node, "lineno", 0) == point.line and ast.unparse(node) == point.text:
                found: set[tuple[str, int, int]] = set()
                _read(source, node, found)
                return found
        return set()

    # Mutants
    def run(self, *, budget: float, again: bool) -> None:
        """Try every change that has no result yet."""
        work = [(key, label) for key in self.tuned for label in self._changes(key)]
        for number, (key, label) in enumerate(work, 1):
            tests = self._data["map"].get(key, [])
            tests = sorted(tests, key=lambda test: self._data["times"].get(test, 0.0))
            state = self._state(key, tests)
            old = self._data["results"].get(key, {}).get(label)
            if old and old["text"] == self.points[key][1].text and not again:
                if old["status"] == "held" or old["state"] == state:
                    continue
            result = {"text": self.points[key][1].text, "state": state}
            result |= self._try(key, label, tests, budget)
            self._data["results"].setdefault(key, {})[label] = result
            self._save()
            ending = f"{result['status']} {result['by']} {result['seconds']:.1f} s"
            print(f"{number}/{len(work)} {key} {label}: {ending}", flush=True)

    def _changes(self, key: str) -> list[str]:
        return list(self.points[key][1].changes)

    def _state(self, key: str, tests: Sequence[str]) -> str:
        files = sorted({_file_of(test) for test in tests})
        text = json.dumps([tests, [self._data["files"].get(f, "") for f in files]])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _try(self, key: str, label: str, tests: Sequence[str], budget: float) -> dict[str, Any]:
        order: dict[str, float] = {}
        for test in tests:
            spent = self._data["times"].get(test, 0.0)
            if sum(order.values()) + spent <= budget or not order:
                order[test] = spent
        if not order:
            return {"status": "no test", "by": "", "seconds": 0.0}
        source, point = self.points[key]
        change = {"key": point.key, "label": label, "inline": self.inline, "logic": self.logic}
        plan = {"modules": {source.name: change}}
        limit = 60.0 + 5.0 * sum(order.values())
        files = list(dict.fromkeys(map(_file_of, order)))
        outcome = run_tests(self.root, files, order, plan, limit=limit, stop=True)
        status = "survived" if outcome.status == "passed" else "held"
        by = outcome.test or ("" if status == "survived" else outcome.status)
        skipped = f"({len(tests) - len(order)} slow tests not run)" if status == "survived" else ""
        by = by if by or len(tests) == len(order) else skipped
        return {"status": status, "by": by, "seconds": round(outcome.seconds, 1)}

    # Report
    def summary(self) -> tuple[dict[str, int], list[str]]:
        """Counts of constants by state, and a line for each that is not held."""
        states: dict[str, list[str]] = defaultdict(list)
        lines = []
        for key in self.points:
            name = key if self.points[key][1].is_inline else key.partition("[")[0]
            if key not in self.tuned:
                states[name].append("exempt")
                continue
            results = self._data["results"].get(key, {})
            for label in self._changes(key):
                state = results.get(label, {}).get("status", "not tried")
                states[name].append(state)
                if state != "held":
                    line = self.points[key][1].line
                    note = results.get(label, {}).get("by", "")
                    lines.append(f"{key} (line {line}) {label}: {state} {note}".rstrip())
        counts: dict[str, int] = dict.fromkeys(COLUMNS, 0)
        for found in states.values():
            counts["constants"] += 1
            worst = [s for s in COLUMNS[1:] if s in found]
            counts["one way" if {"held", "survived"} <= set(found) else worst[-1]] += 1
        return counts, lines


COLUMNS = ("constants", "exempt", "held", "one way", "survived", "no test", "not tried")


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def module_name(path: Path, root: Path) -> str:
    """The name a file is imported by."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts[0] in FOLDERS and root == ROOT:
        parts[0] = FOLDERS[parts[0]]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_exempt(path: Path) -> dict[str, str]:
    """Patterns of constants (file:name) and the class of each."""
    if not path.is_file():
        return {}
    data = tomllib.loads(path.read_text())
    names = {
        f"{file}:{name}": kind
        for file, rows in data["exempt"].items()
        for name, kind in rows.items()
    }
    unknown = set(names.values()) - set(data["classes"])
    if unknown:
        raise SystemExit(f"{path.name}: classes without a reason: {', '.join(sorted(unknown))}")
    return names


def is_exempt(key: str, exempt: Mapping[str, str]) -> bool:
    """Whether a constant, one of its numbers or its whole file is declared."""
    names = key, key.partition("[")[0], f"{key.partition(':')[0]}:*"
    return any(name in exempt for name in names)


def find_package(name: str, root: Path) -> Path:
    """`lab/rollouts`, `components/policies` or a module's path."""
    for path in (root / name, root / "plugin" / name):
        if path.exists():
            return path
    raise SystemExit(f"there is no package {name} in {root}")


def nearest_tests(path: Path, root: Path) -> list[str]:
    """The folder of tests that mirrors a package."""
    folder = root / "tests" / path.relative_to(root)
    while not folder.is_dir():
        folder = folder.parent
    return [folder.relative_to(root).as_posix()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the mutants of some packages, then print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs="+", help="lab/rollouts, core/patterns.py, …")
    parser.add_argument("--tests", nargs="+", help="files and folders; else those of the package")
    parser.add_argument("--inline", action="store_true", help="also numbers inside functions")
    parser.add_argument("--logic", action="store_true", help="operators instead of numbers")
    parser.add_argument("--only", default="*", help="a pattern of file:name")
    parser.add_argument("--fresh", action="store_true", help="find the tests of a constant again")
    parser.add_argument("--again", action="store_true", help="try again what has a result")
    parser.add_argument("--report", action="store_true", help="only the table")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests per mutant")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds to find the tests in")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants")
    chosen = parser.parse_args(arguments)
    exempt = read_exempt(chosen.root / "tools" / "mutants_exempt.toml")
    root = chosen.root.resolve()
    if not chosen.report:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the tests too
        for name in COMMON:
            with suppress(ImportError):
                __import__(name)
    rows = []
    for name in chosen.packages:
        path = find_package(name, root)
        tests = chosen.tests or nearest_tests(path, root)
        package = Package(
            path, root, tests, chosen.out,
            inline=chosen.inline, logic=chosen.logic, only=chosen.only, exempt=exempt,
        )  # fmt: skip
        if not chosen.report:
            package.map_tests(fresh=chosen.fresh, limit=chosen.limit)
            package.run(budget=chosen.budget, again=chosen.again)
        counts, lines = package.summary()
        rows.append((package.label, counts))
        for line in lines:
            print(line)
    width = max(len(label) for label, _ in rows)
    print(" " * width, *(f"{column:>10}" for column in COLUMNS))
    for label, counts in rows:
        print(f"{label:<{width}}", *(f"{counts[column]:>10}" for column in COLUMNS))


if __name__ == "__main__":
    main()
