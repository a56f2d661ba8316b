"""The hooks a plugin may implement.

A plugin is a module named by an entry point of the group ``psych_runtime``:

```toml
[project.entry-points.psych_runtime]
redis = "psych_runtime_redis.plugin"
```

Every hook takes no argument, does no I/O, is a plain function and returns an iterable of
descriptors. Import drivers inside a descriptor's ``open``, never at the top of the plugin module.
The module states the plugin API it was written for as a literal, ``PSYCH_PLUGIN_API = 1``.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from psych_runtime.plugins.descriptors import (
    BlobStoreAdapter,
    DoctorCheck,
    ModelAdapter,
    ProjectTemplate,
    SandboxAdapter,
    StoreAdapter,
    TelemetryAdapter,
    ToolSourceAdapter,
)

PROJECT_NAME = "psych_runtime"
"""The pluggy project name, which is also the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT_NAME)
"""Marks the declarations in this module."""

hookimpl = pluggy.HookimplMarker(PROJECT_NAME)
"""Marks a plugin's implementations: ``from psych_runtime.plugins.hookspecs import hookimpl``."""


@hookspec
def psych_stores() -> Iterable[StoreAdapter]:  # type: ignore[empty-body]
    """Declare stores.

    Example:
        ```python
        def _open(url: str) -> Store:
            from psych_runtime_redis.store import RedisStore

            return RedisStore(url)


        @hookimpl
        def psych_stores():
            yield StoreAdapter(
                name="redis", schemes=("redis",), summary="Redis streams", open=_open
            )
        ```
    """


@hookspec
def psych_blob_stores() -> Iterable[BlobStoreAdapter]:  # type: ignore[empty-body]
    """Declare blob stores.

    Example:
        ```python
        @hookimpl
        def psych_blob_stores():
            yield BlobStoreAdapter(
                name="gcs", schemes=("gs",), summary="Google Cloud Storage", open=_open
            )
        ```
    """


@hookspec
def psych_models() -> Iterable[ModelAdapter]:  # type: ignore[empty-body]
    """Declare model clients.

    Example:
        ```python
        @hookimpl
        def psych_models():
            yield ModelAdapter(
                name="acme", schemes=("acme",), summary="Acme chat models", open=_open
            )
        ```
    """


@hookspec
def psych_tool_sources() -> Iterable[ToolSourceAdapter]:  # type: ignore[empty-body]
    """Declare tool sources.

    Example:
        ```python
        @hookimpl
        def psych_tool_sources():
            yield ToolSourceAdapter(name="grpc", summary="Tools behind gRPC", open=_open)
        ```
    """


@hookspec
def psych_sandboxes() -> Iterable[SandboxAdapter]:  # type: ignore[empty-body]
    """Declare sandboxes.

    Example:
        ```python
        def _available() -> str | None:
            return None if shutil.which("runsc") else "runsc is not on PATH"


        @hookimpl
        def psych_sandboxes():
            yield SandboxAdapter(
                name="gvisor",
                schemes=("gvisor",),
                summary="gVisor containers",
                open=_open,
                available=_available,
            )
        ```
    """


@hookspec
def psych_telemetry() -> Iterable[TelemetryAdapter]:  # type: ignore[empty-body]
    """Declare telemetry backends.

    Example:
        ```python
        @hookimpl
        def psych_telemetry():
            yield TelemetryAdapter(name="statsd", summary="StatsD timings", open=_open)
        ```
    """


@hookspec
def psych_project_templates() -> Iterable[ProjectTemplate]:  # type: ignore[empty-body]
    """Declare templates for ``psych new``.

    Example:
        ```python
        def _files(project: str) -> dict[str, str]:
            return {"main.py": f'print("hello from {project}")'}


        @hookimpl
        def psych_project_templates():
            yield ProjectTemplate(name="hello", summary="One line", files=_files)
        ```
    """


@hookspec
def psych_doctor_checks() -> Iterable[DoctorCheck]:  # type: ignore[empty-body]
    """Declare checks for ``psych doctor``.

    Example:
        ```python
        def _check(url: str | None) -> list[DoctorFinding]:
            free = shutil.disk_usage(".").free
            return [DoctorFinding(ok=free > 1e9, text=f"{free:,} bytes free")]


        @hookimpl
        def psych_doctor_checks():
            yield DoctorCheck(name="disk", summary="Disk space", run=_check)
        ```
    """
