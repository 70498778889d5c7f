"""Files are told of when their content changed and is written to the end."""

import os
from pathlib import Path

from mjrig.core.scene.editing.file_watch import INTERVAL, FileWatch


class Looks:
    """A watch, looked at second by second."""

    def __init__(self, *files: Path) -> None:
        self.watch, self.now = FileWatch(), 0.0
        self.watch.follow(files)

    def __call__(self, times: int = 3) -> list[str]:
        found: list[str] = []
        for _ in range(times):
            self.now += INTERVAL
            assert self.watch.is_due(self.now)
            found += [path.name for path in self.watch.look(self.now)]
        return found


def test_a_change_is_told_once_and_a_touch_never(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text("one")
    looks = Looks(file)
    assert looks() == []
    os.utime(file, (1, 1))
    assert looks() == []
    file.write_text("two")
    assert looks(5) == ["a.xml"]
    file.write_text("one")
    assert looks(5) == ["a.xml"]
    assert not looks.watch.is_due(looks.now + 0.5 * INTERVAL)


def test_a_file_that_is_still_written_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "a.stl"
    file.write_text("")
    looks = Looks(file)
    for i in range(4):
        file.write_text("x" * (i + 1))
        assert looks(1) == []
    assert looks(1) == ["a.stl"]


def test_a_file_that_is_replaced_may_be_gone_for_a_while(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("one")
    looks = Looks(file)
    file.unlink()
    assert looks() == []
    file.write_text("one")
    assert looks() == []  # as before
    file.unlink()
    file.write_text("two")
    assert looks() == ["a.yaml"]


def test_a_file_that_comes_to_be_named_is_watched_from_then_on(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    looks = Looks(one)
    one.write_text("new")
    two.write_text("there")
    assert looks() == ["1"]
    looks.watch.follow([two])
    one.write_text("not any more")
    assert looks() == []
    two.write_text("changed")
    assert looks() == ["2"]
