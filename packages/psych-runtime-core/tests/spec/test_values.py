from __future__ import annotations

import json
from decimal import Decimal

import pytest
from psych_runtime.spec.components import (
    Card,
    Carousel,
    Chart,
    ChartPoint,
    ChartSeries,
    Component,
    Detail,
    Metric,
    Timeline,
    TimelineStep,
    component_summary,
)
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.questions import AskedQuestion, QuestionOption
from psych_runtime.spec.tasks import Task, active_label, task_summary
from psych_runtime.spec.usage import MIXED_MODEL, Cost, Usage
from pydantic import TypeAdapter, ValidationError


class TestUsage:
    def test_adds_field_by_field(self) -> None:
        one = Usage(input=1, output=2, cache_read=3, cache_write=4, cache_write_1h=2, reasoning=1)
        assert one + one == Usage(
            input=2, output=4, cache_read=6, cache_write=8, cache_write_1h=4, reasoning=2
        )
        assert sum([one, one], Usage()).total_billable == 20

    def test_reasoning_is_not_billed_twice(self) -> None:
        assert Usage(output=5, reasoning=5).total_billable == 5

    def test_the_hourly_part_is_at_most_the_whole(self) -> None:
        with pytest.raises(ValidationError, match="more than the cache_write of 1"):
            Usage(cache_write=1, cache_write_1h=2)

    def test_prints_every_field(self) -> None:
        assert str(Usage()) == (
            "input=0 output=0 cache_read=0 cache_write=0 cache_write_1h=0 reasoning=0"
        )

    @pytest.mark.parametrize("field", list(Usage.model_fields))
    def test_no_count_is_negative(self, field: str) -> None:
        with pytest.raises(ValidationError):
            Usage(**{field: -1})


class TestCost:
    def test_sums_are_exact_and_keep_what_both_have(self) -> None:
        one = Cost(amount=Decimal("0.1"), model="a", input_amount=Decimal("0.1"))
        other = Cost(
            amount=Decimal("0.2"),
            model="b",
            source="provider",
            input_amount=Decimal("0.05"),
            output_amount=Decimal("0.15"),
        )
        total = one + other
        assert total.amount == Decimal("0.3")
        assert total.input_amount == Decimal("0.15")
        assert total.output_amount is None
        assert (total.model, total.source) == (MIXED_MODEL, "mixed")

    def test_a_sum_over_one_model_keeps_its_name_and_source(self) -> None:
        one = Cost(amount=Decimal(1), model="a")
        assert ((one + one).model, (one + one).source) == ("a", "computed")

    def test_currencies_are_not_mixed(self) -> None:
        with pytest.raises(ValueError, match="1 USD and 1 EUR"):
            _ = Cost(amount=Decimal(1), model="a") + Cost(
                amount=Decimal(1), model="a", currency="EUR"
            )

    def test_breakdown_needs_all_four_parts(self) -> None:
        parts = dict.fromkeys(
            ("input_amount", "output_amount", "cache_read_amount", "cache_write_amount"), Decimal(0)
        )
        assert Cost(amount=Decimal(0), model="a", **parts).has_breakdown
        del parts["cache_read_amount"]
        assert not Cost(amount=Decimal(0), model="a", **parts).has_breakdown

    @pytest.mark.parametrize("currency", ["usd", "US", "USDT", "US1"])
    def test_currency_is_an_iso_code(self, currency: str) -> None:
        with pytest.raises(ValidationError):
            Cost(amount=Decimal(1), model="a", currency=currency)

    def test_json_keeps_the_digits(self) -> None:
        cost = Cost(amount=Decimal("0.00000000012345678901234567"), model="a")
        assert Cost.model_validate_json(cost.model_dump_json()) == cost


class TestTasks:
    def test_summary_names_what_is_being_done(self) -> None:
        tasks = [
            Task(title="Read", status="completed"),
            Task(title="Write", active_form="Writing", status="in_progress"),
            Task(title="Send"),
        ]
        assert task_summary(tasks) == "Writing · 1 of 3 done"
        assert active_label(tasks[2]) == "Send"

    def test_limits(self) -> None:
        with pytest.raises(ValidationError):
            Task(title="")
        with pytest.raises(ValidationError):
            Task(title="x" * 201)


