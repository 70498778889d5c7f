"""Inside lab only rollouts builds or steps worlds (fits excepted), only findings has sentences."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mjrig.lab
from mjrig.lab.findings.texts import TEXTS
from tests.places import ROOT

LAB = Path(next(iter(mjrig.lab.__path__)))
#: May build and step worlds.
EXPERIMENTS = ("rollouts", "fit")
BUILDERS = {"World", "Batch", "PolicyBatch", "WarpBatch"}
#: Names of variables that hold a world or a batch.
HOLDERS = {"world", "worlds", "batch", "template"}


def uses_of_worlds(source: str) -> list[tuple[int, str]]:
    """Line and text of everything that builds or steps a world or a batch."""
    uses = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and last_name(node.func) in BUILDERS:
            uses.append((node.lineno, ast.unparse(node.func)))
        if isinstance(node, ast.Attribute) and node.attr == "step":
            if last_name(node.value).lstrip("_") in HOLDERS:
                uses.append((node.lineno, ast.unparse(node)))
        if isinstance(node, ast.Attribute) and node.attr.startswith("mj_step"):
            uses.append((node.lineno, ast.unparse(node)))
    return sorted(uses)


def last_name(node: ast.expr) -> str:
    """`batch` of `self.batch`, and of `batch`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def modules() -> list[Path]:
    return [p for p in sorted(LAB.rglob("*.py")) if p.relative_to(LAB).parts[0] not in EXPERIMENTS]


def test_only_rollouts_builds_and_steps_worlds() -> None:
    assert len(modules()) > 50
    uses = {p: uses_of_worlds(p.read_text("utf-8")) for p in modules()}
    assert {str(p.relative_to(LAB)): lines for p, lines in uses.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "World(scene)",
        "sim.Batch(scene, 3)",
        "WarpBatch(world, 1).step",
        "world.step()",
        "self._world.step(2)",
        "advance = host.world.step",
        "self.batch.step(1)",
        "mujoco.mj_step(model, data)",
    ],
)
def test_uses_are_recognised(line: str) -> None:
    assert len(uses_of_worlds(line)) == 1


def test_other_steps_are_not_taken_for_one() -> None:
    assert uses_of_worlds("host.step()\nrecorded.step[3]\nbuild_world(scene)\njudge.step(r)") == []


# Sentences of findings --------------------------------------------------------------------------

#: Makers of findings; the kind is their first argument.
MAKERS = {"error", "warning", "note", "Finding", "replay_finding", "RequestError", "RejectionError"}
#: Makers of remedies: their texts are labels of buttons, pieces of a scene file.
REMEDIES = {"Remedy", "setting", "adding", "patching"}
#: The module of each maker, so that a local function of that name is none.
MAKER_MODULES = ("core.findings", "replay.finding", "bridges.protocol", "bridges.traffic")
#: Place of the form among the arguments of `replay_finding`.
FORM = 4
#: Diagnoses whose values here and in the recording have no number: they are described.
DESCRIBED = ("timing_hypotheses.py",)
#: A text with more words is a sentence.
MOST_WORDS = 3


def makers_of(tree: ast.Module) -> set[str]:
    """The makers of findings that a module imports."""
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules = [n for n in imports if (n.module or "").endswith(MAKER_MODULES)]
    return {alias.name for n in modules for alias in n.names} & MAKERS


def calls_of(tree: ast.Module) -> Iterator[ast.Call]:
    """The calls that make findings."""
    makers = makers_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in makers:
                yield node


def sentences(source: str) -> list[str]:
    """Texts of several words that are values of a finding."""
    found = []
    for call in calls_of(ast.parse(source)):
        values = [*call.args[1:], *(k.value for k in call.keywords if k.arg != "form")]
        if call.args and isinstance(call.args[0], ast.JoinedStr):
            values.append(call.args[0])
        for node in [node for value in values for node in parts_of(value)]:
            if isinstance(node, ast.Constant | ast.JoinedStr):
                text = ast.unparse(node) if isinstance(node, ast.JoinedStr) else str(node.value)
                if (
                    len(re.findall(r"[A-Za-z]{2,}", re.sub(r"\{.*?\}", "", text))) > MOST_WORDS
                    and text not in TEXTS
                ):
                    found.append(text)
    return found


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """A value and all in it, without the remedies."""
    if isinstance(node, ast.Call) and last_name(node.func) in REMEDIES:
        return
    yield node
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from parts_of(child)


def forms(source: str) -> list[str]:
    """The entries of the table that a module names: of each finding its form, else its kind."""
    found = []
    for call in calls_of(ast.parse(source)):
        form = next((k.value for k in call.keywords if k.arg == "form"), None)
        if last_name(call.func) == "replay_finding" and len(call.args) > FORM:
            form = call.args[FORM]
        name = call.args[0] if form is None and call.args else form
        if isinstance(name, ast.Constant) and name.value:
            found.append(str(name.value))
    return found


def sources() -> dict[str, str]:
    """Every module that may make findings, but the package with their sentences."""
    paths = [p for name in ("plugin", "components", "editor") for p in (ROOT / name).rglob("*.py")]
    return {
        str(p.relative_to(ROOT)): p.read_text("utf-8")
        for p in paths
        if "lab/findings" not in p.as_posix() and "findings" in p.read_text("utf-8")
    }


def test_only_findings_writes_sentences() -> None:
    found = {n: sentences(s) for n, s in sources().items() if not n.endswith(DESCRIBED)}
    assert len(found) > 30
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_every_finding_has_an_entry_in_the_table() -> None:
    named = {name: forms(source) for name, source in sources().items()}
    assert sum(map(len, named.values())) > 130
    missing = {name: [f for f in found if f not in TEXTS] for name, found in named.items()}
    assert {name: found for name, found in missing.items() if found} == {}


IMPORTS = "from mjrig.core.findings import error, note, warning, adding\n"
REQUESTS = "from mjrig.components.bridges.protocol import RequestError\n"


@pytest.mark.parametrize(
    "line",
    [
        IMPORTS + 'warning("kp", "dog", text="the gain is too high")',
        IMPORTS + 'error("kp", "dog", reason=f"the gain {kp} is too high")',
        IMPORTS + 'note("kp", "dog", here={"a": "much too high here"})',
        IMPORTS + 'note("kp", "dog", ways=["raise the gain a bit", kp])',
        REQUESTS + 'raise RequestError(f"{name}: must be finite numbers")',
    ],
)
def test_sentences_are_recognised(line: str) -> None:
    assert len(sentences(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        IMPORTS + 'warning("no-limit", "dog", form="no-limit servo unbounded", unit="N·m")',
        IMPORTS + 'note("kp", "dog", remedies=(adding("add a collision group", path, value),))',
        'def error(kind, text): ...\nerror("kp", "a text of many words")',
    ],
)
def test_other_texts_are_not_taken_for_sentences(line: str) -> None:
    assert sentences(line) == []


def test_forms_and_kinds_are_recognised() -> None:
    assert forms(IMPORTS + 'warning("kp", "dog"); note("kp", "", form="kp high")') == [
        "kp",
        "kp high",
    ]
