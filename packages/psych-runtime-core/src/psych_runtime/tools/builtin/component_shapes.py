"""From what models write for a component to the fields of the component models."""

from __future__ import annotations

from typing import Any

from psych_runtime.spec.components import (
    MAX_BADGES,
    MAX_CARDS,
    MAX_FIELDS,
    MAX_POINTS,
    MAX_SERIES,
    MAX_TIMELINE_STEPS,
)
from psych_runtime.tools.builtin.lenient import first, items, number, opened, text, word

KINDS = ("card", "carousel", "detail", "timeline", "chart", "metric")

_KIND_WORDS = {
    "card": ("product", "item", "tile"),
    "carousel": ("cards", "gallery", "list"),
    "detail": ("details", "summary", "record"),
    "timeline": ("steps", "progress", "history"),
    "chart": ("graph", "plot"),
    "metric": ("stat", "kpi", "number"),
}
_MARK_WORDS = {
    "line": ("linechart", "line_chart"),
    "bar": ("barchart", "bar_chart", "column"),
    "area": ("areachart", "area_chart"),
    "pie": ("piechart", "pie_chart", "donut", "doughnut"),
}
_STATE_WORDS = {
    "done": ("completed", "complete", "finished", "past"),
    "current": ("in_progress", "active", "now"),
    "upcoming": ("pending", "future", "todo", "next"),
}
_DIRECTION_WORDS = {
    "up": ("increase", "increasing", "rising", "positive"),
    "down": ("decrease", "decreasing", "falling", "negative"),
    "flat": ("stable", "unchanged", "neutral"),
}
_TELLTALE = (
    ("carousel", ("cards",)),
    ("timeline", ("steps", "events")),
    ("chart", ("series", "points", "mark")),
    ("detail", ("total",)),
    ("metric", ("value",)),
    ("card", ("title", "name", "badges", "image_url", "imageUrl")),
)


def shaped(value: Any) -> dict[str, Any] | None:
    """Return the fields of a component model, ``kind`` included; None when no kind can be told."""
    if isinstance(value, list) and value:
        value = {"kind": "carousel", "cards": value}
    if not isinstance(value, dict):
        return None
    kind = _kind(value)
    if kind is None:
        return None
    fields = _SHAPES[kind](value)
    return {"kind": kind, **fields}


def _kind(value: dict[str, Any]) -> str | None:
    said = first(value, "kind", "type", "component_type")
    known = word(said, _KIND_WORDS)
    if known is not None:
        return known
    if word(said, _MARK_WORDS) is not None:
        return "chart"
    if said is not None:
        return None
    return next((kind for kind, keys in _TELLTALE if any(key in value for key in keys)), None)


