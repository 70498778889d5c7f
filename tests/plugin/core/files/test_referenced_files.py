"""The files of a model, each read once however it is named."""

from pathlib import Path

import pytest

from mjrig.core.files import paths
from mjrig.core.files.paths import model_files

INCLUDES = '<mujoco><include file="../parts/a.xml"/><include file="b/../../parts/a.xml"/></mujoco>'


def test_files_that_include_each_other_by_way_of_other_folders_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("robot/b", "parts"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "robot" / "r.xml").write_text(INCLUDES)
    (tmp_path / "parts" / "a.xml").write_text(
        '<mujocoinclude><include file="../robot/r.xml"/></mujocoinclude>'
    )
    read: list[str] = []
    contents = paths._contents

    def counted(path: Path) -> object:
        read.append(path.name)
        return contents(path)

    monkeypatch.setattr(paths, "_contents", counted)
    model_files(tmp_path / "robot" / "r.xml")
    assert sorted(read) == ["a.xml", "r.xml"]
