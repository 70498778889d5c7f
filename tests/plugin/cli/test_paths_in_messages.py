"""No message of any command names one path twice, however the path is written."""

import os
import re
from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.campaign import Tally

ARM = "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody></mujoco>"
MESH = "<asset><mesh name='a' file='no.stl'/></asset><worldbody><geom type='mesh' mesh='a'/>"
FILES = {
    "arm.xml": ARM,
    "bad.xml": "<mujoco><worldbody><foo/></worldbody></mujoco>",
    "cut.xml": "<mujoco>",
    "mesh.xml": f"<mujoco>{MESH}</worldbody></mujoco>",
    "part.xml": "<mujoco><include file='nope.xml'/></mujoco>",
    "no_file.yaml": "mjrig: 1\nactors:\n  - {name: a, model: nope.xml}\n",
    "no_mesh.yaml": "mjrig: 1\nactors:\n  - {name: a, model: mesh.xml}\n",
    "inner.yaml": "mjrig: 1\ninclude: [no_file.yaml]\n",
    "text.yaml": ": :",
    "run.h5": "junk",
    "run.npz": "junk",
    "run.csv": "a,b\n1,2\n",
    "policy.yaml": "network: no.onnx\njoints: [j]\n",
}
_PATH = re.compile(r"[\w./~-]*[\w~-]+\.(?:yaml|xml|h5|npz|csv|onnx)\b")


def _twice(text: str) -> list[str]:
    """Paths that a message has twice; a list of what there is instead has names only."""
    said = text.partition("available: ")[0]
    whole = [os.path.realpath(path) for path in _PATH.findall(said)]
    return [path for path in dict.fromkeys(whole) if whole.count(path) > 1]


_COMMANDS = (
    "check {}",
    "export {} -o out.xml",
    "diff s.yaml {}",
    "info {}",
    "convert {} out.npz",
    "replay {} --scene s.yaml",
    "replay run.npz --scene {}",
    "tune assign {} --frequency 3",
    "tune fit s.yaml {}",
    "import {} --model arm.xml -o new/scene.yaml",
)


@pytest.mark.campaign
def test_no_path_is_named_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tally: Tally,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub/deep").mkdir(parents=True)
    for folder in (".", "sub/deep"):
        for file, text in FILES.items():
            Path(folder, file).write_text(text)
    Path("s.yaml").write_text("mjrig: 1\nactors:\n  - {name: a, model: arm.xml}\n")
    folders = ("", "./", "sub/deep/", "sub/../", f"{tmp_path}/", "missing/")
    for rng in tally.cases("paths in messages", 20, 2_000, minutes=2.0):
        path = rng.choice(folders) + rng.choice(list(FILES))
        command = rng.choice(_COMMANDS).format(path).split()
        main(command)
        for line in capsys.readouterr().err.splitlines():
            if _twice(line):
                tally.found(f"{' '.join(command)}: {line}")


@pytest.mark.parametrize("folder", ["", "./", "sub/deep/", "sub/../", "{}/"])
@pytest.mark.parametrize("file", ["bad.xml", "cut.xml", "mesh.xml"])
def test_a_model_that_stands_for_a_scene_is_named_once(
    folder: str,
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(folder.format(tmp_path), file)
    Path("sub/deep").mkdir(parents=True)
    path.write_text(FILES[file])
    assert main(["check", f"{folder.format(tmp_path)}{file}"]) == 1
    assert not _twice(capsys.readouterr().err)
