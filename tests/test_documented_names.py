"""Every dotted name of mjrig that a page mentions exists after `import mjrig` alone."""

import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Not the paths of files: `package:mjrig.assets/…`.
NAME = re.compile(r"(?<![\w:/.-])mjrig(?:\.[A-Za-z_]\w*)+(?![\w/-])")


def _names(page: Path) -> set[str]:
    groups = {*entry_points().groups, "mjrig.panels"}  # no panel of our own is an entry point
    return {name for name in NAME.findall(page.read_text()) if name not in groups}


@pytest.mark.skipif(not PAGES[0].exists(), reason="the wheel has no pages")
def test_documented_names_exist() -> None:
    names = sorted({name for page in PAGES for name in _names(page)})
    assert "mjrig.sim.export" in names
    modules = [
        "mjrig.components.importers.sources.policy_description"
    ]  # named as a module to import
    for module in modules:
        import_module(module)
    # One process for each would take a minute; a name must not depend on the order either.
    code = f"""
import mjrig
MODULES = {modules!r}
for name in {names!r}:
    value = mjrig
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError as error:
            if name in MODULES:
                break
            print(f"{{name}}: {{error}}")
            break
"""
    result = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert (result.stdout, result.stderr) == ("", "")


def test_a_missing_name_is_an_attribute_error() -> None:
    import mjrig

    with pytest.raises(AttributeError, match=r"module 'mjrig' has no attribute 'no_such_name'"):
        _ = mjrig.no_such_name  # type: ignore[attr-defined]
    assert not hasattr(mjrig, "_private")
