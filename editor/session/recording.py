"""Recording of the running world to one file per take, and streaming of its signals."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from mjrig.core.errors import MjrigError
from mjrig.core.names import how_many
from mjrig.core.sim.world import World
from mjrig.data.recording.recorder import Recorder
from mjrig.data.streams.sinks import sink_named
from mjrig.data.streams.stream import Stream
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.user_files import free_file
from mjrig.editor.text import tr

# Recording ----------------------------------------------------------------------------------------
# Recording from the window: one file per take, beside the scene, always complete.


FOLDER = "recordings"
SUFFIX = ".h5"


class RunRecording:
    """At most one recording at a time; it ends with the world it is of."""

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self._recorder: Recorder | None = None
        self._last: Path | None = None
        self._looked_in: Path | None = None
        state.simulation.on_leave.append(self._leave)

    @property
    def is_on(self) -> bool:
        """Whether steps are being recorded."""
        return self._recorder is not None

    @property
    def path(self) -> Path | None:
        """The file that is being written."""
        return self._recorder.path if self._recorder is not None else None

    @property
    def duration(self) -> float:
        """Simulated time that was recorded so far [s]."""
        recorder = self._recorder
        return 0.0 if recorder is None else recorder.steps * self.state.simulation.world.timestep

    @property
    def _folder(self) -> Path:
        scene = self.state.scene.path
        return (scene.resolve().parent if scene is not None else Path.cwd()) / FOLDER

    def last_take(self) -> Path | None:
        """The recording that was made last: by this window, else the newest beside the scene."""
        folder = self._folder
        if self._last is None and self._looked_in != folder:
            self._looked_in = folder
            takes = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime)
            self._last = takes[-1] if takes else None
        return self._last

    def suggested(self) -> Path:
        """A file that does not exist yet, in a folder beside the scene."""
        scene, folder = self.state.scene.path, self._folder
        stem = scene.stem if scene is not None else "scene"
        return free_file(folder, f"{stem}-{datetime.now():%Y%m%d-%H%M%S}", SUFFIX)

    def toggle(self) -> None:
        """Start or stop recording."""
        if self.is_on:
            self.stop()
        else:
            self.state.attempt(self.start)

    def start(self, path: Path | None = None, *, overwrite: bool = False) -> None:
        """Begin with the next step.

        Raises:
            MjrigError: the file cannot be written, or another recorder records the world.
        """
        self.stop()
        path = path or self.suggested()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MjrigError(
                tr(
                    "{folder}: cannot be made: {reason}",
                    folder=path.parent,
                    reason=error.strerror,
                )
            ) from error

        def run(world: World) -> Recorder:
            return Recorder(world, path, overwrite=overwrite).start()

        self._recorder = self.state.simulation.call(run)
        self.state.console.say(tr("recording to {path}", path=path))

    def stop(self) -> None:
        """End the recording and log its file; without one nothing happens."""
        if self._recorder is not None:
            self.state.simulation.call(lambda world: self._finish("recorded"))

    def _leave(self, world: World) -> None:
        """The world is replaced, by an edit or because another scene was opened."""
        if self._recorder is not None:
            self._finish(tr("the recording ended because the world was rebuilt:"))

    def _finish(self, said: str) -> None:
        """On the thread that steps."""
        recorder, self._recorder = self._recorder, None
        assert recorder is not None
        if self.state.attempt(recorder.stop):
            self._last = recorder.path
            self.state.console.say(f"{said} {how_many(recorder.steps, 'step')}: {recorder.path}")
            self.state.offer_file(recorder.path)

    def look(self) -> None:
        """Once per frame: report a recorder that failed."""
        recorder, console = self._recorder, self.state.console
        if recorder is None or recorder.is_recording:
            return
        self._recorder = None
        lines = {line.text for line in tuple(console.lines)}  # other threads may write
        if str(recorder.error) not in lines:  # the log has it too
            console.fail(str(recorder.error))


# Streaming ----------------------------------------------------------------------------------------
# A stream of the world behind a window, whichever world that is at the time.


@contextmanager
def streaming(simulation: Simulation, target: str | None) -> Iterator[None]:
    """Send the signals of a simulation somewhere while the block runs.

    Args:
        simulation: its worlds may be replaced meanwhile.
        target: as `--stream` takes it; None: nothing is sent.

    Raises:
        MjrigError: it is no target, or cannot be opened.
    """
    if target is None:
        yield
        return
    with Stream(simulation.world, sink_named(target)) as stream:
        print(tr("stream: {address}", address=stream.sink.address), flush=True)
        simulation.drive(_Sampling(stream, simulation.world))
        yield
    print(stream.summary(), flush=True)


class _Sampling:
    """A driver that commands nothing: it samples the world it is given, at the stream's rate."""

    def __init__(self, stream: Stream, world: World) -> None:
        self._stream, self._world = stream, world
        self._left = 0

    def __call__(self, world: World) -> bool:
        if world is not self._world:
            self._world = world
            self._stream.follow(world)
        if self._left == 0:
            self._stream.send()
            self._left = self._stream.every
        self._left -= 1
        return True
