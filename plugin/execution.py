"""Which way the controllers run, and why."""

from dataclasses import dataclass

from mjrig.errors import ExecutionError
from mjrig.names import suggestion

EXECUTIONS = ("auto", "python", "native", "compiled")


@dataclass(frozen=True)
class Execution:
    """The chosen execution and the reason for it."""

    name: str
    reason: str

    def __str__(self) -> str:
        return self.name


def choose(requested: str) -> Execution:
    """Resolve what was asked for.

    Raises:
        ExecutionError: it is not known, or not available in this version.
    """
    if requested not in EXECUTIONS:
        hint = suggestion(requested, EXECUTIONS)
        raise ExecutionError(f"there is no execution {requested!r}; {hint}")
    if requested in ("native", "compiled"):
        raise ExecutionError(
            f"execution {requested!r} is not available yet; use 'python' (or 'auto')"
        )
    reason = "asked for" if requested == "python" else "the only execution available"
    return Execution("python", reason)
