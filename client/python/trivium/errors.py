"""Errors of calls: a class for each gRPC code that callers distinguish."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import grpc

from trivium.rpc import error_details_pb2, status_pb2


class FieldViolation(NamedTuple):
    """A wrong field of the request, as "inputs[3].text", and what is wrong."""

    field: str
    description: str


class TriviumError(Exception):
    """A call, or one text of a stream, that failed.

    str() is the whole message: the server's message, the wrong fields, when to try
    again, and the request id under which the server logged the call.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        *,
        violations: tuple[FieldViolation, ...] = (),
        retry_delay: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        #: With INVALID_ARGUMENT: the wrong fields, from google.rpc.BadRequest.
        self.violations = violations
        #: Seconds to wait before a retry, if the server named them (RetryInfo).
        self.retry_delay = retry_delay
        #: Empty if no server answered.
        self.request_id = request_id


class InvalidArgumentError(TriviumError):
    """The request is wrong. `violations` names the fields."""


class NotFoundError(TriviumError):
    """The server has no such model."""


class AlreadyExistsError(TriviumError):
    """The server has a model of that name already."""


class FailedPreconditionError(TriviumError):
    """The model cannot do this call, or the server was started without a flag that
    the call needs."""


class ResourceExhaustedError(TriviumError):
    """The server is full and says when to try again (`retry_delay`). Without
    `retry_delay`, the request is larger than the server accepts."""


class UnavailableError(TriviumError):
    """No server answers, or it is stopping."""


class DeadlineExceededError(TriviumError):
    """The call had no answer within its timeout."""


class CancelledError(TriviumError):
    """The call was cancelled."""


_CLASSES: dict[grpc.StatusCode, type[TriviumError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidArgumentError,
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.ALREADY_EXISTS: AlreadyExistsError,
    grpc.StatusCode.FAILED_PRECONDITION: FailedPreconditionError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: ResourceExhaustedError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.CANCELLED: CancelledError,
}
# grpc.aio's message for a stream that it wrote to after its end, before it read
# the reason.
_BROKEN = "Internal error from Core"
_CODES = {code.value[0]: code for code in grpc.StatusCode}


def make_error(
    code: grpc.StatusCode,
    message: str,
    *,
    details: status_pb2.Status | None = None,
    request_id: str = "",
) -> TriviumError:
    """Makes the error of a code. Completes its message from google.rpc.Status."""
    violations: list[FieldViolation] = []
    retry_delay = None
    for detail in details.details if details else ():
        kind = detail.type_url.rpartition("/")[2]
        if kind == "google.rpc.BadRequest":
            bad = error_details_pb2.BadRequest.FromString(detail.value)
            violations += [
                FieldViolation(one.field, one.description) for one in bad.field_violations
            ]
        elif kind == "google.rpc.RetryInfo":
            delay = error_details_pb2.RetryInfo.FromString(detail.value)
            retry_delay = delay.retry_delay.seconds + delay.retry_delay.nanos * 1e-9
    for field, description in violations:
        if field not in message or description not in message:
            message += f"; {field}: {description}"
    if retry_delay is not None:
        message += f"; try again in {retry_delay:g} s"
    if request_id and request_id not in message:
        message += f" [request {request_id}]"
    return _CLASSES.get(code, TriviumError)(
        code,
        message,
        violations=tuple(violations),
        retry_delay=retry_delay,
        request_id=request_id,
    )


def from_status(status: status_pb2.Status) -> TriviumError:
    """Makes the error of one text of a stream."""
    code = _CODES.get(status.code, grpc.StatusCode.UNKNOWN)
    return make_error(code, status.message, details=status)


class CallError(Protocol):
    """The methods that a call's grpc.RpcError and grpc.aio.AioRpcError share."""

    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str | None: ...
    def trailing_metadata(self) -> object: ...


def from_rpc_error(error: CallError, address: str, timeout: float) -> TriviumError:
    """Makes the error of a call to `address` that had `timeout` seconds."""
    trailers = {}
    for key, value in error.trailing_metadata() or ():  # type: ignore[attr-defined]
        trailers[key] = value
    request_id = str(trailers.get("x-request-id", ""))
    message = error.details() or ""
    code = error.code()
    if code == grpc.StatusCode.INTERNAL and message == _BROKEN and not request_id:
        code = grpc.StatusCode.UNAVAILABLE
    if code == grpc.StatusCode.UNAVAILABLE and not request_id:
        message = f"no server answers at {address}: {message}; is trivium-server running there?"
    elif code == grpc.StatusCode.DEADLINE_EXCEEDED:
        message = f"no answer from {address} within {timeout:g} s: {message}"
    details = None
    serialized = trailers.get("grpc-status-details-bin")
    if isinstance(serialized, bytes):
        try:
            details = status_pb2.Status.FromString(serialized)
        except Exception:  # perhaps the details come from a proxy
            details = None
    return make_error(code, message, details=details, request_id=request_id)
