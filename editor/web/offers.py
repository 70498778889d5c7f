"""Offers: files that the editor wrote, which a page may download."""

import secrets
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: Files that can still be downloaded.
MOST_OFFERS = 100
_ATTACHED = "attachment; filename*=UTF-8''{}"


class Offers:
    """Files by names that cannot be guessed; only what the editor wrote is among them."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._lock = threading.Lock()

    def add(self, path: Path) -> dict[str, Any]:
        """Offer a file; returns what the page is told. From any thread."""
        path, name = path.resolve(), secrets.token_urlsafe(16)
        with self._lock:
            for known in [n for n, p in self._files.items() if p == path]:
                del self._files[known]
            self._files[name] = path
            while len(self._files) > MOST_OFFERS:
                del self._files[next(iter(self._files))]
        size = path.stat().st_size if path.is_file() else 0
        return {"id": name, "name": path.name, "size": size}

    def body_of(self, path: str) -> tuple[Path, str, dict[str, str]] | None:
        """File, type and headers of `/download/NAME`; None: there is none. From any thread."""
        file = self._files.get(path.removeprefix("/download/"))
        if file is None or not path.startswith("/download/") or not file.is_file():
            return None
        more = {"Content-Disposition": _ATTACHED.format(quote(file.name))}
        return file, "application/octet-stream", more
