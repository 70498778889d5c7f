"""The documentation site: links lead somewhere, pages are listed, generated ones are current."""

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.places import DOCS, ROOT

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="there is no checkout beside the tests"
)
PAGES = sorted(DOCS.rglob("*.md")) if DOCS.is_dir() else []
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text(encoding="utf-8")))


@cache
def anchors(path: Path) -> frozenset[str]:
    """What a link into a page may name, as GitHub and the site make them."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    names = []
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip()
        name = plain.replace(" ", "-")
        count = found[name] = found.get(name, -1) + 1
        names.append(f"{name}-{count}" if count else name)
    return frozenset(names)


def dead(page: Path) -> list[str]:
    """Links of a page to files or headings that are not there."""
    found = []
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_link_and_image_is_there(page: Path) -> None:
    assert dead(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One `two`\n[x](#one-two) [y](b.md) ![z](c.png) [w](#none) `[v](d.md)`\n")
    assert dead(page) == ["b.md", "c.png", "#none"]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_the_files_at_the_root_link_to_what_is_there(name: str) -> None:
    assert dead(ROOT / name) == []


def test_every_page_is_in_the_navigation() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    trees = "\n".join(re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL))
    listed = set(re.findall(r"^([\w/-]+)$", trees, re.MULTILINE))
    assert listed == {p.relative_to(DOCS).with_suffix("").as_posix() for p in PAGES} - {"index"}


def test_no_page_needs_the_internet() -> None:
    """Pictures and scripts are served from the site itself."""
    for page in PAGES:
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(?:script|img|link)[^>]+https?:", prose(page))


def test_the_gallery_shows_every_clip_of_its_script_and_no_other() -> None:
    script = (ROOT / "tools" / "gallery.py").read_text(encoding="utf-8")
    clips = dict(re.findall(r'"(\w+)": Clip\("(\w+\.yaml)"', script))
    drawn = {p.stem for p in (DOCS / "images" / "gallery").glob("*.webp")}
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert set(clips) == drawn == set(re.findall(r"gallery/(\w+)\.webp", page))
    assert all(
        scene in page and (ROOT / "config/scenes" / scene).exists() for scene in clips.values()
    )


def test_the_page_of_commands_is_current() -> None:
    pytest.importorskip("imgui_bundle")
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        reference = import_module("command_reference")
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == reference.page()
