"""Transformer models on CPUs: a gRPC client of trivium-server, and models in this
process."""

from trivium.aio_client import AsyncClient
from trivium.client import Client
from trivium.connection import Options, tls_credentials
from trivium.documents import DocumentError, TranslatedDocument
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
from trivium.model import LocalGeneration, Model
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
    "DocumentError",
    "FailedPreconditionError",
    "FieldViolation",
    "Generation",
    "InvalidArgumentError",
    "LocalGeneration",
    "Model",
    "NotFoundError",
    "Options",
    "Outcome",
    "ResourceExhaustedError",
    "RetryPolicy",
    "TranslatedDocument",
    "TriviumError",
    "UnavailableError",
    "tls_credentials",
]
