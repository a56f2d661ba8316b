"""The kinds of adapter: what each is called in messages, and the hook that declares it."""

from __future__ import annotations

from psych_runtime.plugins.descriptors import (
    BlobStoreAdapter,
    Descriptor,
    DoctorCheck,
    ModelAdapter,
    ProjectTemplate,
    SandboxAdapter,
    StoreAdapter,
    TelemetryAdapter,
    ToolSourceAdapter,
)

HOOKS: dict[str, type[Descriptor]] = {
    "psych_stores": StoreAdapter,
    "psych_blob_stores": BlobStoreAdapter,
    "psych_models": ModelAdapter,
    "psych_tool_sources": ToolSourceAdapter,
    "psych_sandboxes": SandboxAdapter,
    "psych_telemetry": TelemetryAdapter,
    "psych_project_templates": ProjectTemplate,
    "psych_doctor_checks": DoctorCheck,
}
"""What each hook returns."""

KINDS: dict[type[Descriptor], str] = {
    StoreAdapter: "store",
    BlobStoreAdapter: "blob store",
    ModelAdapter: "model",
    ToolSourceAdapter: "tool source",
    SandboxAdapter: "sandbox",
    TelemetryAdapter: "telemetry backend",
    ProjectTemplate: "project template",
    DoctorCheck: "doctor check",
}
"""How messages name each kind."""