def _card(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {"title": value}
    badges = (text(badge, 40) for badge in items(first(value, "badges", "tags")))
    return {
        "title": text(first(value, "title", "name", "heading", "label"), 200),
        "subtitle": text(first(value, "subtitle", "description", "text"), 300),
        "image_url": _url(first(value, "image_url", "imageUrl", "image")),
        "badges": [badge for badge in badges if badge][:MAX_BADGES],
        "fields": _fields(value),
        "href": _url(first(value, "href", "url", "link")),
    }


def _carousel(value: dict[str, Any]) -> dict[str, Any]:
    cards = items(first(value, "cards", "items", "slides"))
    return {"title": _title(value), "cards": [_card(card) for card in cards[:MAX_CARDS]]}


def _detail(value: dict[str, Any]) -> dict[str, Any]:
    total = first(value, "total")
    if total is not None and not isinstance(total, dict):
        total = {"label": "Total", "value": total}
    return {
        "title": text(first(value, "title", "name", "heading"), 200),
        "subtitle": text(first(value, "subtitle", "description"), 300),
        "status": text(first(value, "status", "state"), 60),
        "fields": _fields(value),
        "total": None if total is None else _field(total, "Total"),
        "href": _url(first(value, "href", "url", "link")),
    }


def _timeline(value: dict[str, Any]) -> dict[str, Any]:
    steps = items(first(value, "steps", "items", "events"))
    return {"title": _title(value), "steps": [_step(step) for step in steps[:MAX_TIMELINE_STEPS]]}


def _step(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {"label": value}
    return {
        "label": text(first(value, "label", "title", "name"), 200),
        "at": text(first(value, "at", "time", "date", "timestamp", "when"), 80),
        "description": text(first(value, "description", "detail", "text"), 600),
        "state": word(first(value, "state", "status"), _STATE_WORDS) or "upcoming",
    }


def _chart(value: dict[str, Any]) -> dict[str, Any]:
    mark = next(
        (
            found
            for key in ("mark", "chart_type", "chartType", "type", "kind", "variant")
            if (found := word(value.get(key), _MARK_WORDS)) is not None
        ),
        None,
    )
    series = items(first(value, "series", "datasets"))
    if not series and (points := first(value, "points", "data", "values")) is not None:
        series = [{"points": points}]
    shape = {
        "title": _title(value),
        "series": [_series(one) for one in series[:MAX_SERIES]],
        "x_label": text(first(value, "x_label", "xLabel"), 80),
        "y_label": text(first(value, "y_label", "yLabel"), 80),
    }
    # A missing mark is left out, so that the model is told about it.
    return shape if mark is None else {**shape, "mark": mark}


def _series(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        value = {"points": value}
    points = items(first(value, "points", "data", "values"))
    found = (_point(point, index) for index, point in enumerate(points[:MAX_POINTS]))
    return {
        "name": text(first(value, "name", "label", "title"), 80),
        "points": [point for point in found if point is not None],
    }


def _point(value: Any, index: int) -> dict[str, Any] | None:
    if isinstance(value, dict):
        x, y = first(value, "x", "label", "name", "date"), first(value, "y", "value")
    elif isinstance(value, list) and len(value) >= 2:
        x, y = value[0], value[1]
    else:
        x, y = index, value
    height = number(y)
    if height is None:
        return None
    at = number(x) if not isinstance(x, str) else None
    return {"x": text(x, 80) if at is None else at, "y": height}


def _metric(value: dict[str, Any]) -> dict[str, Any]:
    shown = first(value, "value", "number", "amount")
    change = first(value, "delta", "change")
    exact = number(shown) if not isinstance(shown, str) else None
    rises = not isinstance(change, str) and (number(change) or 0) > 0
    return {
        "label": text(first(value, "label", "title", "name"), 120),
        "value": text(shown, 40) if exact is None else exact,
        "unit": text(first(value, "unit", "units"), 24),
        "delta": f"+{text(change, 39)}" if rises else text(change, 40),
        "direction": word(first(value, "direction", "trend"), _DIRECTION_WORDS),
    }


def _title(value: dict[str, Any]) -> str:
    return text(first(value, "title", "name", "heading"), 200)


def _fields(value: dict[str, Any]) -> list[dict[str, str]]:
    given = opened(first(value, "fields", "attributes", "details", "rows"))
    if isinstance(given, dict):
        pairs = [{"label": label, "value": content} for label, content in given.items()]
    else:
        pairs = items(given)
    found = (_field(pair) for pair in pairs)
    return [field for field in found if field["label"]][:MAX_FIELDS]


def _field(value: Any, label: str = "") -> dict[str, str]:
    if isinstance(value, str):
        head, _, tail = value.partition(":")
        value = {"label": head, "value": tail}
    if isinstance(value, list) and len(value) >= 2:
        value = {"label": value[0], "value": value[1]}
    if not isinstance(value, dict):
        return {"label": label, "value": text(value, 400)}
    return {
        "label": text(first(value, "label", "name", "key", "title"), 80) or label,
        "value": text(first(value, "value", "text", "content", "amount"), 400),
    }


def _url(value: Any) -> str:
    """Return a URL as written (never cut: half a URL leads elsewhere)."""
    if isinstance(value, dict):
        value = first(value, "url", "href", "src")
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode().strip()


_SHAPES = {
    "card": _card,
    "carousel": _carousel,
    "detail": _detail,
    "timeline": _timeline,
    "chart": _chart,
    "metric": _metric,
}
