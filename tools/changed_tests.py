"""The tests of the packages that changed since HEAD, one path per line; `make test-fast` runs them.

    python tools/changed_tests.py           # of changed and new files
    python tools/changed_tests.py sim cli   # and of these packages, wherever they are

The tests mirror the packages: plugin/core/scene/pose.py is tested by tests/plugin/core/scene.
`make test` finds the effects of a change on other packages.
"""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
CODE = ("plugin", "components", "editor")
LAYERS = tuple(f"tests/plugin/{layer}" for layer in ("core", "data", "lab"))
#: Files outside the packages, and the tests that read them.
ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs": "tests/test_readme.py",
    "pyproject.toml": "tests/test_packaging.py",
    "setup.py": "tests/test_packaging.py",
    "config": "tests/components/controllers/test_robots.py",
    "assets": "tests/components/controllers/test_robots.py",
}


def changed(root: Path = ROOT) -> list[str]:
    """Files that differ from HEAD, and files git does not know yet."""
    differ = ["git", "diff", "--name-only", "--relative", "HEAD"]
    unknown = ["git", "ls-files", "--others", "--exclude-standard"]
    return [
        line
        for command in (differ, unknown)
        for line in subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]


def tests_of(files: Iterable[str], packages: Iterable[str] = (), root: Path = ROOT) -> list[str]:
    """Test files and folders, none inside of another one."""
    found = {path for file in files for path in _tests_of_file(PurePosixPath(file), root)}
    for package in packages:
        found |= {str(f.relative_to(root)) for f in (root / "tests").rglob(package) if f.is_dir()}
    return sorted(p for p in found if not any(str(q) in found for q in PurePosixPath(p).parents))


def _tests_of_file(file: PurePosixPath, root: Path) -> Iterator[str]:
    if file.parts[0] in CODE:
        yield from _nearest(PurePosixPath("tests") / file.parent, root)
    elif file.parts[0] == "tests" and file.suffix == ".py":
        if file.name.startswith("test_") and (root / file).is_file():
            yield str(file)
        elif not file.name.startswith("test_"):
            yield from _nearest(file.parent, root)
    elif file.parts[0] in ELSEWHERE:
        yield ELSEWHERE[file.parts[0]]


def _nearest(folder: PurePosixPath, root: Path) -> Iterator[str]:
    """The folder of tests that mirrors a package; of a layer, only the files right there."""
    while not (root / folder).is_dir():
        folder = folder.parent
    if len(folder.parts) > 2 and str(folder) not in LAYERS:
        yield str(folder)
    else:
        yield from (str(f.relative_to(root)) for f in (root / folder).glob("test_*.py"))


def main(packages: list[str]) -> None:
    """Print them."""
    for path in tests_of(changed(), packages):
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
