"""mjrig tune fit: from files to files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mjrig
from mjrig.cli.fit_command import FitProgress
from mjrig.cli.main import main
from mjrig.lab.fit.identification import fit
from mjrig.lab.fit.write_back import put_fit
from tests.places import ROOT
from tests.plugin.lab.fit.fit_worlds import chirp, record, swing, with_others

pytest.importorskip("h5py")
PD = "robot.PDController"
TRUE = {f"{PD}.kp": 31.0, f"{PD}.kv": 1.5, f"{PD}.delay": {"steps": 2}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A scene and a recording of it with other gains."""
    scene = swing(tmp_path)
    scene.save(tmp_path / "scene.yaml")
    world = mjrig.World(with_others(scene, TRUE))
    command = chirp(0.3, 0.5, 4.0, 0.5)
    base = world["robot"].setpoints.values.copy()
    with mjrig.Recorder(world, tmp_path / "chirp.h5"):
        for _ in range(250):
            values = base.copy()
            command(world.time, values)
            world["robot"].setpoints.values[:] = values
            world.step()
    return str(tmp_path / "scene.yaml"), str(tmp_path / "chirp.h5")


def test_what_is_found_is_written_into_the_scene(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    scene, recording = files
    names = "kp,kv,delay,torque_limit"
    assert main(["tune", "fit", scene, recording, "--parameters", names, "--write"]) == 0
    out = capsys.readouterr().out
    assert "never reached: it is above" in out
    assert out.splitlines()[-1] == f"wrote {scene}; {scene}~ is the backup"
    controller = mjrig.World(scene)["robot"].controllers[0]
    np.testing.assert_allclose(controller.gains()["kp"], 31.0, rtol=1e-4)
    np.testing.assert_allclose(controller.gains()["kv"], 1.5, rtol=1e-4)
    assert controller.gains()["torque_limit"] == 100.0
    assert controller.delay.steps.tolist() == [2.0]  # type: ignore[attr-defined]


def test_a_table_is_fitted_by_its_names_or_by_hints(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, recording = files
    share = mjrig.read_recording(recording).actors["robot"]
    assert share.qvel is not None and share.commands is not None
    table = tmp_path / "log.csv"
    columns = [
        share.time[:-1],
        share.qpos[:-1, 0],
        share.qvel[:-1, 0],
        share.commands.position[:, 0],
    ]
    np.savetxt(table, np.stack(columns, axis=1), delimiter=",", header="t,q_Swing_Joint,"
               "dq_Swing_Joint,cmd_Swing_Joint", comments="", fmt="%.12g")  # fmt: skip
    said = "{time: t, position: 'q_{joint}', velocity: 'dq_{joint}', command: 'cmd_{joint}'}"
    for hints in ([], ["--hint", f"columns={said}"]):
        command = ["tune", "fit", scene, str(table), *hints, "--json"]
        assert main([*command, "--parameters", "kp,kv,delay"]) == 0
        found = {
            e["parameter"]: e["value"] for e in json.loads(capsys.readouterr().out)["estimates"]
        }
        assert found.pop("delay") == pytest.approx(2.0, abs=0.05)
        assert found == pytest.approx({"kp": 31.0, "kv": 1.5}, rel=1e-3)


def test_as_json_and_as_a_preset(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, recording = files
    preset = tmp_path / "found.yaml"
    given = ["--parameters", "kp,kv,delay", "--json", "--each", "--preset", str(preset)]
    assert main(["tune", "fit", scene, recording, *given]) == 0
    data = json.loads(capsys.readouterr().out)
    kp = data["estimates"][0]
    assert (kp["joint"], kp["parameter"], kp["old"]) == ("swing", "kp", 40.0)
    assert kp["value"] == pytest.approx(31.0, rel=1e-4)
    assert preset.read_text().startswith("mjrig_gains: 1\nPDController:\n")


@pytest.mark.parametrize("option", ["--write", "--preset"])
def test_values_of_a_rejected_model_are_not_kept(
    files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
) -> None:
    scene, recording = files
    found = replace(fit(scene, [recording], ["kp"]), rejection="the model is rejected: it leans")
    monkeypatch.setattr("mjrig.lab.fit.identification.fit", lambda *_, **__: found)
    before, preset = Path(scene).read_text(), tmp_path / "found.yaml"
    keep = [option] if option == "--write" else [option, str(preset)]
    assert main(["tune", "fit", scene, recording, "--parameters", "kp", *keep]) == 1
    printed = capsys.readouterr()
    assert printed.err == "mjrig: nothing was written: the model is rejected: it leans\n"
    assert Path(scene).read_text() == before and not preset.exists()


def test_a_rejected_model_is_an_error_for_scripts_without_writing_too(
    files: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene, recording = files
    found = replace(fit(scene, [recording], ["kp"]), rejection="the model is rejected: it leans")
    monkeypatch.setattr("mjrig.lab.fit.identification.fit", lambda *_, **__: found)
    assert main(["tune", "fit", scene, recording, "--parameters", "kp"]) == 1
    assert "written" not in capsys.readouterr().err


def test_a_recording_that_is_not_there(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "fit", files[0], "none.h5"]) == 1
    assert capsys.readouterr().err == "mjrig: none.h5: there is no such file\n"


def test_bounds_that_cannot_be_read(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["tune", "fit", *files, "--bounds", "kp=low"])
    assert "write NAME=LOW:HIGH, as in kp=20:200; got kp=low" in capsys.readouterr().err


def test_joint_parameters_go_to_dynamics_and_patterns_keep_the_rest(tmp_path: Path) -> None:
    scene = swing(tmp_path)
    scene.set("robot.dynamics.armature", {".*": 0.02})
    world = mjrig.World(with_others(scene, {"robot.dynamics.armature": {"swing": 0.05}}))
    found = fit(scene, [record(world, chirp(0.3, 0.5, 4.0, 0.5), 0.5)], ["armature"])
    put_fit(found, scene)
    assert scene["robot"].to_data()["dynamics"] == {"armature": {"swing": 0.05}}


def test_the_example_of_the_page_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = ROOT
    if not (root / "docs/fitting.md").exists():
        pytest.skip("no checkout beside the tests")
    text = (root / "docs/fitting.md").read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "config").symlink_to(root / "config")
    (tmp_path / "assets").symlink_to(root / "assets")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "docs/fitting.md", "exec"), names)
    assert "swing  kp" in capsys.readouterr().out
    scene = names["scene"]
    assert isinstance(scene, mjrig.Scene)
    assert mjrig.World(scene)["pendulum"].controllers[0].gains()["kp"] == pytest.approx(80.0)


def test_a_terminal_shows_stage_and_time_left_and_a_file_nothing(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, recording = files
    assert main(["tune", "fit", scene, recording]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    clock = iter(range(10**6))
    monkeypatch.setattr("mjrig.cli.fit_command.time.perf_counter", lambda: float(next(clock)))
    with FitProgress() as progress:
        for text in ("delays", "cost 12.5", "everything together", "cost 1.25", "lack of fit"):
            progress.tell(text)
    shown = capsys.readouterr().err.split("\r\033[K")
    assert shown[1] == "  5%  delays, 1 s, about 19 s left"
    assert "everything together, cost 1.25, 4 s, about" in shown[4]
    assert shown[-1] == ""  # wiped at the end
