"""What an agent can show besides text: cards, charts and the like."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from psych_runtime.spec.base import FrozenValue

MAX_BADGES = 6
MAX_FIELDS = 12
MAX_CARDS = 12
MAX_TIMELINE_STEPS = 24
MAX_SERIES = 5
MAX_POINTS = 400
"""Points of one series."""


def _web_url(url: str) -> str:
    if url and not url.lower().startswith(("http://", "https://")):
        raise ValueError("must be an http or https URL, or empty")
    return url


WebUrl = Annotated[str, StringConstraints(max_length=2048), AfterValidator(_web_url)]
"""An http or https URL of at most 2048 characters, or an empty text for none."""
Badge = Annotated[str, StringConstraints(max_length=40)]


class ComponentField(FrozenValue):
    """A label and a value."""

    label: str = Field(min_length=1, max_length=80)
    value: str = Field(default="", max_length=400)


class Card(FrozenValue):
    """One thing, with picture, badges and fields."""

    kind: Literal["card"] = "card"
    title: str = Field(min_length=1, max_length=200)
    subtitle: str = Field(default="", max_length=300)
    image_url: WebUrl = ""
    badges: tuple[Badge, ...] = Field(default=(), max_length=MAX_BADGES)
    fields: tuple[ComponentField, ...] = Field(default=(), max_length=MAX_FIELDS)
    href: WebUrl = ""


class Carousel(FrozenValue):
    """Several cards side by side."""

    kind: Literal["carousel"] = "carousel"
    title: str = Field(default="", max_length=200)
    cards: tuple[Card, ...] = Field(default=(), max_length=MAX_CARDS)


class Detail(FrozenValue):
    """One thing in full, such as an order."""

    kind: Literal["detail"] = "detail"
    title: str = Field(min_length=1, max_length=200)
    subtitle: str = Field(default="", max_length=300)
    status: str = Field(default="", max_length=60)
    fields: tuple[ComponentField, ...] = Field(default=(), max_length=MAX_FIELDS)
    total: ComponentField | None = None
    href: WebUrl = ""


class TimelineStep(FrozenValue):
    """One step of a timeline."""

    label: str = Field(min_length=1, max_length=200)
    at: str = Field(default="", max_length=80)
    """When, as it should be shown."""
    description: str = Field(default="", max_length=600)
    state: Literal["done", "current", "upcoming"] = "upcoming"


class Timeline(FrozenValue):
    """Steps in order, and how far they got."""

    kind: Literal["timeline"] = "timeline"
    title: str = Field(default="", max_length=200)
    steps: tuple[TimelineStep, ...] = Field(default=(), max_length=MAX_TIMELINE_STEPS)


class ChartPoint(FrozenValue):
    """One point: a number or label, and its value."""

    x: int | float | Annotated[str, StringConstraints(max_length=80)]
    y: int | float


class ChartSeries(FrozenValue):
    """One line, set of bars, area or pie."""

    name: str = Field(default="", max_length=80)
    points: tuple[ChartPoint, ...] = Field(default=(), max_length=MAX_POINTS)


class Chart(FrozenValue):
    """Numbers as a drawing."""

    kind: Literal["chart"] = "chart"
    title: str = Field(default="", max_length=200)
    mark: Literal["line", "bar", "area", "pie"]
    series: tuple[ChartSeries, ...] = Field(default=(), max_length=MAX_SERIES)
    x_label: str = Field(default="", max_length=80)
    y_label: str = Field(default="", max_length=80)


class Metric(FrozenValue):
    """One number, and how it changed."""

    kind: Literal["metric"] = "metric"
    label: str = Field(min_length=1, max_length=120)
    value: int | float | Annotated[str, StringConstraints(max_length=40)]
    unit: str = Field(default="", max_length=24)
    delta: str = Field(default="", max_length=40)
    direction: Literal["up", "down", "flat"] | None = None


Component = Annotated[
    Card | Carousel | Detail | Timeline | Chart | Metric, Field(discriminator="kind")
]
"""Anything an agent can show, told apart by ``kind``."""


def component_summary(component: Card | Carousel | Detail | Timeline | Chart | Metric) -> str:
    """Return one line that says what is shown.

    Example:
        >>> component_summary(Metric(label="Open orders", value=7))
        'metric: Open orders 7'
    """
    match component:
        case Carousel():
            text = f"{component.title} ({len(component.cards)} cards)"
        case Detail() if component.status:
            text = f"{component.title} ({component.status})"
        case Timeline():
            done = sum(step.state == "done" for step in component.steps)
            text = f"{component.title} ({done} of {len(component.steps)} done)"
        case Chart():
            text = f"{component.title} ({component.mark}, {len(component.series)} series)"
        case Metric():
            text = " ".join(filter(None, (component.label, str(component.value), component.unit)))
        case _:
            text = component.title
    return " ".join(f"{component.kind}: {text}".split())
