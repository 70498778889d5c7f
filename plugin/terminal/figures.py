"""Figures of commands, written whole or not at all."""

from pathlib import Path
from typing import Any

from mjrig.errors import MjrigError
from mjrig.files.replacing import whole_file


def save_figure(figure: Any, path: Path) -> None:
    """Write a matplotlib figure and close it.

    Raises:
        MjrigError: it cannot be written there, or not in the format the suffix names.
    """
    from matplotlib import pyplot

    try:
        figure.tight_layout()
        with whole_file(path) as file:
            figure.savefig(file, dpi=110)
    except ValueError as error:  # unknown image suffix
        raise MjrigError(f"{path}: cannot be written: {error}") from error
    finally:
        pyplot.close(figure)
