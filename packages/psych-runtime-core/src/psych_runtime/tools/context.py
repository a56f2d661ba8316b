"""What a tool may know about its call, and do while it runs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from psych_runtime.errors import ToolCallCancelled
from psych_runtime.ids import RunId, ToolCallId
from psych_runtime.scope import Scope
from psych_runtime.tools.cancellation import CancelSignal

ProgressSink = Callable[[str, float | None, Any], Awaitable[None]]
"""Takes a progress report: message, fraction (0 to 1) and data."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, eq=False, kw_only=True)
class ToolContext:
    """Handed to a tool that has a parameter annotated ``ToolContext``; the model never sees it.

    Attributes:
        scope: On whose behalf the tool runs.
        run_id: The Run.
        call_id: The call, unique in the Run.
        tool: The name under which the tool was called.
        attempt_number: 1, or higher when the call is made again after a crash.
        epoch: Fencing token: grows with every Attempt of the Run. A system that remembers the
            highest one it saw can refuse a process that has lost the Run.
        deadline_at: When the call will be stopped; None when nothing limits it.
        cancelled: Set when the call is cancelled, runs out of time, or is over.
        on_progress: Where progress reports go; None drops them.
        loop: The event loop that coroutines given to `run_async` run on.
        now: The clock behind `remaining_seconds`.

    Example:
        ```python
        @registry.register
        async def charge(cents: int, context: ToolContext) -> str:
            "Charge the customer."
            return await payments.charge(cents, key=context.idempotency_key)
        ```
    """

    scope: Scope
    run_id: RunId
    call_id: ToolCallId
    tool: str
    attempt_number: int = 1
    epoch: int = 0
    deadline_at: datetime | None = None
    cancelled: CancelSignal = field(default_factory=CancelSignal, repr=False)
    on_progress: ProgressSink | None = field(default=None, repr=False)
    loop: asyncio.AbstractEventLoop | None = field(default_factory=_running_loop, repr=False)
    now: Callable[[], datetime] = field(default=_now, repr=False)

    @classmethod
    def for_testing(
        cls,
        *,
        scope: Scope | None = None,
        run_id: str = "run_test",
        call_id: str = "call_test",
        tool: str = "tool",
        attempt_number: int = 1,
        epoch: int = 1,
        deadline_at: datetime | None = None,
        progress: list[tuple[str, float | None, Any]] | None = None,
    ) -> Self:
        """Make a context without an engine, for tests of your tools.

        Args:
            scope: Default: tenant ``test``.
            run_id: The Run.
            call_id: The call.
            tool: The tool's name.
            attempt_number: Above 1 to test a repeated call.
            epoch: The fencing token.
            deadline_at: The deadline; None for none.
            progress: Progress reports are appended here as ``(message, fraction, data)``.
        """

        async def keep(message: str, fraction: float | None, data: Any) -> None:
            if progress is not None:
                progress.append((message, fraction, data))

        return cls(
            scope=scope or Scope(tenant="test"),
            run_id=RunId(run_id),
            call_id=ToolCallId(call_id),
            tool=tool,
            attempt_number=attempt_number,
            epoch=epoch,
            deadline_at=deadline_at,
            on_progress=keep,
        )

    @property
    def idempotency_key(self) -> str:
        """A key for this call: the same however often it is made again, in any process."""
        digest = hashlib.sha256(f"{self.run_id}\x1f{self.call_id}".encode("utf-8", "surrogatepass"))
        return f"idem_{digest.hexdigest()[:40]}"

    def remaining_seconds(self) -> float | None:
        """Return the seconds until `deadline_at`, never below 0; None without a deadline."""
        if self.deadline_at is None:
            return None
        return max(0.0, (self.deadline_at - self.now()).total_seconds())

    def limited_to(self, seconds: float) -> Self:
        """Return this context with a deadline at most ``seconds`` from now."""
        end = self.now() + timedelta(seconds=seconds)
        if self.deadline_at is not None and self.deadline_at <= end:
            return self
        return replace(self, deadline_at=end)

    async def progress(self, message: str, fraction: float | None = None, data: Any = None) -> None:
        """Report how far the call is. Dropped once the call is cancelled or over.

        Args:
            message: For people.
            fraction: 0 to 1; a value outside is moved to the nearer end.
            data: Anything JSON-like.

        Raises:
            UnstorableValueError: ``data`` cannot be stored.
        """
        if self.on_progress is None or self.cancelled.is_cancelled:
            return
        if fraction is not None:
            fraction = None if math.isnan(fraction) else min(max(float(fraction), 0.0), 1.0)
        await self.on_progress(message, fraction, data)

    def progress_sync(self, message: str, fraction: float | None = None, data: Any = None) -> None:
        """Report how far the call is, from a synchronous tool's thread. See `progress`.

        Raises:
            RuntimeError: Called on the event loop's thread; use ``await context.progress(...)``.
        """
        if self.on_progress is None or self.cancelled.is_cancelled:
            return
        try:
            self.run_async(self.progress(message, fraction, data))
        except ToolCallCancelled:
            return

    def run_async[T](self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run ``coroutine`` on the host's event loop, from a synchronous tool, and wait for it.

        So a synchronous tool can use clients that belong to that loop. Without a host loop, as in
        a synchronous test, the coroutine gets a loop of its own.

        Raises:
            RuntimeError: Called on the loop's own thread, which would wait for itself.
            ToolCallCancelled: The call was cancelled meanwhile, or the loop has closed.
            Exception: Whatever the coroutine raises.
        """
        running = _running_loop()
        if self.loop is None and running is None:
            return asyncio.run(coroutine)
        if self.loop is None or running is self.loop:
            coroutine.close()
            raise RuntimeError(
                f"run_async was called by tool {self.tool!r} on the event loop's own thread, where "
                "it would wait for itself: write `await` instead, in an `async def` tool"
            )
        try:
            future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError as error:
            coroutine.close()
            raise ToolCallCancelled("the event loop of this call has closed") from error
        with self.cancelled.watching(future.cancel):
            try:
                return future.result()
            except concurrent.futures.CancelledError as error:
                if self.cancelled.is_cancelled:
                    raise ToolCallCancelled("this tool call was cancelled") from error
                raise
