"""Editor tests leave the user's own settings, caches and unsaved scenes alone."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in place of the user's; also of unsaved scenes."""
    folder = tmp_path_factory.mktemp("user")
    monkeypatch.setenv("MJRIG_STATE", str(folder / "unsaved"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder
