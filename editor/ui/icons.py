"""Icons of the window, by what they stand for, and labels that begin with one.

They are characters of Font Awesome 6 Free (SIL OFL 1.1), a font that comes with imgui-bundle.
"""

from typing import Final

from imgui_bundle import icons_fontawesome_6 as font

PLAY: Final[str] = font.ICON_FA_PLAY
PAUSE: Final[str] = font.ICON_FA_PAUSE
STEP: Final[str] = font.ICON_FA_FORWARD_STEP
STOP: Final[str] = font.ICON_FA_STOP
RESET: Final[str] = font.ICON_FA_ROTATE_LEFT
SELECT: Final[str] = font.ICON_FA_ARROW_POINTER
MOVE: Final[str] = font.ICON_FA_UP_DOWN_LEFT_RIGHT
TURN: Final[str] = font.ICON_FA_ROTATE

SCENE: Final[str] = font.ICON_FA_GLOBE
ROBOT: Final[str] = font.ICON_FA_ROBOT
PROP: Final[str] = font.ICON_FA_CUBE
CONTROLLER: Final[str] = font.ICON_FA_SLIDERS
POLICY: Final[str] = font.ICON_FA_BRAIN
COMPONENT: Final[str] = font.ICON_FA_PUZZLE_PIECE
JOINT: Final[str] = font.ICON_FA_CIRCLE_NODES
ACTUATOR: Final[str] = font.ICON_FA_BOLT
KEYFRAME: Final[str] = font.ICON_FA_FLAG
FRAME: Final[str] = font.ICON_FA_LOCATION_CROSSHAIRS
GROUP: Final[str] = font.ICON_FA_LAYER_GROUP
PRESET: Final[str] = font.ICON_FA_GAUGE
RECORDING: Final[str] = font.ICON_FA_FILM

OPEN: Final[str] = font.ICON_FA_FOLDER_OPEN
NEW: Final[str] = font.ICON_FA_FILE
KEYS: Final[str] = font.ICON_FA_KEYBOARD
TOUR: Final[str] = font.ICON_FA_ROUTE
FOCUS: Final[str] = font.ICON_FA_CROSSHAIRS
FOLLOW: Final[str] = font.ICON_FA_VIDEO
ADD: Final[str] = font.ICON_FA_SQUARE_PLUS
RENAME: Final[str] = font.ICON_FA_PEN
COPY: Final[str] = font.ICON_FA_COPY
DELETE: Final[str] = font.ICON_FA_TRASH

#: The icon of what can be dropped, by its kind.
OF_KIND: Final = {
    "model": ROBOT,
    "scene": SCENE,
    "component": COMPONENT,
    "controller": CONTROLLER,
    "actuator": ACTUATOR,
    "prop": PROP,
    "preset": PRESET,
    "recording": RECORDING,
    "policy": POLICY,
}


def labelled(icon: str, text: str, name: str = "") -> str:
    """A label that begins with an icon; its id is its name, or its text alone."""
    return f"{icon}  {text}###{name or text}"
