"""Which tests `make test-fast` runs for which files."""

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from tests.places import ROOT

TOOL = ROOT / "tools" / "changed_tests.py"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="there is no checkout beside the tests")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = spec_from_file_location("changed_tests", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["plugin/core/scene/pose.py"], ["tests/plugin/core/scene"]),
        (["plugin/core/sim/gone.py", "editor/ui/x.py"],
         ["tests/editor/ui", "tests/plugin/core/sim"]),
        (["plugin/core/names.py"],
         [f"tests/plugin/core/test_{name}.py"
          for name in ("attributes", "large_arrays", "names", "pattern_parts", "patterns",
                       "slots")]),
        (["components/importers/stacks/rl_sar.py"], ["tests/components/importers/stacks"]),
        (["tests/plugin/core/scene/test_include.py", "plugin/core/scene/pose.py"],
         ["tests/plugin/core/scene"]),
        (["tests/plugin/core/scene/test_include.py"], ["tests/plugin/core/scene/test_include.py"]),
        (["tests/plugin/core/scene/test_gone.py"], []),
        (["tests/editor/inspector/inspected.py"], ["tests/editor/inspector"]),
        (["docs/scene.md", "README.md", "CHANGELOG.md"], ["tests/test_readme.py"]),
        (["pyproject.toml"], ["tests/test_packaging.py"]),
    ],
)  # fmt: skip
def test_a_file_is_tested_by_its_package(
    tool: ModuleType, files: list[str], expected: list[str]
) -> None:
    assert tool.tests_of(files) == expected


def test_packages_are_added_by_name(tool: ModuleType) -> None:
    found = tool.tests_of(["plugin/core/scene/pose.py"], ["sim", "session"])
    assert found == ["tests/editor/session", "tests/plugin/core/scene", "tests/plugin/core/sim"]


def test_every_package_that_has_tests_of_its_own_is_found(tool: ModuleType) -> None:
    for folder in ("plugin", "components", "editor"):
        for module in (ROOT / folder).rglob("*.py"):
            package = module.parent.relative_to(ROOT)
            if module.name != "__init__.py" and len(package.parts) > 1:
                assert tool.tests_of([str(module.relative_to(ROOT))]), module
