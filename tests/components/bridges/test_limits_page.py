"""docs/serving.md states the limits that the code has."""

import pytest

from mjrig.components.bridges import protocol, socket_server, traffic, websocket_server
from mjrig.components.bridges import websocket_server as web_sockets
from mjrig.components.bridges.clients import MIN_TOKEN_LETTERS
from mjrig.components.bridges.dds import exchange, ros_messages, writers
from mjrig.components.bridges.dds_bridge import DdsBridge
from mjrig.components.bridges.socket_bridge import SocketBridge
from mjrig.core.pattern_program import MAX_STEPS
from tests.places import DOCS


@pytest.mark.skipif(not DOCS.is_dir(), reason="there is no checkout beside the tests")
def test_the_page_states_the_limits_of_the_code() -> None:
    defaults = {p.name: p.default for c in (SocketBridge, DdsBridge) for p in c.properties()}
    sentences = [
        f"`max_clients` ({defaults['max_clients']})",
        f"`lock_timeout` ({defaults['lock_timeout']:g} s)",
        f"`max_age` ({defaults['max_age']:g} s)",
        f"after {web_sockets.SLOW_READER_S:g} s without reading it is disconnected",
        f"at most {protocol.LARGEST >> 20} MiB, {protocol.MOST_STEPS:,} steps",
        f"{MAX_STEPS:,} steps of matching",
        f"a WebSocket handshake has {web_sockets.HANDSHAKE_S:g} s and at most "
        f"{websocket_server.MAX_SHAKING} wait for theirs",
        f"whose clock was set back is used again after {writers.WINDOW_S:g} s",
        f"{ros_messages.MOST_POINTS} points of a trajectory",
        f"{socket_server.MOST_REQUESTS}, or {socket_server.ATTENDING * 1e3:g} ms; the others wait",
        f"the last {exchange.KEPT - 1} if there are more",
        f"{traffic.FIRST_EVENTS} a minute one by one, each at most "
        f"{traffic.LOGGED_LETTERS} letters, then one summary a minute",
        f"at least {MIN_TOKEN_LETTERS} letters",
        f"in the first {'second' if writers.WINDOW_S == 1.0 else writers.WINDOW_S} of a writer",
        f"offsets above {writers.NOTICEABLE_S * 1e3:g} ms",
        f"free-running clocks, {writers.MAX_DRIFT * 1e3:g} ms/s",
    ]
    assert traffic.SUMMARY_INTERVAL_S == 60.0
    if web_sockets.MAX_SENDING_FRACTION == 0.25:
        sentences.append("Sending states takes at most a quarter of the time")
    page = " ".join((DOCS / "serving.md").read_text(encoding="utf-8").split())
    assert [sentence for sentence in sentences if sentence not in page] == []
