"""The notebooks run from top to bottom, in a plain interpreter and in a kernel of Jupyter."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.places import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.skipif(not NOTEBOOKS, reason="there is no checkout beside the tests")


def cells(path: Path) -> list[str]:
    """The code of a notebook."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in document["cells"] if c["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs_without_jupyter_and_without_a_display(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("onnxruntime")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    for code in cells(path):
        exec(compile(code, path.name, "exec"), names)
    matplotlib.pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs_in_a_kernel(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="pip install nbclient ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="pip install nbclient ipykernel")
    pytest.importorskip("ipykernel", reason="pip install nbclient ipykernel")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook, timeout=240, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    shown = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert any("image/png" in o.get("data", {}) for o in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_is_stored_without_results(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    code = [c for c in document["cells"] if c["cell_type"] == "code"]
    assert all(not c["outputs"] and c["execution_count"] is None for c in code)
