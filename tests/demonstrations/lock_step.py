"""A client that dies in lock step does not stop the robots; `run` of another names the holder."""

from contextlib import closing

from tests.components.bridges.socket_programs import WebProgram, events, run_until, served

with (
    served(lock_timeout=0.2, on_lock_timeout="run") as serving,
    closing(WebProgram(serving)) as stepping,
    closing(WebProgram(serving)) as other,
):
    print("step:", stepping.ask("step", n=5)["ok"])
    refusal = other.ask("run")
    print("run of another:", refusal["error"])
    assert stepping.ask("describe")["client"] in refusal["error"]
    start = serving.world.time  # the stepping client says nothing more
    run_until(serving, lambda: serving.world.time > start + 0.2)
    print(events(serving).splitlines()[-1])
