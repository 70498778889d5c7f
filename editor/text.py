"""Texts of the window: translation, errors of the library, search filter.

Every text of the window goes through `tr`, so that all of them can be listed and translated.
"""

from collections.abc import Mapping

from mjrig.core.errors import MjrigError, ReaderKind

# Texts --------------------------------------------------------------------------------------------
# tr: the one way for a text into the window, so that all of them can be listed and translated.


_translations: dict[str, str] = {}


def tr(text: str, /, **values: object) -> str:
    """A text as the window shows it: translated, with its `{fields}` filled in.

    The text is written out in the call, or a constant made by `deferred`, never computed:
    tools/editor_texts.py finds it there.
    """
    shown = _translations.get(text, text)
    return shown.format(**values) if values else shown


def deferred(text: str, /) -> str:
    """A text that is a constant of its module; what shows it gives it to `tr`."""
    return text


def translate(translations: Mapping[str, str]) -> None:
    """Show these texts in place of the English ones from the next frame on; {} is English."""
    _translations.clear()
    _translations.update(translations)


# Errors -------------------------------------------------------------------------------------------


def error_text(error: BaseException) -> str:
    """The text of an error, with ways out that can be clicked; the type of an unexpected one."""
    if isinstance(error, MjrigError):
        return error.worded(ReaderKind.WINDOW)
    return f"{type(error).__name__}: {error}"


# Text filter --------------------------------------------------------------------------------------


def matches(wanted: str, text: str) -> bool:
    """Whether a text has all the words, in any order and case."""
    words = wanted.casefold().split()
    if not words:
        return True
    text = text.casefold()
    return all(word in text for word in words)
