"""Count the modules, packages and functions of mjrig that common calls pass through.

    python tools/walks.py                # one table: six call paths, then the source tree
    python tools/walks.py --json         # the same as data
    python tools/walks.py --trace fit    # modules of one call path in order of first entry
    python tools/walks.py --trace imports    # the longest chain of imports

Each path runs once, in a new process, on a small case. Only mjrig's functions count, in all threads
of that process. `depth` is the largest number of mjrig's functions on a stack; recursion counts.
Functions that run while a module is imported do not count; neither do comprehensions and generator
expressions, since Python versions differ in whether these have frames.
"""

import argparse
import csv
import gc
import io
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import architecture

ROOT = architecture.ROOT
SCENES = ROOT / "config" / "scenes"
ASSETS = ROOT / "assets"
#: Comprehensions have no frames from Python 3.12 on; generator expressions are treated alike.
_INLINE = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})


# Recording --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Function:
    """A function of mjrig, one object for each code object."""

    module: str
    package: str
    name: str
    line: int


#: The code of any module, mjrig's or not, which runs when the module is imported.
_IMPORT = Function("", "", "<module>", 0)


@dataclass(frozen=True)
class Visit:
    """The first entry into a module: the function entered, and its depth in mjrig's frames."""

    module: str
    function: str
    depth: int


@dataclass
class CallPath:
    """The modules, packages and functions of mjrig that one call entered."""

    visits: list[Visit] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    functions: int = 0
    #: The deepest stack, outermost function first.
    deepest: list[str] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, int]:
        """The counts that have a budget."""
        return {
            "modules": len(self.visits),
            "packages": len(self.packages),
            "functions": self.functions,
            "depth": len(self.deepest),
        }


class Recorder:
    """Records calls of mjrig's functions, in this thread and in threads started later."""

    def __init__(self) -> None:
        self.active = False
        #: By the id of a code object: hashing the object itself is slow.
        self._by_code: dict[int, Function | None] = {}
        self._codes: list[CodeType] = []  # keeps them alive, so that no id is used twice
        self._functions: set[Function] = set()
        self._packages: dict[str, None] = {}
        self._visits: dict[str, Visit] = {}
        self._deepest: list[str] = []

    def install(self) -> None:
        """Follow calls from now on; they are recorded while `active` is set."""
        threading.setprofile(self._follow_thread)
        sys.setprofile(self._follower())

    def remove(self) -> None:
        """Follow no more calls."""
        sys.setprofile(None)
        threading.setprofile(None)

    def result(self) -> CallPath:
        """The calls recorded so far."""
        visits, packages = list(self._visits.values()), sorted(self._packages)
        return CallPath(visits, packages, len(self._functions), self._deepest)

    def _follow_thread(self, frame: FrameType, event: str, argument: object) -> None:
        follow = self._follower()
        sys.setprofile(follow)
        follow(frame, event, argument)

    def _follower(self) -> Callable[[FrameType, str, object], None]:
        """A profile function with a stack, for one thread."""
        stack: list[Function] = []
        importing = 0
        functions = self._by_code

        def follow(frame: FrameType, event: str, _argument: object) -> None:
            nonlocal importing
            if event not in {"call", "return"}:  # of C functions
                return
            try:
                function = functions[id(frame.f_code)]
            except KeyError:
                function = self._learn(frame)
            if function is None:
                return
            if function is _IMPORT:
                importing += 1 if event == "call" else -1
            elif importing:
                return
            elif event == "call":
                stack.append(function)
                if self.active:
                    self._enter(function, stack)
            elif stack:
                stack.pop()

        return follow

    def _learn(self, frame: FrameType) -> Function | None:
        code = frame.f_code
        self._codes.append(code)
        function = _IMPORT if code.co_name == "<module>" else _function(frame)
        self._by_code[id(code)] = function
        return function

    def _enter(self, function: Function, stack: list[Function]) -> None:
        if function not in self._functions:
            self._functions.add(function)
            self._packages[function.package] = None
            if function.module not in self._visits:
                visit = Visit(function.module, function.name, len(stack))
                self._visits[function.module] = visit
        if len(stack) > len(self._deepest):
            self._deepest = [f"{f.module}:{f.name}" for f in stack]


