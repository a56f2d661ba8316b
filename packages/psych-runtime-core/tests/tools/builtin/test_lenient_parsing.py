import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psych_runtime.spec.components import Card, Carousel, Chart, Detail, Metric, Timeline
from psych_runtime.spec.questions import AskedQuestion, QuestionOption
from psych_runtime.spec.skills import Skill
from psych_runtime.spec.tasks import MAX_TASKS, Task
from psych_runtime.tools.builtin import ask_question, load_skill, show_component, update_tasks
from psych_runtime.tools.builtin.component_shapes import KINDS

_KEYS = st.sampled_from(
    [
        "questions",
        "question",
        "header",
        "options",
        "label",
        "description",
        "multi_select",
        "tasks",
        "title",
        "status",
        "active_form",
        "done",
        "component",
        "kind",
        "type",
        "fields",
        "value",
        "badges",
        "image_url",
        "href",
        "cards",
        "steps",
        "series",
        "points",
        "x",
        "y",
        "mark",
        "total",
        "direction",
        "delta",
        "name",
        "state",
    ]
)
_WORDS = st.sampled_from(
    [*KINDS, "bar", "pie", "done", "up", "https://e.com", "javascript:x", "{}"]
)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.characters(categories=["Cs"])
    | st.text(min_size=300, max_size=3000)
    | _WORDS,
    lambda inner: (
        st.lists(inner, max_size=50) | st.dictionaries(_KEYS | st.text(), inner, max_size=8)
    ),
    max_leaves=30,
)


@given(_JSON)
def test_no_arguments_break_a_parser(arguments: Any) -> None:
    questions = ask_question.parse_questions(arguments)
    assert len(questions) <= 4
    ask_question.render_questions(questions).encode()
    tasks = update_tasks.parse_tasks(arguments)
    assert len(tasks) <= MAX_TASKS
    update_tasks.render_tasks(tasks).encode()
    parsed = show_component.parse_component(arguments)
    assert (parsed.component is None) == bool(parsed.problem)
    show_component.render_component(parsed).encode("utf-8", "surrogatepass")
    load_skill.render_skill((), load_skill.parse_skill_name(arguments))


@given(st.sampled_from(KINDS), st.dictionaries(_KEYS, _JSON, max_size=8))
def test_no_component_breaks_the_parser(kind: str, fields: dict[str, Any]) -> None:
    parsed = show_component.parse_component({"component": {**fields, "kind": kind}})
    assert parsed.problem or parsed.component is not None


@pytest.mark.parametrize(
    "module", [ask_question, load_skill, show_component, update_tasks], ids=lambda m: m.NAME
)
def test_definitions(module: Any) -> None:
    assert module.DEFINITION.name == module.NAME
    assert module.DEFINITION.annotations == {"read-only"}
    assert module.DEFINITION.description
    assert module.DEFINITION.input_schema["additionalProperties"] is False


def test_questions_as_the_schema_says() -> None:
    asked = {
        "questions": [
            {
                "question": "Which?",
                "header": "Choice",
                "options": [{"label": "A", "description": "First."}, {"label": "B"}],
                "multi_select": True,
            }
        ]
    }
    expected = AskedQuestion(
        question="Which?",
        header="Choice",
        options=(QuestionOption(label="A", description="First."), QuestionOption(label="B")),
        multi_select=True,
    )
    assert ask_question.parse_questions(asked) == (expected,)
    assert ask_question.parse_questions(json.dumps(asked)) == (expected,)
    assert ask_question.render_questions((expected,)) == "Choice: Which?\n  - A: First.\n  - B"


@pytest.mark.parametrize(
    "arguments",
    [
        "Why?",
        ["Why?"],
        {"question": "Why?"},
        {"questions": "Why?"},
        {"questions": {"text": " Why? "}},
        {"questions": '[{"question": "Why?"}]'},
        [{"prompt": "Why?"}, {"header": "no question"}, None, {}],
    ],
)
def test_questions_in_other_shapes(arguments: Any) -> None:
    assert ask_question.parse_questions(arguments) == (AskedQuestion(question="Why?"),)


def test_questions_are_cut_to_the_limits() -> None:
    asked = {"question": "q" * 3000, "header": "h" * 50, "choices": ["a" * 99, "b", "c", "d", "e"]}
    (first, *rest) = ask_question.parse_questions({"questions": [asked] * 9})
    assert len(rest) == 3
    assert (len(first.question), len(first.header), len(first.options)) == (2000, 24, 4)
    assert len(first.options[0].label) == 80
    assert ask_question.parse_questions({"questions": []}) == ()
    assert ask_question.parse_questions({}) == ()


