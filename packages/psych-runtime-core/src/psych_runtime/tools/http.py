"""HTTP tools: tools that are one HTTP request, described in the Spec."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, TypeAdapter

from psych_runtime.egress.transport import HttpStream, HttpTransport
from psych_runtime.errors import (
    AccessDenied,
    CredentialNotFound,
    HttpToolError,
    InvalidInput,
    TransientError,
)
from psych_runtime.ports.secrets import SecretResolver
from psych_runtime.scope import Scope
from psych_runtime.spec.tools import HttpTool
from psych_runtime.tools.context import ToolContext
from psych_runtime.tools.http_request import build_request, http_definition
from psych_runtime.tools.registered import RegisteredTool

_ERROR_CHARS: Final = 2000
_BYTES_PER_CHAR: Final = 4


class HttpToolExecutor:
    """Sends the requests of HTTP tools. No retries, and redirects are not followed.

    Args:
        transport: The way out; its egress policy is asked for each request.
        secrets: Resolves the tools' credential names; None when no tool has one.
        max_response_chars: A longer answer is cut, with a mark at its end.

    Raises:
        ValueError: ``max_response_chars`` is lower than 1.
    """

    def __init__(
        self,
        transport: HttpTransport,
        secrets: SecretResolver | None = None,
        *,
        max_response_chars: int = 65536,
    ) -> None:
        if max_response_chars < 1:
            raise ValueError(f"max_response_chars must be 1 or more, not {max_response_chars}")
        self._transport = transport
        self._secrets = secrets
        self._max_chars = max_response_chars

    async def call(self, scope: Scope, tool: HttpTool, arguments: Mapping[str, Any]) -> Any:
        """Send one request and return the answer: parsed JSON if it says it is, else text.

        ``{name}`` in the URL is replaced by the argument, percent-encoded. The other arguments are
        the JSON body of POST, PUT and PATCH, and the query of GET and DELETE.

        Raises:
            ValueError: An argument that the URL needs is missing, empty or not a scalar.
            CredentialNotFound: The tool's credential does not resolve for this Scope.
            AccessDenied: The egress policy refused.
            TransientError: No connection, a broken one, or no answer in time.
            HttpToolError: The status is not 2xx.
        """
        request = build_request(tool, arguments)
        headers = request.headers
        if tool.credential is not None:
            token = await self._token(scope, tool.credential)
            headers = {**headers, "authorization": f"Bearer {token}"}
        try:
            async with (
                asyncio.timeout(tool.timeout_seconds) as limit,
                self._transport.stream(
                    tool.method,
                    request.url,
                    scope=scope,
                    headers=headers,
                    content=request.content,
                    params=request.params,
                    timeout=tool.timeout_seconds,
                ) as response,
            ):
                if not 200 <= response.status_code < 300:
                    raise await self._refusal(tool, response)
                return await self._answer(response)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise TransientError(
                f"{tool.name} got no complete answer within {tool.timeout_seconds:g} s"
            ) from error

    def bind(self, scope: Scope) -> Callable[[HttpTool, Mapping[str, Any]], Awaitable[Any]]:
        """Return `call` for one Scope."""
        return partial(self.call, scope)

    async def _token(self, scope: Scope, name: str) -> str:
        found = None if self._secrets is None else await self._secrets.resolve(scope, name)
        if found is None:
            raise CredentialNotFound(scope, name)
        token = found.secret.get_secret_value().strip()
        # Checked here, because the HTTP library's own complaint would show the secret.
        if not token or not token.isascii() or not token.isprintable():
            raise InvalidInput(
                f"the credential {name!r} is empty or has characters that a header cannot carry"
            )
        return token

    async def _answer(self, response: HttpStream) -> Any:
        text, is_whole = await _text(response, self._max_chars)
        if not is_whole:
            return f"{text}\n… [cut: the answer is longer than {self._max_chars} characters]"
        if _says_json(response):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return text
        return text

    async def _refusal(self, tool: HttpTool, response: HttpStream) -> HttpToolError:
        text, _ = await _text(response, _ERROR_CHARS)
        note = ""
        if 300 <= response.status_code < 400:
            note = f" (a redirect to {response.headers.get('location', 'nowhere')!r}, not followed)"
        request = f"{tool.name} ({tool.method})"
        return HttpToolError(request, response.status_code, text.strip(), note)


def http_tool(executor: HttpToolExecutor | None, tool: HttpTool) -> RegisteredTool:
    """Return ``tool`` in the form that the engine calls, with the Run's Scope.

    Without an executor every call is an `AccessDenied` failure.
    """

    async def send(arguments: dict[str, Any], context: ToolContext) -> Any:
        if executor is None:
            raise AccessDenied(
                tool.name, "this process sends no HTTP requests: give its Runtime an http="
            )
        return await executor.call(context.scope, tool, arguments)

    def checked(arguments: Any) -> dict[str, Any]:
        build_request(tool, arguments)
        return {"arguments": arguments}

    definition = http_definition(tool)
    adapter: TypeAdapter[BaseModel] = TypeAdapter(
        Annotated[_AnyArguments, BeforeValidator(checked)]
    )
    return RegisteredTool(
        name=tool.name,
        description=tool.description,
        fn=send,
        input_schema=definition.input_schema,
        arguments_adapter=adapter,
        is_async=True,
        interruptible=tool.interruptible,
        safe_to_retry=False,
        annotations=definition.annotations,
        context_parameter="context",
        fields=(("arguments", "arguments"),),
    )


class _AnyArguments(BaseModel):
    """The other side checks the arguments: only what the URL needs is checked here."""

    arguments: dict[str, Any]


async def _text(response: HttpStream, max_chars: int) -> tuple[str, bool]:
    """Read at most ``max_chars`` characters; also say whether that is the whole body."""
    max_bytes = max_chars * _BYTES_PER_CHAR + 1
    body = await response.read(max_bytes)
    text = _decoded(body, response)
    is_whole = len(body) < max_bytes and len(text) <= max_chars
    return text[:max_chars], is_whole


def _decoded(body: bytes, response: HttpStream) -> str:
    content_type = response.headers.get("content-type", "")
    _, _, charset = content_type.lower().partition("charset=")
    try:
        return body.decode(charset.split(";")[0].strip(" \"'") or "utf-8-sig", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _says_json(response: HttpStream) -> bool:
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")
