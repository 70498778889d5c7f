"""Messages in the words of the window: what can be clicked, in place of a call or an option.

Errors come from the library, whose remedies are for scripts and for the command line.
"""

import re

_WORDS: tuple[tuple[str, str], ...] = (
    (
        r"; reload\(\) reads it, save\(overwrite=True\) replaces it",
        "; File > Save asks which version to keep",
    ),
    (r"; pass --overwrite \(overwrite=True\)|; --overwrite replaces it", "; choose another name"),
    (r", or call bind\(\)", ""),
    (r"; pass a copy\(\)", "; add another one"),
    (r"; choose one: --scene SCENE, or drop it on a robot in the editor", "; drop it on a robot"),
    (r": give its file, --scene SCENE", "; open its scene"),
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
