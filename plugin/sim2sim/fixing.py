"""Repairs: the edits of a finding, made in the scene and in the policy file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mjrig.control.policy import PolicyComponent
from mjrig.errors import MjrigError, PolicyError
from mjrig.files.writing import write_atomically
from mjrig.names import listed
from mjrig.scene.scene_path import existing, path_of
from mjrig.scene_edit.scene import Scene
from mjrig.sim2sim.compare.authored import change_text
from mjrig.sim2sim.compare.finding import RepairEdit, ReplayFinding
from mjrig.sim2sim.compare.result import Replay
from mjrig.yaml_text.yaml_document import Document
from mjrig.yaml_text.yaml_edit import updated_text

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def repairable(result: Replay) -> ReplayFinding | None:
    """The first finding that is claimed as a cause and can be repaired by an edit."""
    return next((f for f in result.diagnosis if f.confident and f.fix), None)


def fix(finding: ReplayFinding, scene: Scene | None, policy: Path | None) -> list[str]:
    """Make the edits of a finding and save; returns what was changed, one line each.

    Either all files are written or none that comes later: every edit is tried before the first
    file is replaced.

    Raises:
        MjrigError: a file is missing or cannot be written, or a value does not fit.
    """
    mine = [e for e in finding.fix if e.file == "scene"]
    theirs = [e for e in finding.fix if e.file == "policy"]
    if mine and (scene is None or scene.path is None):
        raise MjrigError(f"{finding.what} is repaired in the scene: give its file, --scene SCENE")
    if theirs and policy is None:
        raise MjrigError(f"{finding.what} is repaired in the policy file, and there is none")
    said: list[str] = []
    text = ""
    if policy is not None and theirs:
        text, said = edited_policy(policy, theirs)
    if scene is not None and mine:
        said += set_in_scene(scene, mine, f"{scene.path}: ")
        scene.save()
    if policy is not None and theirs:
        write_atomically(policy, text)
    return said


def set_in_scene(scene: Scene, edits: Sequence[RepairEdit], file: str = "") -> list[str]:
    """Make edits in a scene; returns what changed, one line each, beginning with `file`.

    Raises:
        MjrigError: a value does not fit.
    """
    said = []
    for edit in edits:
        owner, _, name = edit.path.rpartition(".")
        holder = existing(scene, owner)
        before = None if holder is None or name not in holder._authored else holder.authored(name)
        scene.set(edit.path, edit.value)
        said.append(f"{file}{edit.path}: {change_text(before, edit)}")
    return said


def policy_file(scene: Scene, robot: str = "") -> Path | None:
    """The file of the only policy of a scene, or of one of its actors; None: there is no such."""
    found = _policy(scene, robot)
    return None if found is None else found.find_file(found.__dict__["file"])


def policy_path(scene: Scene, robot: str = "") -> str:
    """The path of that policy in the scene: `dog.Policy`."""
    found = _policy(scene, robot)
    return "" if found is None else path_of(found)


def _policy(scene: Scene, robot: str) -> PolicyComponent | None:
    found = [
        component
        for actor in scene.actors
        for component in actor.components
        if isinstance(component, PolicyComponent)
        and component.__dict__.get("file") is not None
        and robot in ("", actor.name)
    ]
    return found[0] if len(found) == 1 else None


def edited_policy(path: Path, edits: Sequence[RepairEdit]) -> tuple[str, list[str]]:
    """The text of a policy file after edits, and what changes, one line each.

    Raises:
        PolicyError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: cannot be read: {error}") from error
    document = Document(text, str(path))
    data, said = _copied(document.data), []
    for edit in edits:
        before = _put(data, edit.path, edit.value)
        said.append(f"{path}: {edit.path}: {change_text(before, edit)}")
    return updated_text(document, data), said


def _copied(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _copied(v) for k, v in data.items()}
    return [_copied(v) for v in data] if isinstance(data, list) else data


def _put(data: Any, path: str, value: object) -> object:
    """Set a value by path; returns the one before, None if there was none."""
    keys: list[Any] = [name or int(place) for name, place in _PART.findall(path)]
    *parents, last = keys
    for key in parents:
        if isinstance(data, dict) and data.get(key) is None:
            data[key] = {}
        data = data[key]
    before = data.get(last) if isinstance(data, dict) else data[last]
    data[last] = value
    return before


def about(result: Replay) -> str:
    """Why there is nothing to repair."""
    if not result.diagnosis:
        return "nothing to fix: the diagnosis has no finding"
    names = listed(f.what for f in result.diagnosis[:3])
    return f"nothing to fix: no finding is both certain and repaired by one edit ({names})"
