"""The base of everything a read returns."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class ReadModel(BaseModel):
    """A frozen value that a read returns; equal when every field is."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
