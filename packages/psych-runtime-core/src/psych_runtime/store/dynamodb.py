"""`DynamoDBStore`, at its documented path; it lives in ``psych-runtime-dynamodb``."""

from psych_runtime.plugins.shim import provided_by

with provided_by("dynamodb"):
    from psych_runtime_dynamodb.store import DynamoDBStore  # type: ignore[import-not-found, unused-ignore]

__all__ = ["DynamoDBStore"]
