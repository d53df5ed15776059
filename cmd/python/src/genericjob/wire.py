"""Requests to the apiserver, over the connections and with the credentials of the official client.

Its generated methods are left out: they cannot ask for a log since a time, and their signatures change with its versions.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar
from urllib.parse import urlencode

import kubernetes.client
import kubernetes.config
import urllib3

from .errors import Error, NotFound, NotInstalled, Refused, Unreachable
from .objects import Object
from .patience import Patience

GROUP, VERSION = "batch.tensorstack.dev", "v1beta1"
PLURALS = {
    "PyTorchTrainingJob": "pytorchtrainingjobs",
    "TensorFlowTrainingJob": "tensorflowtrainingjobs",
    "GenericJob": "genericjobs",
}

# Kinds that a cluster defines by a TrainingFramework are not among them: what their fields are is known to the cluster alone. Their
# jobs are seen as the GenericJobs that run them.

CALL_TIMEOUT = 30.0
"""Seconds that one call may take."""

T = TypeVar("T")

_OBJECT = re.compile(r"^<\S+ object at 0x[0-9a-f]+>: ")
"""What urllib3 begins with, which is another one each time."""

_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"


class Api:
    """One namespace of a cluster. With patience it reads again what may pass; what it writes, it writes once."""

    def __init__(self, client: kubernetes.client.ApiClient, namespace: str, patience: Patience | None = None) -> None:
        self._client = client
        self.namespace = namespace
        self.patience = patience

    def patient(self, patience: Patience) -> Api:
        """The same namespace, for a call that waits."""
        return Api(self._client, self.namespace, patience)

    def within(self, seconds: float) -> Api:
        """The same namespace, where a read is tried again for so many seconds at most, and for no longer than its caller waits."""
        return self.patient((self.patience or Patience()).until(seconds))

    def jobs(self, kind: str, name: str = "", subresource: str = "") -> str:
        """The path of jobs of a kind, or of one, or of a subresource of it."""
        parts = ["/apis", GROUP, VERSION, "namespaces", self.namespace, PLURALS[kind], name, subresource]
        return "/".join(part for part in parts if part)

    def pods(self, name: str = "", subresource: str = "") -> str:
        """The path of pods, or of one, or of a subresource of it."""
        parts = ["/api/v1/namespaces", self.namespace, "pods", name, subresource]
        return "/".join(part for part in parts if part)

    def events(self) -> str:
        """The path of events."""
        return f"/api/v1/namespaces/{self.namespace}/events"

    def call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, object] | None = None,
        content: str = "application/json",
    ) -> Object:
        """Makes one call and returns the object that answers it, a list of objects among them."""

        def once() -> Object:
            return _parsed(path, self._once(method, path, body, query, content))

        return self._ask(once) if method == "GET" else once()

    def text(self, path: str, query: Mapping[str, object]) -> str:
        """Reads an answer as it is, as of a log."""
        return self._ask(lambda: self._once("GET", path, None, query, ""))

    def _ask(self, once: Callable[[], T]) -> T:
        return once() if self.patience is None else self.patience.keep_trying(once)

    def _once(self, method: str, path: str, body: Object | None, query: Mapping[str, object] | None, content: str) -> str:
        data = None if body is None else json.dumps(body).encode()
        with self._request(method, path, data, query, content, quiet=CALL_TIMEOUT) as response:
            return response.data.decode("utf-8", "replace")

    def lines(self, path: str, query: Mapping[str, object], quiet: float) -> Iterator[str]:
        """Yields the lines of an answer as they come. One that says nothing for `quiet` seconds is broken, and Unreachable is raised."""
        with self._request("GET", path, None, query, "", quiet=quiet) as response:
            rest = b""
            for chunk in response.stream(2**16):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line.decode("utf-8", "replace")
            if rest:
                yield rest.decode("utf-8", "replace")

    def _retries(self, method: str) -> urllib3.Retry:
        """A connection that breaks may have brought a call: what it asks for is done once. What has an answer, whatever it is, is over."""
        again = 0 if self.patience else 2
        read = again if method == "GET" else 0
        return urllib3.Retry(again, read=read, redirect=0, status=0, backoff_factor=0.2, respect_retry_after_header=False)

    @contextlib.contextmanager
    def _request(
        self, method: str, path: str, data: bytes | None, query: Mapping[str, object] | None, content: str, *, quiet: float
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        configuration = self._client.configuration
        headers = {"Accept": "application/json, */*", "Content-Type": content, "User-Agent": "genericjob-python"}
        for setting in configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        patience = self.patience or Patience()
        with _reachable(path):
            response = self._client.rest_client.pool_manager.request(
                method,
                configuration.host + path + ("?" + urlencode(query) if query else ""),
                body=data,
                headers=headers,
                preload_content=False,
                timeout=urllib3.Timeout(connect=patience.bound(10), read=patience.bound(quiet)),
                retries=self._retries(method),
            )
            try:
                if response.status >= 400:
                    raise _refusal(response.status, response.data.decode("utf-8", "replace"), path)
                yield response
            finally:
                response.close()


def as_object(text: str) -> Object:
    """The object that stands in a text; an empty one if none does."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _parsed(path: str, text: str) -> Object:
    """The object that answers a call. All that an apiserver answers with has a kind; what has none is a login page, for example."""
    answer = as_object(text)
    if not isinstance(answer.get("kind"), str):
        raise Unreachable(f"what answers for {path} is no apiserver: an object with a kind is wanted, and found was {text[:100]!r}")
    return answer


