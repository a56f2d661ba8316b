"""Tools and connections that a Spec grants."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from psych_runtime.spec.base import SpecModel, by_unique_name, one_line_endings, sorted_unique
from psych_runtime.spec.json_values import JsonObject
from psych_runtime.spec.names import BUILT_IN_TOOLS, Name, ToolName
from psych_runtime.spec.remote_names import qualified_owner

_CREDENTIAL_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL: Final = re.compile(r"https?://([^/?#]+)([^#]*)(#.*)?", re.IGNORECASE | re.DOTALL)
_PLACEHOLDER: Final = re.compile(r"\{[^{}/?#]+\}")

Text = Annotated[str, BeforeValidator(one_line_endings)]
"""Text whose line endings are all ``\\n``."""
NameSet = Annotated[tuple[str, ...], AfterValidator(sorted_unique)]
"""Texts in order, each once."""


class CodeTool(SpecModel):
    """A function registered in the Worker's `ToolRegistry`, granted by its name."""

    kind: Literal["code"] = "code"
    name: ToolName
    interruptible: bool = True
    """Whether an interrupt may cancel a call that is running."""


class HttpTool(SpecModel):
    """A tool that is one HTTP request."""

    kind: Literal["http"] = "http"
    name: ToolName
    description: str = Field(min_length=1, max_length=4096)
    """What the model reads."""
    url: str = Field(min_length=1, max_length=2048)
    """May have ``{argument}`` placeholders in its path and query."""
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    """GET counts as read-only, everything else as a write."""
    input_schema: JsonObject = Field(default_factory=dict)
    """JSON Schema of the arguments, sent to the model as it is."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request; headers that carry credentials are refused."""
    credential: str | None = Field(default=None, max_length=256)
    """Name of a secret, resolved per Scope and sent as ``Authorization: Bearer …``."""
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    """Limit of one request."""
    interruptible: bool = True
    """Whether an interrupt may cancel a call that is running."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = _URL.fullmatch(url)
        if parts is None:
            raise ValueError(f"{url!r} is not an http or https URL with a host")
        if "{" in parts[1] or "}" in parts[1]:
            raise ValueError(
                f"{url!r} has a placeholder in its host: the model could then choose where the "
                "request goes. Placeholders belong in the path or the query"
            )
        rest = _PLACEHOLDER.sub("", parts[2]) + (parts[3] or "")
        if "{" in rest or "}" in rest:
            raise ValueError(
                f"{url!r} has a brace that is not part of a {{name}} placeholder in its path or "
                "query; write %7B or %7D for a literal one"
            )
        return url

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if name.lower() in _CREDENTIAL_HEADERS:
                raise ValueError(
                    f"the header {name!r} would store a secret in the Spec: put the secret's name "
                    "in `credential` instead"
                )
            if _HEADER_NAME.fullmatch(name) is None:
                raise ValueError(f"{name!r} is not a valid HTTP header name")
            if any(ord(char) < 32 and char != "\t" for char in value):
                raise ValueError(f"the header {name!r} has a control character in its value")
        return headers


class McpOAuth(SpecModel):
    """How to get a token for an MCP server."""

    grant: Literal["authorization_code", "client_credentials"] = "client_credentials"
    preregistered_client_id: Text | None = Field(default=None, max_length=512)
    client_secret_credential: Text | None = Field(default=None, max_length=256)
    """Name of the secret, never the secret."""
    issuer: Text | None = Field(default=None, max_length=2048)
    """The issuer that a pre-registered client expects."""
    cimd_url: Text | None = Field(default=None, max_length=2048)
    """HTTPS URL of a Client ID Metadata Document."""
    allow_dynamic_registration: bool = True
    """Whether the client may register itself (RFC 7591)."""
    application_type: Literal["native", "web"] = "native"
    client_name: Text = Field(default="psych", max_length=256)
    redirect_uris: tuple[Text, ...] = ()
    """Needed for ``authorization_code``; the first is the default."""

    @model_validator(mode="after")
    def _needs_redirect(self) -> Self:
        if self.grant == "authorization_code" and not self.redirect_uris:
            raise ValueError("the grant authorization_code needs at least one of redirect_uris")
        return self


class McpServer(SpecModel):
    """A connection to an MCP server."""

    name: Name
    """Its name in this Spec, and the first part of its tools' model-facing names."""
    url: str = Field(min_length=1, max_length=2048)
    transport: Literal["http", "sse"] = "http"
    """``http`` is Streamable HTTP, ``sse`` the older HTTP with server-sent events."""
    credential: str | None = Field(default=None, max_length=256)
    """Name of a secret sent as a bearer token."""
    oauth: McpOAuth | None = None
    allow: NameSet = ()
    """Patterns of the tools granted (a trailing ``*`` is allowed); empty grants all."""
    optional: bool = False
    """An unreachable server fails the Run (False) or only lacks its tools (True)."""
    preload: bool | None = None
    """List its tools in the prompt: always, never, or (None) when the catalogue is small."""


class A2APeer(SpecModel):
    """A connection to a remote agent."""

    name: Name
    """Its name in this Spec, and the first part of its tools' model-facing names."""
    url: str = Field(min_length=1, max_length=2048)
    """Base URL, or the URL of the card itself when it ends in ``.json``."""
    credential: str | None = Field(default=None, max_length=256)
    """Name of a secret."""
    scheme: str = Field(default="Bearer", max_length=64)
    """HTTP authentication scheme of the credential."""
    tenant: str | None = Field(default=None, max_length=256)
    """Sent with each request, for the peer's own routing."""
    allow: NameSet = ()
    """Patterns of the skill ids granted; empty grants all."""
    optional: bool = False
    """An unreachable peer fails the Run (False) or only lacks its tools (True)."""
    extensions: NameSet = ()
    """URIs of the extensions asked for on every call."""


Tool = Annotated[CodeTool | HttpTool, Field(discriminator="kind")]


ToolSet = Annotated[tuple[Tool, ...], AfterValidator(by_unique_name("tool"))]
McpServerSet = Annotated[tuple[McpServer, ...], AfterValidator(by_unique_name("MCP server"))]
A2APeerSet = Annotated[tuple[A2APeer, ...], AfterValidator(by_unique_name("A2A peer"))]


def check_tool_names(tools: Iterable[CodeTool | HttpTool], owners: Iterable[str]) -> None:
    """Refuse tools with a name of the runtime's own, or one that a server's tool could have.

    Args:
        tools: The Spec's tools.
        owners: Names of its MCP servers and A2A peers.

    Raises:
        ValueError: Names the tool.
    """
    owners = tuple(owners)
    for tool in tools:
        if tool.name in BUILT_IN_TOOLS:
            raise ValueError(f"the tool name {tool.name!r} is taken by a built-in tool; rename it")
        owner = qualified_owner(tool.name, owners)
        if owner is not None:
            raise ValueError(
                f"the tool name {tool.name!r} looks like a tool of {owner!r}; rename the tool"
            )
