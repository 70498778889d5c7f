"""Texts of the window: translation, messages of the library, search filter.

Every text of the window goes through `tr`, so that all of them can be listed and translated.
`window_words` rewrites a message of the library, whose remedies are for scripts and for the
command line, in terms of what can be clicked.
"""

import re
from collections.abc import Mapping

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


# Window words -------------------------------------------------------------------------------------
# Messages in the words of the window: what can be clicked, in place of a call or an option.
#
# Errors come from the library, whose remedies are for scripts and for the command line.


_WORDS: tuple[tuple[str, str], ...] = (
    (
        r"; reload\(\) reads it, save\(overwrite=True\) replaces it",
        "; File > Save asks which version to keep",
    ),
    (r"; pass --overwrite \(overwrite=True\)|; --overwrite replaces it", "; choose another name"),
    (r", or call bind\(\)", ""),
    (r"; pass a copy\(\)", "; add another one"),
    (r"; choose one: --scene SCENE, or drop it on a robot in the editor", "; drop it on a robot"),
    (r": pass its file, --scene SCENE", "; open its scene"),
    (r"; choose a scene: --scene SCENE", "; open a scene and drop it on a robot there"),
    (r": needs a scene to be replayed in: --scene SCENE", ": drop it on the robot it is for"),
    (r"; choose one: policy=…, or --policy", "; leave one"),
    (r", or allow resampling \(--resample\)", ""),
    (r" \(--mode policy\)", ""),
    (r"; --partial leaves it out", ""),
    (r"; choose one with robot=…", "; drop it on one of them"),
    (r"--evidence efforts", "Evidence: efforts"),
    (r"--(robot|joints|scale|default|height|keyframe|rate|order|actuators)\b", r"the field \1"),
    (r"--hint (\w*)(?:=\S*)?", r"the field \1 of the Replay panel"),
)


def window_words(text: str) -> str:
    """A message as a person at the window can follow it."""
    for written, said in _WORDS:
        text = re.sub(written, said, text)
    return text


# Text filter --------------------------------------------------------------------------------------


def matches(wanted: str, text: str) -> bool:
    """Whether a text has all the words, in any order and case."""
    words = wanted.casefold().split()
    if not words:
        return True
    text = text.casefold()
    return all(word in text for word in words)
