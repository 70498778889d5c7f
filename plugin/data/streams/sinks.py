"""Sinks of a stream: a Foxglove server, a Rerun viewer or file. Each needs its extra."""

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Any

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MissingExtraError, MjrigError
from mjrig.core.names import suggestion

#: Where Foxglove's applications look first.
FOXGLOVE_PORT = 8765
RERUN_PORT = 9876
#: What the server keeps for viewers that come later; then the oldest samples go.
_RERUN_MEMORY = "256MB"
_FLUSH_S = 5.0
KINDS = ("foxglove", "rerun")
#: The signals of one robot: quantity → values over its names.
Signals = dict[str, FloatArray]


class Sink(ABC):
    """Takes samples of robots; used by one thread."""

    #: Where the samples can be seen, for the user.
    address: str

    @abstractmethod
    def put(self, robot: str, names: tuple[str, ...], time: float, signals: Signals) -> None:
        """Send what one robot did at a simulated time [s]."""

    @abstractmethod
    def close(self) -> None:
        """Send the rest and end."""


class FoxgloveSink(Sink):
    """A WebSocket server with a JSON topic `/ROBOT`: plot `/dog.position.FL_hip`."""

    def __init__(self, port: int) -> None:
        foxglove = _package("foxglove", "foxglove-sdk")
        self._context = foxglove.Context()
        self._channel, self._channels = foxglove.Channel, dict[str, Any]()
        try:
            self._server = foxglove.start_server(name="mjrig", port=port, context=self._context)
        except Exception as error:  # the package raises errors of its own, without a base
            raise MjrigError(f"--stream foxglove:{port}: cannot listen: {error}") from error
        self.address = f"ws://127.0.0.1:{self._server.port}"

    def put(self, robot: str, names: tuple[str, ...], time: float, signals: Signals) -> None:
        if robot not in self._channels:
            self._channels[robot] = self._channel(f"/{robot}", context=self._context)
        rows = {k: dict(zip(names, v.tolist(), strict=True)) for k, v in signals.items()}
        self._channels[robot].log({"time": time, **rows}, log_time=round(time * 1e9))

    def close(self) -> None:
        self._server.stop()


class RerunSink(Sink):
    """A server that Rerun viewers connect to, or a file: `dog/position`, a series for each name.

    A server, because a client of a viewer waits for it at the end.
    """

    def __init__(self, where: int | Path) -> None:
        self._rerun = _package("rerun", "rerun-sdk")
        self._stream = self._rerun.RecordingStream("mjrig")
        self._named: set[str] = set()
        try:
            if isinstance(where, Path):
                self._stream.save(where)
                self.address = str(where)
            else:
                self.address = self._stream.serve_grpc(
                    grpc_port=where, server_memory_limit=_RERUN_MEMORY
                )
        except Exception as error:  # likewise
            raise MjrigError(f"--stream rerun: cannot be opened: {error}") from error

    def put(self, robot: str, names: tuple[str, ...], time: float, signals: Signals) -> None:
        self._stream.set_time("simulated", duration=time)
        for quantity, values in signals.items():
            path = f"{robot}/{quantity}"
            if path not in self._named:
                self._named.add(path)
                lines = self._rerun.SeriesLines(names=list(names))
                self._stream.log(path, lines, static=True)
            self._stream.log(path, self._rerun.Scalars(values))

    def close(self) -> None:
        self._stream.flush(timeout_sec=_FLUSH_S)
        self._stream.disconnect()


def sink_named(text: str) -> Sink:
    """The sink that `--stream` names: `foxglove[:PORT]`, `rerun[:PORT]` or `rerun:FILE.rrd`.

    Raises:
        MissingExtraError: its package is not installed.
        MjrigError: there is no such sink, or it cannot be opened.
    """
    kind, _, where = text.partition(":")
    if kind not in KINDS:
        raise MjrigError(f"--stream {text}: unknown; {suggestion(kind, KINDS)}")
    if kind == "rerun" and where.endswith(".rrd"):
        return RerunSink(Path(where))
    if where and not (where.isdecimal() and int(where) < 65536):
        file = ", or a file that ends in .rrd" if kind == "rerun" else ""
        raise MjrigError(f"--stream {text}: the port must be a number from 0 to 65535{file}")
    if kind == "rerun":
        return RerunSink(int(where) if where else RERUN_PORT)
    return FoxgloveSink(int(where) if where else FOXGLOVE_PORT)


def _package(name: str, distribution: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"--stream with {distribution}", "stream", error) from error
