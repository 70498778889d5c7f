"""Editor tests leave the user's own settings, caches and unsaved scenes alone."""

from importlib.util import find_spec
from pathlib import Path

import pytest

#: Most of these tests import the window's toolkit; without it there is nothing to test.
_HERE = find_spec("imgui_bundle") is not None
collect_ignore_glob = [] if _HERE else ["test_*.py", "*/test_*.py", "web"]


def pytest_report_header() -> list[str]:
    """Say that they are left out."""
    return [] if _HERE else ["tests/editor is left out: imgui-bundle is not installed"]


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in place of the user's; also of unsaved scenes."""
    folder = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("MJRIG_STATE", str(folder / "unsaved"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder
