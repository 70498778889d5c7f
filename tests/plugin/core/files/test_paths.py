"""Files are written whole or not at all, and found by the names a scene uses."""

import os
import stat
from pathlib import Path

import pytest

from mjrig.core.errors import PropertyError
from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.files.paths import find_file, read_limited
from tests.wording import matches


def test_a_new_file_gets_the_permissions_any_new_file_gets(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.txt", "größe\r\n")
    (tmp_path / "b.txt").touch()
    assert (tmp_path / "a.txt").read_bytes() == "größe\r\n".encode()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_an_old_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    file.chmod(0o604)
    write_atomically(file, "new")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", 0o604)


def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(5, "broken")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="broken"):
        write_atomically(file, "new")
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert file.read_text() == "old"


def test_a_file_is_found_beside_the_scene_or_by_its_absolute_name(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.touch()
    assert find_file(Path("a.xml"), tmp_path) == file
    assert find_file(file, Path("/")) == file


def test_a_file_is_found_in_a_package() -> None:
    found = find_file(Path("package:mjrig.assets/arm/arm.xml"), Path("/"))
    assert found.is_file()
    assert found.name == "arm.xml"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mdel.xml", "there is no file '{0}/mdel.xml'; … 'model.xml'?"),
        ("zzz", "there is no file '{0}/zzz'; … model.xml, other.xml"),
        ("no/model.xml", "there is no file '{0}/no/model.xml'; … '{0}/no' …"),
        ("empty/model.xml", "there is no file '{0}/empty/model.xml'"),
        ("package:no_such/x.xml", "there is no installed … 'no_such'"),
        ("package:mjrig.assets/x.xml", "the package 'mjrig.assets' has no … 'x.xml'"),
        ("package:mjrig.assets", "the package 'mjrig.assets' has no … ''"),
        ("package:/x.xml", "there is no installed … ''"),
    ],
)  # fmt: skip
def test_a_missing_file_names_the_nearest(tmp_path: Path, name: str, expected: str) -> None:
    (tmp_path / "model.xml").touch()
    (tmp_path / "other.xml").touch()
    (tmp_path / "empty").mkdir()
    with pytest.raises(PropertyError) as caught:
        find_file(Path(name), tmp_path)
    assert matches(caught.value, expected.format(tmp_path))


@pytest.mark.parametrize("limit", [0, 1, 5, 6, 7, 100_000])
def test_files_are_read_up_to_a_limit_whatever_size_they_say(limit: int, tmp_path: Path) -> None:
    """Files in /proc say that they are empty."""
    places = [tmp_path / f"f{size}" for size in (0, 1, 6, 7)]
    for place in places:
        place.write_bytes(b"x" * int(place.name[1:]))
    for place in (*places, *filter(Path.exists, [Path("/proc/self/limits")])):
        whole = place.read_bytes()
        if len(whole) <= limit:
            assert read_limited(place, limit) == whole
        else:
            with pytest.raises(OSError, match="at most"):
                read_limited(place, limit)
