"""The serve panel: who commands from outside, how often, and what was rejected."""

import math
import time

from imgui_bundle import imgui

from mjrig.components.bridges.bridge import BridgePhase
from mjrig.editor.serve.served import BridgeStatus, Served
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY
from mjrig.editor.ui.panel import Panel

_COLOURS = {BridgePhase.COMMANDED: GREEN, BridgePhase.LOST: AMBER}
#: Rejected messages that are shown.
_SHOWN = 50


class ServePanel(Panel):
    """The bridges of the scene: open, commanded, lost."""

    title = "Serve"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.served = Served(state)

    def draw(self) -> None:
        served = self.served
        if not served.is_possible and not served.is_on:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(
                tr(
                    "Add a SocketBridge, UnitreeBridge or RosBridge to an actor, and programs in "
                    "other processes can command it."
                )
            )
            imgui.pop_style_color()
            return
        if imgui.button(tr("Stop serving") if served.is_on else tr("Serve")):
            served.toggle()
        if not served.is_on:
            imgui.same_line()
            imgui.text_colored(GREY, tr("Nothing listens."))
        for status in served.status:
            self._bridge(status)

    def _bridge(self, status: BridgeStatus) -> None:
        traffic = status.traffic
        imgui.separator_text(status.label)
        imgui.text_colored(_COLOURS.get(BridgePhase(status.phase), GREY), _phase_text(status))
        imgui.text_colored(GREY, status.address)
        imgui.text(
            tr("lease: {holders}", holders=", ".join(status.holders))
            if status.holders
            else tr("lease: free")
        )
        age = (
            tr("none yet") if math.isinf(traffic.age) else tr("{age:.0f} ms", age=1e3 * traffic.age)
        )
        imgui.text(
            tr(
                "commands {rate:.0f}/s, age {age}, jitter {jitter:.1f} ms; {accepted} used, "
                "{rejected} rejected; {sent} states sent",
                rate=traffic.rate,
                age=age,
                jitter=traffic.jitter * 1000.0,
                accepted=traffic.accepted,
                rejected=traffic.rejected,
                sent=traffic.sent,
            )
        )
        for entry in reversed(status.rejected[-_SHOWN:]):
            clock = time.strftime("%H:%M:%S", time.localtime(entry.when))
            imgui.text_colored(AMBER, f"{clock} {entry.reason}")


def _phase_text(status: BridgeStatus) -> str:
    return {
        BridgePhase.CLOSED: tr("closed"),
        BridgePhase.WAITING: tr("waits for the first command"),
        BridgePhase.COMMANDED: tr("a program commands the motors"),
        BridgePhase.LOST: tr("no commands any more: the motors damp"),
    }[BridgePhase(status.phase)]
