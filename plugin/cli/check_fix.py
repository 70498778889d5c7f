"""`mjrig check --fix`: fixes of findings written into the scene file."""

from collections.abc import Iterator, Sequence

from mjrig.cli.options import check_rewritable
from mjrig.core.errors import MjrigError, PropertyError
from mjrig.core.findings import Finding, Level
from mjrig.core.names import suggestion
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.check.preflight import findings
from mjrig.lab.findings.remedies import apply


def fix(scene: Scene, codes: Sequence[str], *, is_changed: bool) -> Iterator[str]:
    """Apply the first remedy of findings to a scene and save it, at once.

    Args:
        scene: from a file.
        codes: of the findings; empty: of all errors and warnings.
        is_changed: whether options changed it after it was read.

    Yields:
        What was changed, and what was not, as lines of text.

    Raises:
        PropertyError: nothing has such a code, or options changed the scene.
        MjrigError: the file cannot be written.
    """
    if is_changed:
        raise PropertyError("--fix would also write the values of --set and --var; drop them")
    check_rewritable(scene)
    found = findings(World(scene))
    known = {finding.kind for finding in found}
    for code in codes:
        if code not in known:
            hint = suggestion(code, known) if known else "there are no findings"
            raise PropertyError(f"no finding is of code {code!r}; {hint}")
    chosen = [f for f in found if (f.kind in codes if codes else f.severity is not Level.NOTE)]
    before = scene.to_text()
    for finding in chosen:
        yield from _fixed(scene, finding)
    if scene.to_text() == before:
        yield "nothing was written"
        return
    World(scene)  # what cannot be built any more is not written
    scene.save()
    yield f"wrote {scene.path}; {scene.path}~ is the backup"


def _fixed(scene: Scene, finding: Finding) -> Iterator[str]:
    name = f"[{finding.kind}] {finding.where}"
    if not finding.remedies:
        yield f"not fixed {name}: {finding.by_hand or finding.fix or finding.text}"
        return
    try:
        apply([finding], scene)
    except MjrigError as error:  # an earlier fix may exclude it
        yield f"not fixed {name}: {error}"
        return
    yield from (f"fixed {name}: {edit}" for edit in finding.edits)
