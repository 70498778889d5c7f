"""One editor and one browser for all tests in Chromium."""

from collections.abc import Iterator

import pytest

from tests.editor.web.browsing import Session


@pytest.fixture(scope="package")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A page that shows the trotting quadruped; nothing may go wrong in it unseen."""
    made = Session(tmp_path_factory.mktemp("web"))
    made.tab.run("mjrig.quality.fixed = 0")  # most tests look at the editor, not at pixels
    yield made
    errors = made.tab.run("mjrig.statistics.errors")
    made.close()
    assert errors == []
