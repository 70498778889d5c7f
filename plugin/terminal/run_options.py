"""Options shared by the commands that step a scene: its execution, and a recording of the run."""

import argparse

from mjrig.terminal.outputs import add_output


def add_execution(parser: argparse.ArgumentParser) -> None:
    """Add `--execution`."""
    parser.add_argument(
        "--execution",
        default="auto",
        choices=("auto", "python", "native", "compiled"),
        help="execution mode of the controllers (auto)",
    )


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add `--record` and `--overwrite`."""
    add_output(
        parser,
        "--record",
        metavar="F.h5",
        help="record every physics step",
        suffixes=(".h5", ".hdf5"),
        keeps=True,
        needs=("recording", "h5py", "record"),
    )
    parser.add_argument("--overwrite", action="store_true", help="replace F.h5 if it exists")


def add_stream(parser: argparse.ArgumentParser) -> None:
    """Add `--stream`."""
    parser.add_argument(
        "--stream",
        metavar="TO",
        help="send setpoints, states and efforts live: foxglove[:PORT], rerun[:PORT], rerun:F.rrd",
    )


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Add `--debug`, which every command has."""
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