def _function(frame: FrameType) -> Function | None:
    """The function of a frame; None if not mjrig's or generated (a dataclass's `__init__`)."""
    code, module = frame.f_code, str(frame.f_globals.get("__name__", ""))
    if module != "mjrig" and not module.startswith("mjrig."):
        return None
    if code.co_filename.startswith("<") or code.co_name in _INLINE:
        return None
    package = module if "__path__" in frame.f_globals else module.rpartition(".")[0]
    return Function(module, package, code.co_qualname, code.co_firstlineno)


# The calls --------------------------------------------------------------------------------------
# Each is a generator. It prepares files in an empty folder, yields the call to record, and then
# checks that the call succeeded: a call that fails early would pass through few modules.

Steps = Iterator[Callable[[], object]]


def load_scene(_folder: Path) -> Steps:
    """Read quadruped.yaml and build its world."""
    import mjrig

    worlds: list[mjrig.World] = []
    yield lambda: worlds.append(mjrig.World(mjrig.Scene.load(SCENES / "quadruped.yaml")))
    assert worlds[0]["quadruped"].controllers


def drag_kp(folder: Path) -> Steps:
    """Drag kp in a running session: three values, a step after each, then release the mouse."""
    session = _session(folder)
    session.play()
    session.simulation.advance(1)

    def drag() -> None:
        for kp in (151.0, 152.0, 153.0):
            session.set("quadruped.PDController.kp", kp, merge=True)
            session.simulation.advance(1)
        session.seal()

    yield drag
    (controller,) = session.simulation.world["quadruped"].controllers
    assert set(controller.kp) == {153.0}
    assert len(session.undo_stack.names) == 1


def save_scene(folder: Path) -> Steps:
    """Save a scene after an edit of one gain."""
    session = _session(folder)
    session.set("quadruped.PDController.kv", 7.0)
    yield session.save
    assert "kv: 7" in session.scene.path.read_text(encoding="utf-8")


def _session(folder: Path) -> Any:
    """A session of the quadruped, without a window or a simulation thread: the caller steps it."""
    import mjrig
    from mjrig.editor.session.session import Session
    from mjrig.editor.session.simulation import Simulation

    scene = mjrig.Scene.load(_copy("quadruped.yaml", folder))
    return Session(scene, Simulation(mjrig.World(scene)))


def _copy(scene: str, folder: Path) -> Path:
    """Copy a bundled scene to a file that may be changed."""
    text = (SCENES / scene).read_text(encoding="utf-8")
    path = folder / scene
    path.write_text(text.replace("../../assets", ASSETS.as_posix()), encoding="utf-8")
    return path


def fit_log(folder: Path) -> Steps:
    """`mjrig tune fit`: kp, kv and delay of the pendulum from a CSV log of 1 s, with a report."""
    scene, log, report = _copy("pendulum.yaml", folder), folder / "log.csv", folder / "report"
    _write_pendulum_log(log)
    options = ("--parameters", "kp,kv,delay", "--report", report, "--write")
    yield _command("tune", "fit", scene, log, *options)
    estimates = json.loads((report / "report.json").read_text(encoding="utf-8"))["estimates"]
    (kp,) = [e["value"] for e in estimates if e["parameter"] == "kp"]
    assert abs(kp - 80.0) < 8.0, kp


