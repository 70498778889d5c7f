"""Fix: the edits of a finding, made as one edit of the scene that can be undone."""

from pathlib import Path

from mjrig.core.files.atomic_writes import write_atomically
from mjrig.core.findings import Finding
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.lab.findings.remedies import apply
from mjrig.lab.replay.repairs import policy_file, policy_path


def fix(state: EditorState, finding: Finding, robot: str = "") -> list[str]:
    """Repair a finding in the open scene; returns what was changed, one line each.

    A policy file is left alone: its repaired copy is written beside it, and the scene uses that.

    Raises:
        MjrigError: a value does not fit, or there is no policy file; nothing was changed.
    """
    with state.session.edit(tr("Fix {what}", what=finding.kind)) as scene:
        path = policy_file(scene, robot)
        applied = apply([finding], scene, path)
        lines = applied.lines
        if path is not None and applied.policy_text:
            copy = _free(path)
            write_atomically(copy, applied.policy_text)
            scene.set(f"{policy_path(scene, robot)}.file", str(copy))
            lines = [*lines, tr("written to {copy}", copy=copy)]
    return lines


def _free(path: Path) -> Path:
    """A name beside a file that is not taken."""
    number = 1
    while True:
        more = "" if number == 1 else f"-{number}"
        found = path.with_name(f"{path.stem}-fixed{more}{path.suffix}")
        if not found.exists():
            return found
        number += 1
