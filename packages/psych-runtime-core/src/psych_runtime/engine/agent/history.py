"""The conversation that a Run continues."""

from __future__ import annotations

from psych_runtime.log.codec import decode_log
from psych_runtime.ports.messages import Message
from psych_runtime.ports.store import RunHeader, Store
from psych_runtime.reads.conversation import Conversation


async def load_history(store: Store, header: RunHeader, max_records: int) -> tuple[Message, ...]:
    """Messages of the Runs that ``header`` continues, oldest first.

    The immediate predecessor comes whole; older Runs are added whole while their records fit in
    ``max_records`` (0: no history at all). A purged ancestor, or one of another tenant, ends the
    walk.
    """
    if max_records <= 0:
        return ()
    parts: list[tuple[Message, ...]] = []
    budget = max_records
    ancestor = header.continues_run_id
    while ancestor is not None:
        previous = await store.get_run(ancestor)
        if previous is None or previous.purged or previous.scope.tenant != header.scope.tenant:
            break
        if parts and previous.head_seq > budget:
            break
        stored = await store.read(ancestor)
        conversation = Conversation()
        for record in decode_log(ancestor, stored):
            conversation.add(record)
        parts.append(conversation.messages())
        budget -= len(stored)
        ancestor = previous.continues_run_id
    return tuple(message for part in reversed(parts) for message in part)
