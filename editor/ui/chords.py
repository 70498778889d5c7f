"""Key chords."""

from typing import Any


def chord(*keys: Any) -> int:
    """Keys pressed together; Python 3.11.2 cannot combine the flags themselves."""
    return sum(int(key) for key in keys)
