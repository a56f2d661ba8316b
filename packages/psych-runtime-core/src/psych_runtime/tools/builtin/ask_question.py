"""``ask_question``: the agent asks the user, and the Run waits for the answer."""

from __future__ import annotations

from typing import Any

from psych_runtime.ports.policy import ToolClass
from psych_runtime.spec.definitions import ToolDefinition
from psych_runtime.spec.questions import MAX_OPTIONS, MAX_QUESTIONS, AskedQuestion, QuestionOption
from psych_runtime.tools.builtin.lenient import first, flag, items, text, unwrapped

NAME = "ask_question"

DEFINITION = ToolDefinition(
    name=NAME,
    description=(
        "Ask the user when you cannot go on well without their answer, and stop until it comes. "
        f"Up to {MAX_QUESTIONS} questions at once. Options are suggestions: the user may answer "
        "something else. Do not ask what you can find out with another tool."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["questions"],
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_QUESTIONS,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["question"],
                    "properties": {
                        "question": {"type": "string", "description": "The whole question."},
                        "header": {
                            "type": "string",
                            "description": "A label of at most 24 characters.",
                        },
                        "options": {
                            "type": "array",
                            "maxItems": MAX_OPTIONS,
                            "items": {
                                "type": "object",
                                "additionalProperties": False,
                                "required": ["label"],
                                "properties": {
                                    "label": {"type": "string"},
                                    "description": {
                                        "type": "string",
                                        "description": "What choosing it means.",
                                    },
                                },
                            },
                        },
                        "multi_select": {
                            "type": "boolean",
                            "description": "Whether several options may be chosen.",
                        },
                    },
                },
            }
        },
    },
    annotations=frozenset({ToolClass.READ_ONLY.value}),
)

NOTHING_ASKED = (
    'No question was found in the arguments. Pass {"questions": [{"question": "…"}]} with the '
    "text of at least one question."
)
"""What the model is told when `parse_questions` finds nothing."""


def parse_questions(arguments: Any) -> tuple[AskedQuestion, ...]:
    """Read the questions, however they were written. Never raises.

    Texts count as questions and options; what is too long or too many is cut.

    Returns:
        At most four questions; empty when there is none, see `NOTHING_ASKED`.
    """
    found = (_question(entry) for entry in items(unwrapped(arguments, "questions")))
    return tuple(question for question in found if question is not None)[:MAX_QUESTIONS]


def render_questions(questions: tuple[AskedQuestion, ...]) -> str:
    """Return the questions as text for a person."""
    lines: list[str] = []
    for question in questions:
        head = f"{question.header}: " if question.header else ""
        lines.append(f"{head}{question.question}")
        lines += [
            f"  - {option.label}" + (f": {option.description}" if option.description else "")
            for option in question.options
        ]
    return "\n".join(lines)


def _question(entry: Any) -> AskedQuestion | None:
    if not isinstance(entry, dict):
        entry = {"question": entry}
    asked = text(first(entry, "question", "text", "prompt", "title"), 2000)
    if not asked:
        return None
    options = (_option(option) for option in items(first(entry, "options", "choices", "answers")))
    return AskedQuestion(
        question=asked,
        header=text(first(entry, "header", "label"), 24),
        options=tuple(option for option in options if option is not None)[:MAX_OPTIONS],
        multi_select=flag(first(entry, "multi_select", "multiSelect", "multiple")),
    )


def _option(entry: Any) -> QuestionOption | None:
    if not isinstance(entry, dict):
        entry = {"label": entry}
    label = text(first(entry, "label", "title", "text", "value", "name"), 80)
    if not label:
        return None
    return QuestionOption(label=label, description=text(first(entry, "description", "detail"), 400))
