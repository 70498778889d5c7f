"""The second program that commands a robot is refused and learns who commands; it can take over."""

from contextlib import closing

from tests.components.bridges.socket_programs import ZmqProgram, served

with (
    served(timeout=60.0) as serving,
    closing(ZmqProgram(serving)) as first,
    closing(ZmqProgram(serving)) as second,
):
    print("first: ", first.ask("set", position=0.1))
    refusal = second.ask("set", position=0.5)
    print("second:", refusal)
    assert not refusal["ok"] and first.ask("describe")["client"] in refusal["error"]
    print("second with take:", second.ask("set", position=0.5, take=True))