def _write_pendulum_log(path: Path) -> None:
    """Positions, velocities, efforts and commands with noise; kp is 80 and kv 5, not the scene's.

    Simulated with MuJoCo alone: values that mjrig caches would shorten the call path.
    """
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(ASSETS / "pendulum" / "pendulum.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    joint, home, noise = model.joint(0).name, float(data.qpos[0]), Random(0).gauss
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["t", *(f"{quantity}_{joint}" for quantity in ("q", "dq", "tau", "cmd"))])
        while data.time < 1.0:
            # A chirp from 0.5 Hz to 4 Hz.
            cycles = (0.5 + 1.75 * data.time) * data.time
            command = home + 0.3 * math.sin(2.0 * math.pi * cycles)
            q, qd = float(data.qpos[0]), float(data.qvel[0])
            effort = max(-40.0, min(40.0, 80.0 * (command - q) - 5.0 * qd))
            measured = q + noise(0, 1e-3), qd + noise(0, 2e-2), effort + noise(0, 0.1)
            rows.writerow([f"{x:.9g}" for x in (data.time, *measured, command)])
            data.ctrl[0] = effort
            mujoco.mj_step(model, data)


def import_policy(folder: Path) -> Steps:
    """`mjrig import` of the bundled walking policy."""
    model, output = ASSETS / "quadruped" / "quadruped.xml", folder / "walk" / "scene.yaml"
    yield _command("import", ASSETS / "walk" / "policy.yaml", "--model", model, "-o", output)
    assert output.is_file() and output.with_name("policy.yaml").is_file()


SUITE = """\
seeds: 2
tasks:
  - {name: stand, command: stand, duration: 0.1, settle: 0.02, randomise: "start=0.05"}
  - {name: weak, duration: 0.1, settle: 0.02, vary: strength, levels: [1, 0.5]}
"""


def run_bench(folder: Path) -> Steps:
    """`mjrig bench` of the walking policy: three tasks with two seeds, in this process."""
    suite, output = folder / "suite.yaml", folder / "out"
    suite.write_text(SUITE, encoding="utf-8")
    options = ("--suite", suite, "--executor", "inline", "-o", output)
    yield _command("bench", SCENES / "quadruped_walk.yaml", *options)
    assert len((output / "results.csv").read_text(encoding="utf-8").splitlines()) == 1 + 3 * 2


def _command(*words: object) -> Callable[[], object]:
    """A call of the `mjrig` program that raises if the exit code is not 0."""
    (program,) = entry_points(group="console_scripts", name="mjrig")
    run_program = program.load()

    def run() -> None:
        code = run_program([str(word) for word in words])
        assert code == 0, f"mjrig {words[0]} exited with {code}"

    return run


CALLS: dict[str, Callable[[Path], Steps]] = {
    "load": load_scene,
    "drag": drag_kp,
    "save": save_scene,
    "fit": fit_log,
    "import": import_policy,
    "bench": run_bench,
}


def follow(name: str) -> CallPath:
    """Record one of the calls in this process; figures are repeatable only in a new process."""
    output = io.StringIO()
    with TemporaryDirectory() as folder:
        recorder = Recorder()
        recorder.install()
        try:
            with redirect_stdout(output), redirect_stderr(output):
                steps = CALLS[name](Path(folder))
                call = next(steps)
                gc.collect()
                gc.disable()  # finalizers would run at other times in other runs
                recorder.active = True
                call()
                recorder.active = False
                next(steps, None)
        except BaseException:
            sys.stderr.write(output.getvalue())
            raise
        finally:
            recorder.remove()
            gc.enable()
    return recorder.result()


def follow_all(names: Iterable[str] = tuple(CALLS)) -> dict[str, CallPath]:
    """Record calls, each in a new process, two at a time."""
    names = list(names)
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(_follow_in_child, names), strict=True))


def _follow_in_child(name: str) -> CallPath:
    # A fixed order of sets and a single thread, so that the figures are the same in every run.
    fixed = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--child", name]
    child = subprocess.run(
        command, env={**os.environ, **fixed}, capture_output=True, text=True, check=False
    )
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} exited with {child.returncode}:\n{child.stderr}")
    data = json.loads(child.stdout)
    visits = [Visit(**visit) for visit in data.pop("visits")]
    return CallPath(visits, **data)