def test_a_question_has_at_most_four_options() -> None:
    option = QuestionOption(label="yes")
    assert len(AskedQuestion(question="?", options=(option,) * 4).options) == 4
    with pytest.raises(ValidationError):
        AskedQuestion(question="?", options=(option,) * 5)


class TestComponents:
    adapter: TypeAdapter[object] = TypeAdapter(Component)

    @pytest.mark.parametrize(
        ("component", "summary"),
        [
            (Card(title="Red shoes"), "card: Red shoes"),
            (Carousel(title="Shoes", cards=(Card(title="a"),)), "carousel: Shoes (1 cards)"),
            (Detail(title="Order A1", status="shipped"), "detail: Order A1 (shipped)"),
            (
                Timeline(title="Parcel", steps=(TimelineStep(label="x", state="done"),)),
                "timeline: Parcel (1 of 1 done)",
            ),
            (
                Chart(
                    mark="bar",
                    title="Sales",
                    series=(ChartSeries(points=(ChartPoint(x="Mon", y=1),)),),
                ),
                "chart: Sales (bar, 1 series)",
            ),
            (Metric(label="Orders", value=7, unit="pcs"), "metric: Orders 7 pcs"),
        ],
    )
    def test_round_trip_and_summary(self, component: object, summary: str) -> None:
        stored = self.adapter.dump_json(component)
        assert self.adapter.validate_json(stored) == component
        assert component_summary(component) == summary  # type: ignore[arg-type]

    @pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://x", "//x", "http:x"])
    def test_only_web_urls(self, url: str) -> None:
        with pytest.raises(ValidationError, match="http or https"):
            Card(title="x", href=url)

    def test_caps(self) -> None:
        with pytest.raises(ValidationError):
            Card(title="x", badges=("b",) * 7)
        with pytest.raises(ValidationError):
            Card(title="x", badges=("b" * 41,))
        with pytest.raises(ValidationError):
            Carousel(cards=(Card(title="x"),) * 13)
        with pytest.raises(ValidationError):
            ChartSeries(points=(ChartPoint(x=1, y=1),) * 401)

    def test_text_and_numbers_stay_what_they_are(self) -> None:
        assert ChartPoint(x="1", y=2).x == "1"
        assert isinstance(ChartPoint(x=1, y=2).x, int)
        with pytest.raises(ValidationError):
            ChartPoint(x=1, y=float("nan"))


class TestToolDefinition:
    def test_schema_keys_are_in_order_at_every_level(self) -> None:
        schema = {
            "type": "object",
            "properties": {"b": {"z": 1, "a": 2}, "a": {}},
            "anyOf": [{"y": 1, "x": 2}],
        }
        tool = ToolDefinition(name="t", input_schema=schema)
        assert json.dumps(tool.input_schema) == json.dumps(schema, sort_keys=True)
        assert list(schema) == ["type", "properties", "anyOf"]

    def test_the_same_tool_is_the_same_text(self) -> None:
        marks = frozenset({"write", "destructive", "read-only"})
        text = ToolDefinition(name="t", annotations=marks).model_dump_json()
        assert '"annotations":["destructive","read-only","write"]' in text
        assert ToolDefinition.model_validate_json(text).annotations == marks

    @pytest.mark.parametrize("value", [float("nan"), "\ud800", object(), {1: 2}])
    def test_a_schema_is_json(self, value: object) -> None:
        with pytest.raises(ValidationError, match=r"default"):
            ToolDefinition(name="t", input_schema={"default": value})

    def test_a_schema_that_contains_itself_is_refused(self) -> None:
        loop: dict[str, object] = {}
        loop["again"] = loop
        with pytest.raises(ValidationError, match="nested more than 100 levels"):
            ToolDefinition(name="t", input_schema=loop)
