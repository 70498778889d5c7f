"""Outside loopback SocketBridge wants a token, and says at the start that others can connect."""

from contextlib import closing

from tests.components.bridges.socket_programs import ZmqProgram, events, served

with served(host="0.0.0.0") as serving:
    print(events(serving)[:200])
    with closing(ZmqProgram(serving)) as program:
        reply = program.ask("describe")
    print("without token:", reply)
    assert not reply["ok"] and "token" in reply["error"]
