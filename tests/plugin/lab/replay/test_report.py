"""Reports and the command line."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.components import PDController
from mjrig.lab.replay.result import write_report
from mjrig.lab.report.content import ORANGE, ReportCurves, Series
from mjrig.lab.report.output import plain
from mjrig.lab.report.svg import curves_svg
from tests.plugin.lab.replay.recorded import BIPED, biped, from_world, write_ticks
from tests.wording import matches, mentions


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "biped.xml").write_text(BIPED)
    made = mjrig.Scene()
    actor = made.add_actor("biped", model=tmp_path / "biped.xml")
    actor.add_component(PDController(kp=80, kv=3))
    made.save(tmp_path / "scene.yaml")
    write_ticks(tmp_path / "run.npz")
    return tmp_path / "scene.yaml"


class Tags(HTMLParser):
    """Which tags are open, and what refers to other files."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(v) for k, v in attrs if k in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_report_has_the_keys_programs_look_for(tmp_path: Path) -> None:
    world = biped(kp={"right_knee": 96.0, "default": 80.0})
    write_report(mjrig.replay(from_world(biped(), 150), world), tmp_path / "r")
    data = json.loads((tmp_path / "r" / "report.json").read_text())
    assert data["verdict"] == "differs"
    assert data["bit_exact"] is False
    assert data["max_abs_position_error"] > 0.001
    assert set(data["first_divergence"]) == {"time", "joint", "error"}
    assert set(data["diagnosis"][0]) >= {"kind", "where", "expected", "here", "evidence"}
    assert (data["diagnosis"][0]["kind"], data["diagnosis"][0]["where"]) == ("kp", ["right_knee"])
    assert set(data["joints"]["left_hip"]) >= {"rmse_position", "rmse_velocity", "saturation"}
    assert {"fell", "duration", "base_start", "base_end", "evidence"} <= set(data)


def test_the_page_is_whole_and_needs_nothing_else(tmp_path: Path) -> None:
    world = biped(kp={"right_knee": 96.0, "default": 80.0})
    write_report(mjrig.replay(from_world(biped(), 150), world), tmp_path)
    text = (tmp_path / "report.html").read_text()
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.links == []
    assert "http" not in text
    for name in ("left_hip", "right_knee", "upright"):
        assert f">{name}" in text
    assert text.count("<svg") == 13
    assert mentions(text, "kp of right_knee is 96 … 80 … 100%")


def test_the_summary_fits_a_screen() -> None:
    world = biped(kp={"right_knee": 96.0, "default": 80.0})
    lines = str(mjrig.replay(from_world(biped(), 150), world)).splitlines()
    assert len(lines) <= 24
    assert lines[0] == "run.h5: differs"
    assert any(matches(line, "  1. kp of right_knee is 96 … 80 … 100% …") for line in lines)


def test_json_has_no_infinity() -> None:
    data = {"a": [np.inf, np.float64(1.0)], "b": {"c": float("nan")}, "d": np.int64(2)}
    assert plain(data) == {"a": ["inf", 1.0], "b": {"c": "nan"}, "d": 2.0}


def plot(x: Any, y: Any, **more: Any) -> str:
    """A figure of one curve."""
    return curves_svg(ReportCurves("a", "m", [Series("x", ORANGE, x, y)], **more))


def test_a_plot_draws_gaps_and_nothing() -> None:
    time = [0.0, 1.0, 2.0, 3.0]
    assert plot(time, [1, np.nan, 2, 3]).count("<polyline") == 2
    gap = [0.0, 1.0, np.nan, 2.0, 3.0]
    for window in (None, (0.0, 3.0)):
        assert plot(gap, gap, window=window).count("<polyline") == 2
    assert "nothing" in plot([], [])
    assert "1e-3" in plot(time, [1e-3, 1e-2, 0, 1], log=True)


