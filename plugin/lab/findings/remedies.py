"""Remedies applied: the edits of findings, made in a scene and in the text of a policy file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError, PolicyError
from mjrig.core.findings import Finding, RepairEdit
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import existing
from mjrig.core.yaml_text.yaml_document import Document
from mjrig.core.yaml_text.yaml_edit import updated_text

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


@dataclass(frozen=True)
class Applied:
    """What was changed, one line for each edit, and the new text of the policy file."""

    lines: list[str]
    policy_text: str = ""


def apply(findings: Iterable[Finding], scene: Scene | None, policy: Path | None = None) -> Applied:
    """Make the edits of the first remedy of findings, all or none; no file is written.

    Args:
        findings: with remedies.
        scene: that the findings are about.
        policy: the policy file; only read.

    Raises:
        MjrigError: the scene or the policy file is missing, or a value does not fit.
    """
    edits = [(finding, edit) for finding in findings for edit in finding.edits]
    in_policy = [(finding, edit) for finding, edit in edits if edit.file == "policy"]
    in_scene = [(finding, edit) for finding, edit in edits if edit.file == "scene"]
    text, lines = "", []
    if in_policy:
        if policy is None:
            raise MjrigError(f"{in_policy[0][0].kind} is repaired in the policy file, not found")
        text, lines = _edit_policy(policy, [edit for _, edit in in_policy])
    if in_scene:
        if scene is None:
            raise MjrigError(
                f"{in_scene[0][0].kind} is repaired in the scene: pass its file, --scene SCENE"
            )
        with scene.changes():
            lines += [_edit_scene(scene, edit) for _, edit in in_scene]
    return Applied(lines, text)


def _edit_scene(scene: Scene, edit: RepairEdit) -> str:
    owner, _, name = edit.path.rpartition(".")
    holder = existing(scene, owner)
    before = None if holder is None or name not in holder._authored else holder.authored(name)
    edit.apply(scene)
    file = f"{scene.path}: " if scene.path is not None else ""
    return f"{file}{edit.path}: {change_text(before, edit)}"


def _edit_policy(path: Path, edits: Sequence[RepairEdit]) -> tuple[str, list[str]]:
    """The text of a policy file after edits, and the changes, one line each."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: cannot be read: {error}") from error
    document = Document(text, str(path))
    data, lines = _copied(document.data), []
    for edit in edits:
        before = _put(data, edit.path, edit.value)
        lines.append(f"{path}: {edit.path}: {change_text(before, edit)}")
    return updated_text(document, data), lines


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


def change_text(before: Any, edit: RepairEdit) -> str:
    """The change of a value, old → new."""
    return edit.changed or f"{plain(before)} → {plain(edit.value)}"


def plain(value: Any) -> str:
    """A value on one line; None: `not given`."""
    if value is None:
        return "not given"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k}: {plain(v)}' for k, v in value.items())}}}"
    return str(value)
