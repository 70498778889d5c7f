"""1,000 bad requests leave a short log."""

from contextlib import closing

from tests.components.bridges.socket_programs import ZmqProgram, events, served

with served() as serving, closing(ZmqProgram(serving)) as program:
    for i in range(1_000):
        program.ask("set", position={"x" * 2_000 + str(i): 0.0})
    text = events(serving)
    longest = max(map(len, text.splitlines()))
    print(f"{len(text):,} letters in the log, the longest line has {longest}")
    assert len(text) < 20_000 and longest < 500
