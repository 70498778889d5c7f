"""Trying values that may diverge, without warnings of them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco


def _nothing(*_: object) -> bool:
    return False


@contextmanager
def quietly() -> Iterator[None]:
    """No warnings of MuJoCo or mjrig: a value that diverges is only a bad guess."""
    before, logger = mujoco.get_mju_user_warning(), logging.getLogger("mjrig")
    mujoco.set_mju_user_warning(lambda text: None)
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)
        mujoco.set_mju_user_warning(before)
