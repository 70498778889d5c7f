"""Which web pages may talk to a bridge."""

from urllib.parse import urlsplit


def is_local_origin(origin: str | None) -> bool:
    """Whether it is a page of this machine, or a program, which gives no origin."""
    if origin is None:
        return True
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        return False
    return host in ("localhost", "127.0.0.1", "::1")
