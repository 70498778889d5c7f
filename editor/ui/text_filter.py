"""Text filter of search boxes."""


def matches(wanted: str, text: str) -> bool:
    """Whether a text has all the words, in any order and case."""
    words = wanted.casefold().split()
    if not words:
        return True
    text = text.casefold()
    return all(word in text for word in words)
