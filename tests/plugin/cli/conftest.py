"""A folder with a model, a scene and a recording of it, for any command."""

from pathlib import Path

import pytest

from mjrig.cli.main import main
from tests.command_lines import ARM, SCENE


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A tenth of a second of the scene."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "arm.xml").write_text(ARM)
    (folder / "s.yaml").write_text(SCENE)
    path = folder / "run.h5"
    assert main(["run", str(folder / "s.yaml"), "--duration", "0.1", "--record", str(path)]) == 0
    return path.read_bytes()


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recording: bytes) -> Path:
    """The folder, and the current one."""
    monkeypatch.chdir(tmp_path)
    Path("arm.xml").write_text(ARM)
    Path("s.yaml").write_text(SCENE)
    Path("run.h5").write_bytes(recording)
    return tmp_path
