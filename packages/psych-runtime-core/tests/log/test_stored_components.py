"""A component is read by its kind, so a body keeps the kind although it is a default."""

from __future__ import annotations

import json

import pytest
from psych_runtime.ids import RunId
from psych_runtime.log.codec import decode, encode
from psych_runtime.log.records import ComponentShown
from psych_runtime.scope import Scope
from psych_runtime.spec.components import (
    Card,
    Carousel,
    Chart,
    ChartPoint,
    ChartSeries,
    Component,
    ComponentField,
    Detail,
    Metric,
    Timeline,
    TimelineStep,
)
from psych_runtime.testing.logs import EPOCH

RUN, SCOPE = RunId("run_test"), Scope(tenant="acme")

COMPONENTS: tuple[Component, ...] = (
    Card(title="Lamp", badges=("new",), href="https://x.test/lamp"),
    Carousel(cards=(Card(title="Lamp"), Card(title="Desk"))),
    Detail(title="Order", fields=(ComponentField(label="Sum", value="3"),)),
    Timeline(steps=(TimelineStep(label="Paid", state="done"), TimelineStep(label="Sent"))),
    Chart(mark="bar", series=(ChartSeries(points=(ChartPoint(x="May", y=1.5),)),)),
    Metric(label="Open orders", value=7),
)


def shown(component: Component) -> ComponentShown:
    return ComponentShown(run_id=RUN, seq=7, at=EPOCH, scope=SCOPE, component=component)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.kind)
def test_every_kind_is_stored_and_read(component: Component) -> None:
    record = shown(component)
    assert decode(RUN, SCOPE, 7, encode(record)) == record
    assert ComponentShown.model_validate_json(record.model_dump_json()) == record


def test_other_defaults_are_left_out() -> None:
    stored = json.loads(encode(shown(Metric(label="Open orders", value=7))))
    assert stored["component"] == {"kind": "metric", "label": "Open orders", "value": 7}
