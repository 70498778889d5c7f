"""Logs of asyncio and websockets: reported with a limit instead of printed."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Loggers of the libraries; a filter is not inherited by a logger below.
LOGGERS = ("asyncio", "websockets", "websockets.server", "websockets.client")


class _ThreadFilter(logging.Filter):
    """Takes the records of one thread out of a log."""

    def __init__(self, thread: int, report: Callable[[str], object]) -> None:
        super().__init__()
        self._thread, self._report = thread, report

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING:
            self._report(_record_line(record))
        return False


@contextmanager
def reporting_library_logs(report: Callable[[str], object]) -> Iterator[None]:
    """Report what libraries log on this thread, instead of printing it without a limit.

    Logs of other threads stay: the program around mjrig may use the same libraries.

    Args:
        report: gets each record as one line without a traceback; it must limit their number.
    """
    screen = _ThreadFilter(threading.get_ident(), report)
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addFilter(screen)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(screen)


def _record_line(record: logging.LogRecord) -> str:
    """The message of a record with its error, without a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    lines = record.getMessage().splitlines() or [""]
    return f"{lines[0]}: {error}" if error else lines[0]