@contextlib.contextmanager
def _reachable(path: str) -> Iterator[None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as e:
        reason = getattr(e, "reason", None) or e
        # That of an apiserver whose certificate is not accepted, which asking again does not change.
        lasts = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in (reason, *reason.args))
        raise Unreachable(f"the cluster cannot be reached for {path}: {_OBJECT.sub('', str(reason))}", lasts) from e


def _refusal(status: int, text: str, path: str) -> Error:
    """What an answer means that is none. The apiserver names what it does not find, and the kinds that it lacks not even that."""
    answer = as_object(text)
    message = str(answer.get("message") or text.strip() or f"HTTP {status}")
    if status != 404:
        return Refused(message, status)
    details = answer.get("details")
    if isinstance(details, dict) and details.get("name"):
        return NotFound(message)
    if path.startswith(f"/apis/{GROUP}/"):
        return NotInstalled(
            f"GenericJob is not installed in this cluster: its apiserver knows no {GROUP}/{VERSION} {path.split('/')[6]}. "
            "Ask who runs it to install the operator: https://github.com/genericjob/genericjob#install"
        )
    return NotFound(message)


def connect(namespace: str | None, context: str | None) -> Api:
    """Finds the cluster: that of the kubeconfig, as kubectl does, or else the one that this program runs in."""
    try:
        contexts, active = kubernetes.config.list_kube_config_contexts()
    except kubernetes.config.ConfigException as e:
        if context is not None or "KUBERNETES_SERVICE_HOST" not in os.environ:
            raise Unreachable(f"there is no cluster: {e}") from e
        return _connect_inside(namespace)
    chosen = active if context is None else next((c for c in contexts if c["name"] == context), None)
    if chosen is None:
        raise Unreachable(f"the kubeconfig has no context {context!r}: want one of {[c['name'] for c in contexts]}")
    client = kubernetes.config.new_client_from_config(context=context)
    return Api(client, namespace or chosen["context"].get("namespace") or "default")


def _connect_inside(namespace: str | None) -> Api:
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_incluster_config(client_configuration=configuration)
    if namespace is None:
        with open(_NAMESPACE_FILE, encoding="utf-8") as f:
            namespace = f.read().strip()
    return Api(kubernetes.client.ApiClient(configuration), namespace)
