"""A namespace of a real apiserver, with the operator running. There is no kubelet: tests say how pods fare."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest

import genericjob
from faults import Faults
from genericjob.wire import Api, connect
from played import Kubelet


@pytest.fixture(scope="session", autouse=True)
def _cluster() -> None:
    if os.environ.get("GENERICJOB_APISERVER") != "1":
        pytest.skip("needs an apiserver with the operator: run `make test-python`", allow_module_level=True)


@pytest.fixture
def client(_cluster: None) -> Iterator[genericjob.Client]:
    """A client of a namespace of its own."""
    name = f"python-{secrets.token_hex(4)}"
    Api(connect(None, "served")._client, "default").call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield genericjob.Client(name, "served")


@pytest.fixture
def kubelet(client: genericjob.Client) -> Kubelet:
    return Kubelet(client._api)


@pytest.fixture
def faults(client: genericjob.Client) -> Iterator[Faults]:
    proxy = Faults(client._api)
    yield proxy
    proxy.close()