# The source tree --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tree:
    """The size of the source, and its longest chain of imports at the top of modules."""

    lines: int
    modules: int
    longest_module: str
    longest_module_lines: int
    import_chain: list[str]

    @property
    def figures(self) -> dict[str, int]:
        """The counts that have a budget."""
        return {
            "import chain": len(self.import_chain),
            "modules": self.modules,
            "lines": self.lines,
            "longest module": self.longest_module_lines,
        }


def measure_tree() -> Tree:
    """Measure the source of this checkout."""
    paths = architecture.modules()
    lines = {n: len(p.read_text(encoding="utf-8").splitlines()) for n, p in paths.items()}
    longest = max(lines, key=lambda name: (lines[name], name))
    chain = longest_chain((i.importer, i.imported) for i in architecture.graph() if i.how == "top")
    return Tree(sum(lines.values()), len(paths), longest, lines[longest], chain)


def longest_chain(imports: Iterable[tuple[str, str]]) -> list[str]:
    """The longest chain of (importer, imported) pairs, which must not form a cycle.

    Of chains that are equally long, the first by name.
    """
    targets: dict[str, set[str]] = {}
    for importer, imported in imports:
        targets.setdefault(importer, set()).add(imported)
    chains: dict[str, list[str]] = {}

    def chain(module: str) -> list[str]:
        if module not in chains:
            below = [chain(target) for target in sorted(targets.get(module, ()))]
            chains[module] = [module, *max(below, key=len, default=[])]
        return chains[module]

    return max((chain(module) for module in sorted(targets)), key=len, default=[])


# Output -----------------------------------------------------------------------------------------


def table(paths: Mapping[str, CallPath], tree: Tree) -> str:
    """All figures as text."""
    columns = ("modules", "packages", "functions", "depth")
    lines = [f"{'call path':10}" + "".join(f"{column:>11}" for column in columns)]
    for name, path in paths.items():
        figures = path.figures
        lines.append(f"{name:10}" + "".join(f"{figures[column]:>11}" for column in columns))
    lines += ["", "source tree"]
    notes = {"import chain": f"from {tree.import_chain[0]}", "longest module": tree.longest_module}
    for name, value in tree.figures.items():
        lines.append(f"{name:18}{value:>9,}  {notes.get(name, '')}".rstrip())
    return "\n".join(lines)


def trace(path: CallPath) -> str:
    """The modules of a call path in order of first entry, then its deepest stack."""
    lines = ["depth  module: function entered first"]
    lines += [f"{v.depth:5}  {v.module}: {v.function}" for v in path.visits]
    lines += ["", f"deepest call: {len(path.deepest)} functions of mjrig"]
    lines += [f"{i:5}  {function}" for i, function in enumerate(path.deepest, 1)]
    return "\n".join(lines)


def main() -> None:
    """Print the table, the data, or one call path."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument(
        "--trace",
        choices=[*CALLS, "imports"],
        help="print one call path, or the longest chain of imports",
    )
    parser.add_argument("--child", choices=CALLS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(asdict(follow(options.child))))
        return
    if options.trace == "imports":
        chain = measure_tree().import_chain
        print("\n".join(f"{i:5}  {module}" for i, module in enumerate(chain, 1)))
        return
    if options.trace:
        print(trace(follow_all([options.trace])[options.trace]))
        return
    paths, tree = follow_all(), measure_tree()
    if options.json:
        data = {
            "call_paths": {n: {"figures": p.figures, **asdict(p)} for n, p in paths.items()},
            "tree": {"figures": tree.figures, **asdict(tree)},
        }
        print(json.dumps(data, indent=1))
    else:
        print(table(paths, tree))


if __name__ == "__main__":
    main()
