"""Effects of a change on the position error, as text."""


def remove(share: float) -> str:
    """Effect of several changes."""
    if share > 0.005:
        return f"remove {share:.0%} of the position error"
    return "make it worse" if share < -0.005 else "change nothing"


def removes(share: float) -> str:
    """Effect of one change."""
    if share > 0.005:
        return f"removes {share:.0%} of the position error"
    return "makes it worse" if share < -0.005 else "changes nothing"


def in_words(share: float) -> str:
    """The effect of a difference."""
    return f"undoing it {removes(share)}"
