"""Where an exception came from, if from a class that mjrig does not define."""

from pathlib import Path
from types import FrameType

from mjrig.properties.has_properties import HasProperties


def described(error: BaseException) -> str:
    """An exception in one line, with component, method and line if a user's class raised it."""
    place = place_of(error)
    text = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return text if place is None else f"{place}: {text}"


def place_of(error: BaseException) -> str | None:
    """`dog.MyController.compute_and_apply (my_module.py:12)`; None: none of their methods ran."""
    found = None
    step = error.__traceback__
    while step is not None:
        owner = _owner(step.tb_frame)
        if owner is not None:
            code = step.tb_frame.f_code
            method, file = code.co_name, Path(code.co_filename).name
            found = f"{owner.label}.{method} ({file}:{step.tb_lineno})"
        step = step.tb_next
    return found


def _owner(frame: FrameType) -> HasProperties | None:
    """The object whose method a frame is, if the method's module is not one of mjrig's own."""
    module = str(frame.f_globals.get("__name__"))
    owner = frame.f_locals.get("self")
    is_ours = module == "mjrig" or module.startswith("mjrig.")
    return owner if isinstance(owner, HasProperties) and not is_ours else None
