"""Ctrl+C: a command says what it has written until then, and leaves nothing else behind."""

import re
from pathlib import Path
from typing import Any

import pytest

import mjrig
from mjrig.cli.main import main
from tests.command_lines import COMMANDS, SCENE, outputs
from tests.wording import mentions

for package in ("h5py", "optuna", "zmq", "matplotlib"):
    pytest.importorskip(package)
SERVED = SCENE.replace(
    "kv: 1}", "kv: 1}, {type: SocketBridge, port: 0, state_port: 0, websocket: false}"
)
GRID = "--grid arm.PDController.kp=1,2,3,4,5,6 --executor inline"
RANGE = "--range arm.PDController.kp=1:9 --trials 9 --executor inline"
#: Command lines that step a world for a while, and what they may leave.
LINES = {
    "run s.yaml --record out/run.h5": "out/run.h5",
    "run s.yaml --picture out/x.png": "",
    "run s.yaml --plot out/x.png": "",
    "run s.yaml --record out/run.h5 --plot out/x.png": "out/run.h5",
    "serve served.yaml --record out/run.h5 --quiet --duration 5": "out/run.h5",
    f"sweep s.yaml {GRID} --run 0.2 -o out": "out",
    f"optimise s.yaml {RANGE} --run 0.2 -o out": "out",
    "tune respond s.yaml --csv out/x.csv": "",
    "replay run.h5 --report out": "",
    "export s.yaml -o out/x.xml": "",
}
EARLY = ("run s.yaml --record out/run.h5", "replay run.h5 --report out")


@pytest.fixture
def folder(recorded: Path) -> Path:
    Path("served.yaml").write_text(SERVED)
    return recorded


def _interrupt_at(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl+C in the `count`-th call that steps or builds a world."""
    calls = 0

    def counted(called: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == count:
                raise KeyboardInterrupt
            return called(*given, **more)

        return call

    for name in ("step", "__init__"):
        monkeypatch.setattr(mjrig.World, name, counted(getattr(mjrig.World, name)))


def test_every_command_that_steps_and_writes_is_tried() -> None:
    """Import, convert, new, check, assign write in one go; bench sweeps, the rest step alike."""
    tried = {next(c for c in COMMANDS if line.startswith(c)) for line in LINES}
    writing = {c for c, parser in COMMANDS.items() if outputs(parser)}
    rest = {"import", "convert", "new", "check", "bench"} | {
        f"tune {name}" for name in ("assign", "fit", "test", "excite")
    }
    assert tried == writing - rest


@pytest.mark.parametrize(
    ("count", "line"), [*((4, line) for line in LINES), *((1, n) for n in EARLY)]
)
def test_an_interrupted_command_says_what_it_kept(
    line: str,
    count: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = LINES[line]
    before = {p for p in folder.rglob("*") if p.is_file()}
    _interrupt_at(count, monkeypatch)
    capsys.readouterr()
    code = main(line.split())
    out, err = capsys.readouterr()
    if code == 0 and not line.startswith("serve"):
        return  # it was done before
    new = sorted(str(p.relative_to(folder)) for p in {*folder.rglob("*")} - before if p.is_file())
    said = out if line.startswith("serve") and code == 0 else err
    if not new:
        assert not Path("out").exists()
        assert err.splitlines()[-1] == "mjrig: interrupted"
        return
    assert kept and all(name.startswith(kept) for name in new)
    assert kept in said.splitlines()[-1]
    assert Path(kept).is_dir() == (mentions(said, "the same command goes …"))
    if line.startswith("sweep"):
        rows = len(Path("out/results.csv").read_text().splitlines()) - 1
        assert rows == 0 or mentions(said, f"interrupted; {rows} of 6 runs done …")
    if kept.endswith(".h5"):
        recorded = mjrig.read_recording(kept)
        told = re.search(r"([\d.e-]+) s \((\d+) steps?\)", said)
        assert told is not None
        assert int(told[2]) == recorded.steps
        assert float(told[1]) == pytest.approx(recorded.duration, rel=1e-3)
