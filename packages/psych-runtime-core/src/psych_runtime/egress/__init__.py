"""Outbound HTTP: the one transport everything goes through, and the policies it asks."""

from psych_runtime.egress.policies import AllowAll, DenyAll
from psych_runtime.egress.transport import HttpStream, HttpTransport

__all__ = ["AllowAll", "DenyAll", "HttpStream", "HttpTransport"]