@pytest.mark.parametrize("seed", range(5))
def test_a_long_line_keeps_its_peaks_and_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(601, 20_000))
    values = rng.normal(size=count) * 0.01
    peaks = rng.choice(count, 2, replace=False)
    values[peaks] = 5.0, -7.0
    values[rng.choice(np.setdiff1d(np.arange(count), peaks), 3, replace=False)] = np.nan
    text = plot(np.arange(count), values)
    drawn = [p for part in re.findall(r'points="([^"]*)"', text) for p in part.split()]
    heights = [float(p.split(",")[1]) for p in drawn]
    room = 0.05 * 12.0
    assert (max(heights) - min(heights)) == pytest.approx(134.0 * 12.0 / (12.0 + 2 * room), abs=0.2)
    assert 2 <= text.count("<polyline") <= 4
    assert len(drawn) <= 2 * 600


def test_parts_are_shaded() -> None:
    text = plot([0.0, 10.0], [0, 1], spans=[(2.0, 7.0)])
    (place, width) = (
        float(re.search(rf'class="span"[^>]* {name}="([^"]*)"', text)[1])  # type: ignore[index]
        for name in ("x", "width")
    )
    assert place == pytest.approx(62.0 + 0.2 * 386.0)
    assert width == pytest.approx(0.5 * 386.0)


# Command line -------------------------------------------------------------------------------------


def test_replay_writes_a_report(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = scene.parent / "out"
    run = str(scene.parent / "run.npz")
    assert (
        main(["replay", run, "--scene", str(scene), "--mode", "targets", "--report", str(out)]) == 0
    )
    assert capsys.readouterr().out.splitlines()[0] == f"{run}: matches"
    assert json.loads((out / "report.json").read_text())["bit_exact"] is True


def test_fail_above_is_an_exit_code(scene: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = [str(scene.parent / "run.npz"), "--scene", str(scene), "--fail-above", "1e-4"]
    assert main(["replay", *run]) == 0
    edit = ["--set", "biped.PDController.kp={left_knee: 40, default: 80}", "--json"]
    capsys.readouterr()
    assert main(["replay", *run, *edit]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["diagnosis"][0]["kind"], data["diagnosis"][0]["where"]) == ("kp", ["left_knee"])


def test_a_folder_is_replayed_with_one_table(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = scene.parent / "runs"
    folder.mkdir()
    write_ticks(folder / "a.npz")
    write_ticks(folder / "b.npz", meta_kp=[70.0] * 4)
    write_ticks(folder / "c.npz", qpos0=None)
    options = ["--scene", str(scene), "--workers", "2", "--report", str(scene.parent / "all")]
    assert main(["replay", str(folder), *options]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["a.npz", "matches"]
    assert lines[2].split()[:2] == ["b.npz", "matches"]
    assert lines[3].split()[:2] == ["c.npz", "error"]
    assert lines[3].endswith("lacks the array qpos0")
    assert (scene.parent / "all" / "a.npz" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.npz"], "nowhere.npz: there is no such …"),
        (["p.yaml"], "p.yaml: there is no such …"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(
    scene: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["replay", *arguments, "--scene", str(scene)]) == 1
    assert matches(capsys.readouterr().err, f"mjrig: {message}\n")


def test_a_policy_needs_a_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text("network: walk.onnx")
    assert main(["replay", "policy.yaml"]) == 1
    expected = "mjrig: policy.yaml: needs a scene to be replayed in: --scene SCENE\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    "arguments", [["--command", "a,b"], ["--schedule", "1,2"], ["--tolerance", "-1"]]
)
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as info:
        main(["replay", "x.npz", *arguments])
    assert info.value.code == 2


def test_an_empty_folder_is_refused(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none").mkdir()
    assert main(["replay", str(tmp_path / "none"), "--scene", str(scene)]) == 1
    assert "has no recordings (.h5, " in capsys.readouterr().err


@pytest.mark.parametrize("count", [6, 7, 20])
def test_notes_that_are_not_printed_are_written_where_it_is_said(
    count: int,
) -> None:
    notes = [f"note number {k}" for k in range(count)]
    shown = mjrig.Replay("targets", "run.h5", "scene.yaml", notes=notes)
    text = str(shown)
    left = [n for n in notes if f"  {n}\n" not in f"{text}\n"]
    assert (f"… {len(left)} more: --report" in text) == bool(left)
    assert shown.to_data()["notes"] == notes
