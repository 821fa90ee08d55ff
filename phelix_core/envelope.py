"""The one machine-readable answer: success or failure, with the exit code that says the same.

Keys and order: surfaces page, Envelope. Messages and details pass the redactor here, so that no error
echoes a secret on any surface.
"""

from collections.abc import Mapping
from typing import cast

from phelix_core.errors import PhelixError
from phelix_core.frozen import frozen
from phelix_core.redaction import redact
from phelix_core.strictjson import dumps, plain

SCHEMA_VERSION = "1"


@frozen
class Envelope:
    """A command's answer: exactly one of `result` and `error` is set."""

    result: object = None
    error: PhelixError | None = None

    @property
    def operation_id(self) -> str | None:
        """The durable operation that the call stands for; None for every call that stands for none."""
        if self.error is not None:
            return self.error.operation_id
        return getattr(self.result, "durable_operation_id", None)

    @property
    def exit_code(self) -> int:
        """Exit status of the process that carries this answer."""
        return self.error.exit_code if self.error else 0

    def document(self) -> dict[str, object]:
        """Plain members in their order."""
        operation = {} if self.operation_id is None else {"operation_id": self.operation_id}
        head = {"schema_version": SCHEMA_VERSION, **operation}
        if self.error is None:
            return {**head, "status": "succeeded", "result": plain(self.result)}
        return {**head, "status": "failed", "error": self.failure()}

    def failure(self) -> dict[str, object]:
        """The members of `error`, redacted; empty for a success."""
        error = self.error
        if error is None:
            return {}
        told: dict[str, object] = {
            "code": error.code,
            "message": redact(error.message),
            "exit_code": error.exit_code,
            "retryable": error.retryable,
        }
        if error.hint:
            told["hint"] = redact(error.hint)
        if error.details:
            told["details"] = redacted(plain(error.details))
        return told

    def json(self) -> str:
        """The document as text, with its closing newline."""
        return dumps(self.document()) + "\n"


def redacted(value: object) -> object:
    """A plain value with every text in it passed through the redactor."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [redacted(item) for item in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {redact(key): redacted(member) for key, member in cast("Mapping[str, object]", value).items()}
    return value
