# SPDX-License-Identifier: Apache-2.0
"""Keys of a configuration, as Python has them, in the form of --set."""

from __future__ import annotations

import json
from typing import Any, Iterable, List, Mapping, Union

from .errors import BadInput

# {"card.cores": 8}, {"card": {"cores": 8}}, or ["card.cores=8"].
Settings = Union[Mapping[str, Any], Iterable[str]]


def _text(key: str, value: Any) -> str:
    """A value of TOML."""
    if hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(key, item) for item in value) + "]"
    raise BadInput(f"{key}: a value of type {type(value).__name__}; give a number, a text, a truth value or a list", key)


def _flatten(prefix: str, settings: Mapping[str, Any]) -> List[str]:
    found = []
    for name, value in settings.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            found += _flatten(key + ".", value)
        else:
            found.append(f"{key}={_text(key, value)}")
    return found


def words(settings: Union[Settings, None]) -> List[str]:
    """The settings as "key.path=value"."""
    if settings is None:
        return []
    if isinstance(settings, str):
        raise BadInput(f"settings {settings!r}: give a dictionary, or a list of such texts")
    return _flatten("", settings) if isinstance(settings, Mapping) else [str(word) for word in settings]
