"""Client of trivium-server: transformer models on CPUs, over gRPC."""

from trivium.aio_client import AsyncClient
from trivium.client import Client
from trivium.connection import Options, tls_credentials
from trivium.errors import (
    AlreadyExistsError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    FieldViolation,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    TriviumError,
    UnavailableError,
)
from trivium.exchange import Outcome
from trivium.generation import AsyncGeneration, Generation
from trivium.retry import NO_RETRY, RetryPolicy

__version__ = "0.1.0"

__all__ = [
    "NO_RETRY",
    "AlreadyExistsError",
    "AsyncClient",
    "AsyncGeneration",
    "CancelledError",
    "Client",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "FieldViolation",
    "Generation",
    "InvalidArgumentError",
    "NotFoundError",
    "Options",
    "Outcome",
    "ResourceExhaustedError",
    "RetryPolicy",
    "TriviumError",
    "UnavailableError",
    "tls_credentials",
]
