"""Finds the packages below the folders that pyproject.toml maps to import names."""

import tomllib
from pathlib import Path
from shutil import rmtree

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).resolve().parent
settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
folders = settings["tool"]["setuptools"]["package-dir"]


class LinkFolders(editable_wheel):
    """An editable install that links whole folders, so that new modules need no new install."""

    def run(self) -> None:
        super().run()
        for tree in (ROOT / "build").glob("__editable__.*"):
            link_folders(tree)


def link_folders(tree: Path) -> None:
    """Replace the links to single files in a strict editable install by links to folders."""
    links = {}
    for package, folder in folders.items():
        place = tree.joinpath(*package.split("."))
        if place.parent == tree:  # the root package: other folders are linked into it
            links |= {place / item.name: item for item in (ROOT / folder).iterdir()}
        else:
            links[place] = ROOT / folder
    rmtree(tree)
    for link, target in links.items():
        if target.name != "__pycache__":
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target, target_is_directory=target.is_dir())


setup(
    cmdclass={"editable_wheel": LinkFolders},
    packages=[
        name
        for package, folder in folders.items()
        for name in (package, *(f"{package}.{below}" for below in find_packages(folder)))
    ],
)
