"""docs/motors.md: the tables of the motor library, from config/motors.

python tools/motors_page.py            # print the tables
python tools/motors_page.py --write    # put them into docs/motors.md
"""

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.scene.motor_file import Motor, bundled, find_motor

PAGE = Path(__file__).resolve().parent.parent / "docs" / "motors.md"
_BLOCK = re.compile(r"(<!-- library -->\n).*?(<!-- end of library -->)", re.DOTALL)


def _number(value: float | None) -> str:
    return "" if value is None or math.isinf(value) else f"{value:.4g}"


def _row(name: str, motor: Motor) -> str:
    fits, form = motor.file.fits, motor.servo
    cells = (
        f"`{name}`", motor.file.title, _number(motor.file.gear), _number(motor.peak),
        _number(motor.top_speed), _number(motor.fit.armature), _number(motor.fit.coulomb),
        _number(motor.fit.viscous), ", ".join(str(fit.law) for fit in fits),
        "" if motor.file.drive is None else str(motor.file.drive.kind),
        "" if form is None else f"{form.stiffness:.4g}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def tables() -> str:
    """The library as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    holder = HasProperties()
    motors = {name: find_motor(name, holder) for name in bundled()}
    yield ("| name | motor | gear | peak N·m | top speed rad/s | armature kg·m² | Kc N·m "
           "| Kv N·m·s/rad | fits | drive | K N·m/rad |")  # fmt: skip
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    yield from (_row(name, motor) for name, motor in motors.items())
    yield ""
    sources: dict[str, list[str]] = {}
    for name, motor in motors.items():
        for what, text in motor.file.sources.items():
            sources.setdefault(f"{what}: {text}", []).append(name)
    yield "Sources:"
    yield ""
    yield from (f"- {text} ({', '.join(names)})" for text, names in sources.items())


def page() -> str:
    """The page with the present tables."""
    written = PAGE.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda found: found[1] + tables() + found[2], written)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"{PAGE.relative_to(PAGE.parent.parent)} written")
    else:
        print(tables(), end="")