def test_tasks() -> None:
    parsed = update_tasks.parse_tasks(
        {
            "tasks": [
                "Read",
                {"content": "Write", "activeForm": "Writing", "status": "in-progress"},
                {"title": "Check", "status": "Done"},
                {"title": "Ship", "completed": True},
                {"description": "Only described"},
                {"title": "  "},
                None,
            ]
        }
    )
    assert parsed == (
        Task(title="Read"),
        Task(title="Write", active_form="Writing", status="in_progress"),
        Task(title="Check", status="completed"),
        Task(title="Ship", status="completed"),
        Task(title="Only described", description="Only described"),
    )
    assert update_tasks.render_tasks(parsed) == "The plan is shown: Writing · 2 of 5 done."
    assert update_tasks.parse_tasks({"todos": ["A"]}) == (Task(title="A"),)
    assert update_tasks.parse_tasks({"tasks": []}) == update_tasks.parse_tasks({}) == ()
    assert len(update_tasks.parse_tasks(["t"] * 99)) == MAX_TASKS
    assert len(update_tasks.parse_tasks(["t" * 999])[0].title) == 200


def shown(component: Any) -> Any:
    parsed = show_component.parse_component({"component": component})
    assert parsed.problem == ""
    return parsed.component


def test_components() -> None:
    card = shown(
        {
            "type": "card",
            "name": "Shoe",
            "imageUrl": {"url": "https://e.com/a.png"},
            "badges": "new",
            "fields": {"Price": 10, "Size": "42"},
        }
    )
    assert card == Card(
        title="Shoe",
        image_url="https://e.com/a.png",
        badges=("new",),
        fields=({"label": "Price", "value": "10"}, {"label": "Size", "value": "42"}),
    )
    carousel = Carousel(title="All", cards=(Card(title="A"), Card(title="B")))
    assert shown({"kind": "carousel", "title": "All", "items": ["A", {"title": "B"}]}) == carousel
    detail = Detail(
        title="Order",
        fields=({"label": "Id", "value": "7"},),
        total={"label": "Total", "value": "9"},
    )
    assert shown({"kind": "detail", "title": "Order", "fields": ["Id: 7"], "total": 9}) == detail
    timeline = Timeline(steps=({"label": "A", "state": "done"}, {"label": "B", "at": "now"}))
    assert (
        shown({"steps": [{"title": "A", "status": "completed"}, {"label": "B", "date": "now"}]})
        == timeline
    )
    metric = Metric(label="Open", value=7, delta="+2", direction="up")
    assert shown({"kind": "kpi", "label": "Open", "value": 7, "change": 2, "trend": "up"}) == metric


def test_charts() -> None:
    points = ({"x": "a", "y": 1}, {"x": "b", "y": 2.5})
    chart = Chart(mark="bar", series=({"name": "", "points": points},))
    as_pairs = {"type": "bar", "data": [["a", 1], ["b", "2.5"], ["c", "no number"]]}
    as_series = {
        "kind": "chart",
        "chartType": "bar",
        "series": [{"data": [{"label": "a", "value": 1}, {"label": "b", "value": 2.5}]}],
    }
    assert shown(as_pairs) == shown(as_series) == chart
    numbers = shown({"kind": "chart", "mark": "line", "points": [3, 4, float("nan")]})
    assert [(point.x, point.y) for point in numbers.series[0].points] == [(0, 3), (1, 4)]
    many = shown({"kind": "chart", "mark": "line", "series": [list(range(999))] * 9})
    assert (len(many.series), len(many.series[0].points)) == (5, 400)


@pytest.mark.parametrize(
    ("component", "said"),
    [
        ({"kind": "hologram"}, "one of card, carousel"),
        ({}, "one of card, carousel"),
        ("text", "one of card, carousel"),
        ({"kind": "card"}, "card: title"),
        ({"kind": "chart", "series": []}, "chart: mark"),
        ({"kind": "card", "title": "A", "href": "javascript:alert(1)"}, "card: href"),
        ({"kind": "carousel", "cards": [{"title": ""}]}, "carousel: cards.0.title"),
    ],
)
def test_the_first_problem_is_explained(component: Any, said: str) -> None:
    parsed = show_component.parse_component({"component": component})
    assert parsed.component is None
    assert said in parsed.problem
    assert said in show_component.render_component(parsed)


def test_skills() -> None:
    skills = (
        Skill(name="refunds", description="How to refund.", body="See [[skill:tone]]. [[skill:x]]"),
        Skill(name="tone", description="How to talk.", body="Be kind."),
    )
    assert load_skill.parse_skill_name({"name": "refunds"}) == "refunds"
    assert load_skill.parse_skill_name("refunds") == "refunds"
    assert load_skill.render_skill(skills, "refunds", {"tone"}) == {
        "found": True,
        "name": "refunds",
        "body": "See [[skill:tone]]. [[skill:x]]",
        "already_loaded": False,
        "linked_skills": ["tone"],
    }
    assert load_skill.render_skill(skills, "tone", ["tone"])["already_loaded"] is True
    assert load_skill.render_skill(skills, "nope") == {
        "found": False,
        "name": "nope",
        "available": ["refunds", "tone"],
    }
