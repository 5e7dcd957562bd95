"""What both clients share: options, and the attempts of a call."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Any, Union

import grpc

from trivium.errors import TriviumError, from_rpc_error
from trivium.inputs import conversation_of
from trivium.retry import RetryPolicy
from trivium.v1 import inference_pb2

StrPath = Union[str, "os.PathLike[str]"]

DEFAULT_ADDRESS = "127.0.0.1:50051"
#: The metadata key that identifies a chat's conversation.
CONVERSATION = "x-conversation"


@dataclasses.dataclass(frozen=True)
class Options:
    """How a client reaches its server."""

    address: str = DEFAULT_ADDRESS  # HOST:PORT
    #: Seconds for a call, from its start to its last message, with all its
    #: attempts; and the same for a stream of texts.
    timeout: float = 60.0
    stream_timeout: float = 24 * 3600.0
    #: A stream fails if the server owes results and sends none for this many
    #: seconds.
    stall_timeout: float = 60.0
    retry: RetryPolicy = dataclasses.field(default_factory=RetryPolicy)
    #: Keys and values to send with each call, as (("x-api-key", "..."),).
    metadata: Sequence[tuple[str, str]] = ()
    #: "batch" if nobody waits for the answers: other calls then run first. None: the
    #: server's default, "interactive".
    priority: str | None = None
    max_response_bytes: int = 64 << 20
    #: None: no encryption. tls_credentials() reads them from files.
    credentials: grpc.ChannelCredentials | None = None
    #: With TLS: the name in the server's certificate; None: the host of the
    #: address.
    tls_server_name: str | None = None

    def __post_init__(self) -> None:
        if not self.address:
            raise ValueError("the address is empty; it is HOST:PORT")
        for name in ("timeout", "stream_timeout", "stall_timeout"):
            check_timeout(getattr(self, name), name)
        if self.priority not in (None, "interactive", "batch"):
            raise ValueError(f"the priority is {self.priority!r}; it is interactive or batch")

    def call_metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata to send with each call."""
        if self.priority is None:
            return tuple(self.metadata)
        return (*self.metadata, ("trivium-priority", self.priority))

    def generate_metadata(
        self, request: inference_pb2.GenerateRequest
    ) -> tuple[tuple[str, str], ...]:
        """The metadata of Generate. It includes the conversation of a chat, so that
        balancers can send all its turns to the server that cached the earlier
        ones."""
        metadata = self.call_metadata()
        if not request.HasField("chat") or any(key == CONVERSATION for key, _ in metadata):
            return metadata
        return (*metadata, (CONVERSATION, conversation_of(request.chat)))

    def channel_arguments(self) -> list[tuple[str, Any]]:
        arguments: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", self.max_response_bytes),
            # Proxies in the environment are for the web, not for this server.
            ("grpc.enable_http_proxy", 0),
        ]
        if self.tls_server_name is not None:
            arguments.append(("grpc.ssl_target_name_override", self.tls_server_name))
        return arguments


def tls_credentials(
    ca: StrPath | None = None,
    certificate: StrPath | None = None,
    key: StrPath | None = None,
    token: str | None = None,
) -> grpc.ChannelCredentials:
    """Options.credentials for a server with TLS, from PEM files. `ca` has the
    certificates of the authorities that may sign the server's (None: those that
    gRPC knows). `certificate` and `key` are the client's, for servers that ask;
    give both or neither. `token` is sent with each call."""
    if (certificate is None) != (key is None):
        raise ValueError("certificate and key are given together or not at all")

    def contents(path: StrPath | None) -> bytes | None:
        return None if path is None else pathlib.Path(path).read_bytes()

    channel = grpc.ssl_channel_credentials(contents(ca), contents(key), contents(certificate))
    if token is None:
        return channel
    bearer = grpc.access_token_call_credentials(token)
    return grpc.composite_channel_credentials(channel, bearer)


def check_timeout(value: float, name: str = "timeout") -> float:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} is {value}; it is a positive number of seconds")
    return value


class Attempts:
    """The attempts of one call, all within its timeout. `retry` overrides the
    policy of the options."""

    def __init__(
        self, options: Options, timeout: float | None, retry: RetryPolicy | None = None
    ) -> None:
        self._options = options
        self._retry = options.retry if retry is None else retry
        self._timeout = options.timeout if timeout is None else check_timeout(timeout)
        self._until = time.monotonic() + self._timeout
        self._made = 0

    def begin(self) -> float:
        """Begins an attempt. Returns the seconds that it has."""
        self._made += 1
        return max(self._until - time.monotonic(), 0.001)

    def error(self, error: grpc.RpcError) -> TriviumError:
        return from_rpc_error(
            error,
            self._options.address,
            self._timeout,
        )

    def pause(self, error: TriviumError) -> float:
        """Returns the seconds until the next attempt. Raises the error if there is
        none."""
        pause = self._retry.pause(error, self._made)
        self.check_pause(pause, error)
        assert pause is not None
        return pause

    def check_pause(self, pause: float | None, error: TriviumError) -> None:
        if pause is None or time.monotonic() + pause >= self._until:
            raise error
