"""The commands of the menus Draw and Camera: what the viewport shows, and from where."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import mujoco

from mjrig.editor.texts.texts import tr
from mjrig.editor.viewport import cameras
from mjrig.editor.viewport.drawing import Drawing
from mjrig.editor.viewport.quality import Quality
from mjrig.editor.window.command import Command


def draw_commands(drawing: Drawing, quality: Quality) -> Iterator[Command]:
    """MuJoCo's own drawing options with the keys its viewer has, groups, and the quality."""
    grid = partial(setattr, drawing, "has_grid", not drawing.has_grid)
    yield Command("Draw", tr("Floor grid"), grid, is_on=drawing.has_grid)
    taken: set[str] = set()  # one key stands for two options in MuJoCo's tables
    for title, strings, flags in drawing.flag_tables():
        for i, (name, _, sign) in enumerate(strings):
            keys = sign if sign.strip() and sign not in taken else ""
            taken.add(sign)
            heading, is_on = title if i == 0 else "", bool(flags[i])
            told = partial(_tell_switch, name.replace("&", ""), flags, i, keys)
            yield Command(
                "Draw",
                name,
                partial(_flip, flags, i),
                keys,
                is_on=is_on,
                section=heading,
                notice=told,
                is_for_driving=True,
            )
    yield from _kinds(drawing)
    yield from _groups(drawing)
    for scale in (None, 0.5, 0.75, 1.0):
        label = tr("automatic") if scale is None else f"{scale:.0%}"
        fix = partial(setattr, quality, "fixed", scale)
        heading = tr("Quality") if scale is None else ""
        yield Command("Draw", label, fix, is_on=quality.fixed == scale, section=heading)


def _kinds(drawing: Drawing) -> Iterator[Command]:
    """What frames and labels are drawn at: each key goes to the next kind."""
    option = drawing.option
    kinds: tuple[tuple[str, str, Any, int], ...] = (
        ("frame", "F6", mujoco.mjtFrame, int(mujoco.mjtFrame.mjNFRAME)),
        ("label", "F7", mujoco.mjtLabel, int(mujoco.mjtLabel.mjNLABEL)),
    )
    for name, keys, enum, count in kinds:
        now = _name(enum, getattr(option, name))
        if name == "frame":
            label = tr("Next kind of frames (now: {kind})", kind=now)
        else:
            label = tr("Next kind of labels (now: {kind})", kind=now)
        yield Command(
            "Draw",
            label,
            partial(_next_kind, option, name, count),
            keys,
            id=name,
            notice=partial(_tell_kind, option, name, enum, keys),
            is_for_driving=True,
            over_viewport=True,
        )


def _groups(drawing: Drawing) -> Iterator[Command]:
    option = drawing.option
    for menu, shift, kind, groups in (
        (tr("Geom groups"), "", tr("Geom group"), option.geomgroup),
        (tr("Site groups"), "Shift+", tr("Site group"), option.sitegroup),
    ):
        for i in range(len(groups)):
            keys, name = f"{shift}{i}", f"{kind} {i}"
            yield Command(
                f"Draw/{menu}",
                name,
                partial(_flip, groups, i),
                keys,
                is_on=bool(groups[i]),
                notice=partial(_tell_switch, name, groups, i, keys),
                is_for_driving=True,
            )


def camera_commands(drawing: Drawing, actor: str | None) -> Iterator[Command]:
    """Where the viewport looks from; `actor` is the selected one."""
    now = cameras.text(drawing)
    free, is_free = partial(cameras.look_freely, drawing), cameras.is_free(drawing)
    yield Command(
        "Camera",
        tr("Free"),
        free,
        "Esc",
        is_on=is_free,
        notice=lambda: tr("Camera free; [ and ] choose another"),
    )
    followed = now.removeprefix("follow ") if now.startswith("follow ") else None
    target = actor or followed
    label = tr("Follow {actor}", actor=target or tr("the selected actor"))
    follow = free if followed == target else partial(cameras.follow, drawing, target or "")
    is_on, can = followed is not None and followed == target, target is not None
    yield Command("Camera", label, follow, is_on=is_on, enabled=can)
    look, seen = partial(drawing.frame_on, actor), actor or tr("everything")
    yield Command(
        "Camera",
        tr("Look at the selected actor"),
        look,
        "Home",
        notice=lambda: tr("Camera on {actor}", actor=seen),
    )
    everything = partial(drawing.frame_on, None)
    yield Command("Camera", tr("Look at everything"), everything, "Ctrl+A")
    for label, keys, way, back in (
        (tr("Previous camera"), "[", -1, "]"),
        (tr("Next camera"), "]", 1, "["),
    ):
        told = partial(_tell_camera, drawing, back)
        heading = "-" if way < 0 else ""
        run = partial(cameras.cycle, drawing, way)
        yield Command("Camera", label, run, keys, section=heading, notice=told)
    for i, name in enumerate(cameras.names(drawing)):
        through = partial(cameras.look_through, drawing, name)
        heading = "-" if i == 0 else ""
        yield Command("Camera", name, through, is_on=now == name, section=heading)


def _flip(flags: Any, i: int) -> None:
    flags[i] = 0 if flags[i] else 1


def _next_kind(option: Any, name: str, count: int) -> None:
    setattr(option, name, (getattr(option, name) + 1) % count)


def _tell_switch(what: str, flags: Any, i: int, keys: str) -> str:
    if flags[i]:
        return tr("{what} shown; {keys} switches back", what=what, keys=keys)
    return tr("{what} hidden; {keys} switches back", what=what, keys=keys)


def _tell_kind(option: Any, name: str, enum: Any, keys: str) -> str:
    now = _name(enum, getattr(option, name))
    if name == "frame":
        return tr("Frames: {kind}; {keys} shows others", kind=now, keys=keys)
    return tr("Labels: {kind}; {keys} shows others", kind=now, keys=keys)


def _tell_camera(drawing: Drawing, back: str) -> str:
    return tr("Camera {name}; {key} goes back", name=cameras.text(drawing), key=back)


def _name(enum: Any, value: int) -> str:
    """The name of one of MuJoCo's numbers: `body` for mjFRAME_BODY."""
    return str(enum(value).name).partition("_")[2].lower()
