from __future__ import annotations

import pickle
from typing import Any

import pytest
from psych_runtime.ids import RunId
from psych_runtime.log import records as r
from psych_runtime.log.corruption import CorruptionReason, CorruptLog
from psych_runtime.log.values import ModelTimings, ModelToolCall, ResultAttachment, ToolFailure
from psych_runtime.scope import Scope
from psych_runtime.spec.usage import Usage
from psych_runtime.testing.logs import EPOCH
from pydantic import ValidationError

COMMON: dict[str, Any] = {
    "run_id": "run_1",
    "seq": 1,
    "at": EPOCH,
    "scope": Scope(tenant="acme"),
}


def test_a_failure_report_never_fails_over_its_length() -> None:
    failure = ToolFailure(kind="k" * 500, message="m" * 20_000, traceback="t" * 100_000)
    assert (len(failure.kind), len(failure.message)) == (128, 8192)
    assert failure.message.endswith("[cut: 20000 characters in all]")
    assert failure.traceback is not None
    assert len(failure.traceback) == 65536


def test_an_attachment_says_where_its_bytes_are() -> None:
    common: dict[str, Any] = {"name": "stdout", "handle": "h", "content_type": "text/plain"}
    with pytest.raises(ValidationError, match="only an inline one carries data"):
        ResultAttachment(**common, size_bytes=1, observed_bytes=1)
    with pytest.raises(ValidationError, match="only an inline one carries data"):
        ResultAttachment(**common, size_bytes=1, observed_bytes=1, stored="blob", data=b"x")
    with pytest.raises(ValidationError, match="2 bytes kept of 1"):
        ResultAttachment(**common, size_bytes=2, observed_bytes=1, data=b"xx")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"result_blob_key": "k"}, "needs result_content_type"),
        ({"result_content_type": "text/plain"}, "without result_blob_key"),
        (
            {"result_blob_key": "k", "result_content_type": "text/plain", "result": 1},
            "not inline as well",
        ),
    ],
)
def test_a_result_is_in_one_place(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        r.ToolCallFinished(**COMMON, call_id="c", outcome="ok", **fields)


def test_handles_of_one_result_differ() -> None:
    attachment = ResultAttachment(
        name="a", handle="h", content_type="x/y", size_bytes=0, observed_bytes=0, data=b""
    )
    twice: dict[str, Any] = {"attachments": (attachment, attachment)}
    for fields in (twice, {"attachments": (attachment,), "result_handle": "h"}):
        with pytest.raises(ValidationError, match="handles must differ"):
            r.ToolCallFinished(**COMMON, call_id="c", outcome="ok", **fields)


def test_a_step_result_is_one_thing() -> None:
    failure = ToolFailure(kind="E", message="no")
    with pytest.raises(ValidationError, match="neither output nor failure"):
        r.StepCompleted(**COMMON, step_id="s", skipped=True, failure=failure)
    with pytest.raises(ValidationError, match="will_retry needs the failure"):
        r.StepCompleted(**COMMON, step_id="s", will_retry=True)


def test_a_finished_model_call_names_its_calls_and_who_counted() -> None:
    record = r.ModelCallFinished(
        **COMMON,
        turn=1,
        model="m",
        usage=Usage(),
        usage_reported=False,
        cost=None,
        timings=ModelTimings(),
        finish_reason="stop",
        calls=(ModelToolCall(call_id="a", name="x"), ModelToolCall(call_id="b", name="")),
    )
    assert record.tool_calls == ("a", "b")
    assert record.usage_source == "none"
    assert record.model_copy(update={"usage_reported": True}).usage_source == "provider"


def test_a_corrupt_log_keeps_its_parts_through_pickle() -> None:
    error = CorruptLog(CorruptionReason.INCONSISTENT_COST, RunId("run_1"), 3, "two currencies")
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.reason, copied.run_id, copied.seq, copied.detail) == (
        CorruptionReason.INCONSISTENT_COST,
        "run_1",
        3,
        "two currencies",
    )
    assert "record 3" in str(copied)
