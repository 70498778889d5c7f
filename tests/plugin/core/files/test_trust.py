"""The folders a user trusts, kept in one file."""

from pathlib import Path

from mjrig.core.files.sandbox import is_trusted, trust, trusted_folders


def test_a_trusted_folder_is_remembered_with_what_is_in_it(tmp_path: Path) -> None:
    store, folder = tmp_path / "config" / "trusted.json", tmp_path / "robots"
    (folder / "dog").mkdir(parents=True)
    assert trusted_folders(store) == []
    assert not is_trusted(folder, store)
    trust(folder, store)
    trust(folder / "dog", store)  # is in it already
    assert trusted_folders(store) == [folder.resolve()]
    assert is_trusted(folder / "dog", store)
    assert not is_trusted(tmp_path, store)
    assert not is_trusted(tmp_path / "robots2", store)


def test_a_link_counts_as_what_it_leads_to(tmp_path: Path) -> None:
    store, folder, other = tmp_path / "trusted.json", tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    other.mkdir()
    (folder / "link").symlink_to(other)
    trust(folder, store)
    assert not is_trusted(folder / "link", store)


def test_a_damaged_store_trusts_nothing(tmp_path: Path) -> None:
    store = tmp_path / "trusted.json"
    for text in ("", "[]", '{"folders": 3}', '{"folders": [1]}', "{"):
        store.write_text(text)
        assert trusted_folders(store) == []
