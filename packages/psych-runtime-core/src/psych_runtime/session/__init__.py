"""`session()`: a store, a registry, a Runtime and a running Worker, assembled and taken down."""

from psych_runtime.session.session import Session, session

__all__ = ["Session", "session"]
