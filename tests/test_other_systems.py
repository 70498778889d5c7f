"""Every module can be imported where POSIX ends: on Windows there is no fcntl and no fork."""

import subprocess
import sys

import pytest

_SCRIPT = """
import importlib, importlib.abc, os, pkgutil, signal, socket, sys

class NotHere(importlib.abc.MetaPathFinder):
    names = {"fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "posix", "syslog"}

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

# Packages that know other systems ask for this one first.
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
for name in NotHere.names:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, NotHere())
for module, names in (
    (os, "sched_getaffinity sched_setscheduler fork geteuid getuid killpg setsid mkfifo "
         "posix_fallocate O_NONBLOCK O_NOFOLLOW O_DIRECTORY"),
    (socket, "AF_UNIX SO_BINDTODEVICE SO_REUSEPORT"),
    (signal, "SIGKILL SIGUSR1 SIGALRM SIGCHLD SIGHUP setitimer"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"
import mjrig
failed, tried = [], 0
for found in pkgutil.walk_packages(mjrig.__path__, "mjrig."):
    if found.name.endswith("__main__"):
        continue
    tried += 1
    try:
        importlib.import_module(found.name)
    except Exception as error:
        name = getattr(error, "name", None) or "mjrig"
        is_ours = name in NotHere.names or name.startswith("mjrig")
        if type(error).__name__ != "MissingExtraError" and is_ours:
            failed.append(f"{found.name}: {type(error).__name__}: {error}")
print(tried)
print("\\n".join(failed))
"""
#: Packages that look at the system when they are imported: they come first, as it is.
_THEIRS = ("asyncio", "multiprocessing", "platform", "tempfile", "shutil", "zipfile", "numpy",
           "mujoco", "yaml", "imgui_bundle", "glfw", "OpenGL.GL", "h5py", "onnxruntime",
           "numba", "optuna", "zmq", "cyclonedds", "matplotlib.pyplot", "scipy.optimize",
           "mcap", "rosbags", "pyarrow", "websockets", "msgpack", "gymnasium", "distributed",
           "imageio_ffmpeg")  # fmt: skip


@pytest.mark.slow
def test_every_module_imports_without_posix() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *_THEIRS],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    tried, _, failed = ran.stdout.partition("\n")
    assert int(tried) > 500 and not failed.strip(), failed
