"""Which parts of the runtime a Spec needs, and which of them this release has."""

from __future__ import annotations

from typing import Final

from psych_runtime.spec.agent import AgentSpec
from psych_runtime.spec.tools import HttpTool
from psych_runtime.spec.walk import Embedded, walk_specs
from psych_runtime.spec.workflow import WorkflowSpec

AVAILABLE_PARTS: Final[frozenset[str]] = frozenset({"http_tools"})
"""The parts of `PARTS` that this release can run."""

PARTS: Final[dict[str, str]] = {
    "workflow": "workflows",
    "subagents": "subagents",
    "spawn": "composing background subagents",
    "mcp": "MCP servers",
    "a2a": "A2A peers",
    "code_execution": "running programs",
    "skills": "skills",
    "compaction": "summarising long conversations",
    "http_tools": "HTTP tools",
    "questions": "asking questions",
}
"""Each part that a Spec may need, in plain words."""


def required_parts(spec: AgentSpec | WorkflowSpec) -> dict[str, str]:
    """Return the parts that a Spec needs, each with the path of its first use.

    Example:
        >>> from psych_runtime.spec.model import ModelRef
        >>> required_parts(AgentSpec(name="support", model=ModelRef(model="small")))
        {}
    """
    found: dict[str, str] = {}
    for embedded in walk_specs(spec):
        for part, path in _parts_of(embedded).items():
            found.setdefault(part, path)
    return found


def _parts_of(embedded: Embedded) -> dict[str, str]:
    spec, path = embedded.spec, embedded.path
    found = {
        "http_tools": next(
            (f"{path}.tools.{tool.name}" for tool in spec.tools if isinstance(tool, HttpTool)), None
        ),
        "mcp": f"{path}.mcp_servers.{spec.mcp_servers[0].name}" if spec.mcp_servers else None,
    }
    if isinstance(spec, WorkflowSpec):
        found["workflow"] = path
    else:
        found |= _agent_parts(spec, path)
    return {part: where for part, where in found.items() if where is not None}


def _agent_parts(spec: AgentSpec, path: str) -> dict[str, str | None]:
    asks = spec.suspension.may_ask_questions
    runs_code = spec.code_execution is not None and spec.code_execution.enabled
    return {
        "subagents": f"{path}.subagents.{spec.subagents[0].name}" if spec.subagents else None,
        "spawn": f"{path}.spawn" if spec.spawn else None,
        "a2a": f"{path}.a2a_peers.{spec.a2a_peers[0].name}" if spec.a2a_peers else None,
        "code_execution": f"{path}.code_execution" if runs_code else None,
        "skills": f"{path}.skills.{spec.skills[0].name}" if spec.skills else None,
        "compaction": f"{path}.compaction" if spec.compaction else None,
        "questions": f"{path}.suspension.may_ask_questions" if asks else None,
    }
