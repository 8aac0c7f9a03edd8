"""The interfaces of installed packages, and their definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from ament_index_python.resources import get_resource, get_resources

KINDS = ("msg", "srv", "action")
_INDEX = "rosidl_interfaces"
_SEPARATOR = "=" * 80
_FIELD = re.compile(r"^(?:(\w+)/)?([A-Z]\w*)(?:\[[^\]]*\])?\s+\w")
_BUILTIN = {"Time": "builtin_interfaces", "Duration": "builtin_interfaces"}


def interface_names(package: str | None = None) -> list[str]:
    """Return the full names ('std_msgs/msg/String') of a package's interfaces, or of all packages'."""
    if package is not None and package not in get_resources(_INDEX):
        raise RuntimeError(f"Unknown package '{package}'")
    return sorted({name for each in ([package] if package else get_resources(_INDEX)) for name in _names_of(each)})


def definition(name: str) -> str:
    """Return the text of an interface's file; RuntimeError where there is none."""
    parts = name.split("/")
    if len(parts) == 3 and parts[1] in KINDS:
        for suffix in (parts[1], "idl"):
            path = _share(parts[0]) / parts[1] / f"{parts[2]}.{suffix}"
            if path.is_file():
                return path.read_text(encoding="utf-8")
    raise RuntimeError(f"Unknown interface '{name}', expected one as 'std_msgs/msg/String'")


def full_definition(msgtype: str) -> str:
    """Return a message's definition with those of all parts behind it, as bags hold them."""
    texts = {msgtype: definition(msgtype)}
    waiting = [msgtype]
    while waiting:
        for part in parts_of(texts[waiting[0]], waiting[0].split("/")[0]):
            if part not in texts:
                texts[part] = definition(part)
                waiting.append(part)
        waiting.pop(0)
    first, *others = texts.items()
    behind = (f"{_SEPARATOR}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in others)
    return "\n".join([first[1], *behind])


def parts_of(text: str, package: str) -> Iterator[str]:
    """Yield the full names of the messages of which a definition of a package has fields."""
    for line in text.splitlines():
        name = part_of(line, package)
        if name is not None:
            yield name


def part_of(line: str, package: str) -> str | None:
    """Return the full name of the message that a line of a definition has a field of, if it has one."""
    match = _FIELD.match(line)
    return f"{match[1] or _BUILTIN.get(match[2], package)}/msg/{match[2]}" if match else None


def _names_of(package: str) -> Iterator[str]:
    content, _ = get_resource(_INDEX, package)
    for line in content.splitlines():
        path = Path(line.strip())
        if path.suffix in (".idl", ".msg", ".srv", ".action") and path.parent.name in KINDS:
            yield f"{package}/{path.parent.name}/{path.stem}"


def _share(package: str) -> Path:
    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, ValueError):
        raise RuntimeError(f"Unknown package '{package}'") from None
