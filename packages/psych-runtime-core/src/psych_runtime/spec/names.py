"""What a name may look like, and which ones are taken."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import StringConstraints

NAME_PATTERN: Final = r"^[a-zA-Z_][a-zA-Z0-9_.-]{0,127}$"
TOOL_NAME_PATTERN: Final = r"^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$"
PATH_PATTERN: Final = r"^[a-zA-Z_][a-zA-Z0-9_.\-\[\]]{0,511}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""A letter or ``_``, then up to 127 letters, digits, ``_``, ``.`` or ``-``."""
ToolName = Annotated[str, StringConstraints(pattern=TOOL_NAME_PATTERN)]
"""A letter or ``_``, then up to 63 letters, digits, ``_`` or ``-``."""
PathText = Annotated[str, StringConstraints(pattern=PATH_PATTERN)]
"""A dotted path with ``[n]`` indices, at most 512 characters."""

BUILT_IN_TOOLS: Final = frozenset(
    {
        "load_skill",
        "read_tool_output",
        "remember",
        "forget",
        "ask_question",
        "update_tasks",
        "show_component",
        "delegate",
        "spawn_subagent",
        "check_subagent",
        "message_subagent",
        "run_code",
        "list_tools",
        "get_tool_info",
        "call_tool",
    }
)
"""Names of the tools the runtime offers itself; a Spec's own tool cannot have one."""

BINDABLE_BUILT_INS: Final = frozenset({"list_tools", "get_tool_info", "read_tool_output"})
"""Built-in tools that a program run by ``run_code`` may be given."""
