"""Writing parameters to a file for a node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Quotes every string: what is no number for PyYAML, such as 1e5, may be one for the node's YAML reader."""


class _Quoted(str):
    """A string that is a value, not a name."""


def _represent_quoted(dumper: yaml.SafeDumper, value: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def _quoted(value: Any) -> Any:
    if isinstance(value, list):
        return [_quoted(item) for item in value]
    return _Quoted(value) if isinstance(value, str) else value


def write_parameters_file(node_name: str, parameters: Mapping[str, Any]) -> Path:
    """Write the parameters of the node of that full name, or of ``/**``, to a new temporary file."""
    content = {node_name: {"ros__parameters": {name: _quoted(value) for name, value in parameters.items()}}}
    with NamedTemporaryFile(mode="w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
        yaml.dump(content, file, Dumper=_Dumper, default_flow_style=False, allow_unicode=True)
    return Path(file.name)


def parameter_rule(name: str, value: Any) -> str:
    """Return the argument that sets one parameter; a node reads the text of a string by YAML's rules."""
    if isinstance(value, str):
        return f"{name}:={value}"
    text = yaml.dump(_quoted(value), Dumper=_Dumper, default_flow_style=True, width=2**31)
    return f"{name}:={text.removesuffix(chr(10)).removesuffix('...').rstrip()}"
