"""The main guard: worker processes import the main script, and run it again if it lacks the guard.

The script's text is checked before the first process is started. A script whose text leaves it open
is detected in the worker processes, which end silently, and the main process raises the error.
"""

import ast
import os
import sys
from multiprocessing import current_process
from pathlib import Path
from types import FrameType

from mjrig.errors import MjrigError

#: Exit code of a worker process whose main script started processes while it was imported.
UNGUARDED = 86
#: A condition with one of these names can distinguish the main process from a worker process.
_PROCESS_NAMES = frozenset(("__name__", "parent_process", "current_process"))


def check_main_guard() -> None:
    """Raise if worker processes would run the calling script again; call it before starting them.

    Raises:
        MjrigError: the call is at the top level of the main script and not below a guard, or the
            script is not a file.
    """
    if getattr(current_process(), "_inheriting", False):  # a worker that imports the main script
        os._exit(UNGUARDED)
    line = _line_in_main()
    path = _imported_again()
    if path is not None and not path.is_file():
        raise MjrigError(
            f"worker processes import the main script, and {path.name} is not a file; save the "
            'script to a file, and put the call below `if __name__ == "__main__":`'
        )
    if line and path is not None and is_unguarded(path, line):
        raise unguarded_error(f"{path.name}, line {line}: ")


def unguarded_error(place: str = "") -> MjrigError:
    """The error of a script that would run again in every worker process."""
    return MjrigError(
        f"{place}worker processes import the main script, which would run it again; put the call "
        'below `if __name__ == "__main__":`'
    )


def _imported_again() -> Path | None:
    """The script that a spawned process imports; None: it imports none."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name.split(".")[-1] == "__main__":
        return None  # a package or archive that is run as a program is not imported again
    file = getattr(main, "__file__", None)
    return Path(file) if file and Path(file).stem != "ipython" else None


def _line_in_main() -> int:
    """The line of the main script's top level that is being run; 0: none, as in a thread."""
    main = sys.modules.get("__main__")
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals is getattr(main, "__dict__", 0):
            return frame.f_lineno
        frame = frame.f_back
    return 0


def is_unguarded(path: Path, line: int) -> bool:
    """Whether a worker process that imports a script certainly runs this line of its top level."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    nodes = (n for n in ast.walk(tree) if getattr(n, "lineno", line) <= line)
    return not any(_depends_on_process(node) for node in nodes)


def _depends_on_process(node: ast.AST) -> bool:
    """Whether a statement or expression has a condition that differs in a worker process."""
    condition = node if isinstance(node, ast.Compare) else getattr(node, "test", None)
    condition = node.subject if isinstance(node, ast.Match) else condition
    parts = ast.walk(condition) if isinstance(condition, ast.AST) else ()
    names = {getattr(n, "id", getattr(n, "attr", "")) for n in parts}
    return not names.isdisjoint(_PROCESS_NAMES)
