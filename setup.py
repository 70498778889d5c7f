"""Finds the packages below the folders that pyproject.toml maps to import names."""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

settings = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text(encoding="utf-8"))
folders = settings["tool"]["setuptools"]["package-dir"]

setup(
    packages=[
        name
        for package, folder in folders.items()
        for name in (package, *(f"{package}.{below}" for below in find_packages(folder)))
    ]
)
