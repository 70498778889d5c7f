"""Fix: the edits of a finding, made as one edit of the scene that can be undone."""

from pathlib import Path

from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.errors import MjrigError
from mjrig.files.writing import write_atomically
from mjrig.sim2sim.compare.finding import ReplayFinding
from mjrig.sim2sim.fixing import edited_policy, policy_file, policy_path, set_in_scene


def fix(state: EditorState, finding: ReplayFinding, robot: str = "") -> list[str]:
    """Repair a finding in the open scene; returns what was changed, one line each.

    A policy file is left alone: its repaired copy is written beside it, and the scene uses that.

    Raises:
        MjrigError: a value does not fit, or there is no policy file; nothing was changed.
    """
    mine = [e for e in finding.fix if e.file == "scene"]
    theirs = [e for e in finding.fix if e.file == "policy"]
    with state.session.edit(tr("Fix {what}", what=finding.what)) as scene:
        said = set_in_scene(scene, mine)
        if theirs:
            path = policy_file(scene, robot)
            if path is None:
                raise MjrigError(
                    tr("{what} is repaired in a policy file, and there is none", what=finding.what)
                )
            text, changes = edited_policy(path, theirs)
            copy = _free(path)
            write_atomically(copy, text)
            scene.set(f"{policy_path(scene, robot)}.file", str(copy))
            said += [*changes, tr("written to {copy}", copy=copy)]
    return said


def _free(path: Path) -> Path:
    """A name beside a file that is not taken."""
    number = 1
    while True:
        more = "" if number == 1 else f"-{number}"
        found = path.with_name(f"{path.stem}-fixed{more}{path.suffix}")
        if not found.exists():
            return found
        number += 1
