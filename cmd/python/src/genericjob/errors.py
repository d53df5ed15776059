"""What can go wrong. Each error has the exit code that `kubectl gj` has for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .plain import plain

if TYPE_CHECKING:
    from .status import Failure


class Error(Exception):
    """All errors of this package are such. `code` is for sys.exit: that of `kubectl gj`."""

    code: ClassVar[int] = 4

    def __str__(self) -> str:
        return plain(super().__str__())


class Unreachable(Error):
    """The cluster cannot be reached, or what answers is no apiserver.

    `lasts` says that it is no use to ask again, as where its certificate is not accepted.
    """

    def __init__(self, message: str, lasts: bool = False) -> None:
        super().__init__(message)
        self.lasts = lasts


class Refused(Error):
    """The apiserver refuses something; the message is its own. `status` is that of HTTP, as in 422."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotFound(Refused):
    """There is no such job, or it was deleted."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 404)


class NotInstalled(Error):
    """The cluster does not know the kind of job."""


class Usage(Error, ValueError):
    """The call is wrong, or asks a kind for what it does not have."""

    code = 2


class NotSendable(Usage):
    """The function cannot be run elsewhere."""


class JobTimeout(Error, TimeoutError):
    """What was waited for did not come in time."""

    code = 3


class JobOver(Error):
    """The job is over, otherwise than what was waited for or asked of it."""

    code = 1


class JobFailed(JobOver):
    """The job has failed.

    `reason` is one word of the API, as in DeadlineExceeded. `failure` is the replica that failed first, None if none did.
    `log_tail` are its last lines.
    """

    def __init__(self, message: str, reason: str, failure: Failure | None, log_tail: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.failure = failure
        self.log_tail = log_tail
