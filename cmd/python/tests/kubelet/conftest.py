"""A namespace of a real cluster, the one of the kubeconfig's context, and an image with PyTorch."""

from __future__ import annotations

import os
import pathlib

import pytest

import genericjob


@pytest.fixture
def image() -> str:
    name = os.environ.get("GENERICJOB_IMAGE", "")
    if not name:
        pytest.skip("needs a cluster with the operator, and an image with PyTorch: run `make e2e`")
    return name


@pytest.fixture
def client(image: str) -> genericjob.Client:
    return genericjob.Client()


@pytest.fixture
def package() -> pathlib.Path:
    """The folder of the package."""
    return pathlib.Path(__file__).parents[2]
