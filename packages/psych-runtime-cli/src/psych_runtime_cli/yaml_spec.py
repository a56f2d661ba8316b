"""Reading a Spec from a file. YAML is read here and nowhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from psych_runtime.errors import InvalidInput
from psych_runtime.spec.version import Spec, load_spec


class _Loader(yaml.SafeLoader):
    """YAML that means what the same JSON would: no dates, no `yes`/`no` booleans, no repeats."""


_PLAIN = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _PLAIN]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        where = f"line {key_node.start_mark.line + 1}"
        if not isinstance(key, str):
            raise InvalidInput(f"{where}: the key {key!r} is not text; quote it")
        if key in found:
            raise InvalidInput(f"{where}: the key {key!r} appears twice")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def load_spec_file(path: Path) -> Spec:
    """Read a Spec from a ``.json``, ``.yaml`` or ``.yml`` file.

    Raises:
        InvalidInput: The file is not well-formed, repeats a key, or is of another kind.
        SpecValidationError: It is no Spec; every problem is listed.
        OSError: It cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    suffix = path.suffix.lower()
    try:
        if suffix == ".json":
            document = json.loads(text, object_pairs_hook=_unique)
        elif suffix in {".yaml", ".yml"}:
            document = yaml.load(text, _Loader)
        else:
            raise InvalidInput("the name must end in .json, .yaml or .yml")
        if not isinstance(document, dict):
            raise InvalidInput(f"it holds a {type(document).__name__}, a Spec is a mapping")
    except (ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"{path}: {error}") from error
    return load_spec(document)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"the key {twice!r} appears twice")
    return found
