"""The settings of Fast DDS that playing images and clouds needs, and what becomes of a profile of the user's own."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fieldplay.core.resources import config_folders

FILES = {"FASTRTPS_DEFAULT_PROFILES_FILE": "fastdds.xml", "FASTDDS_DEFAULT_PROFILES_FILE": "fastdds3.xml"}
SINCE_3 = 9  # the version of ROS 2's layer on Fast DDS that has Fast DDS 3, which knows the second of these alone
VERSION = re.compile(r"<version>\s*(\d+)")
TRANSPORTS = "FASTDDS_BUILTIN_TRANSPORTS"  # another way to choose transports
LARGE_SEGMENT = 8 << 20  # bytes of shared memory that hold an image or a cloud


def use_profile() -> dict[str, str]:
    """Name the workspace's profile to Fast DDS, for what this process creates from now on, unless there is another.

    Returns:
        The variable of the environment that does so, and its value.
    """
    if any(os.environ.get(name) for name in FILES):
        return {}
    name, _, profile = _profile_in_force()
    if profile is None:
        return {}
    os.environ[name] = str(profile)
    return {name: str(profile)}


@contextmanager
def completed_profile() -> Iterator[None]:
    """Add to the user's own profile meanwhile what it says nothing of: writers, participants.

    Fast DDS asks readers every 3 s what they lack, unless a profile says otherwise: images that do not fit into its
    shared memory of 512 kB come so late, and small messages behind them. There is no other way to set this for a
    publisher. The completed profile is a temporary file, which Fast DDS reads with the first node.
    """
    name, path, own = _profile_in_force()
    root = _completed(Path(path), own) if path and own is not None else None
    if root is None or not path:
        yield
        return
    completed = _temporary_file(root)
    os.environ[name] = str(completed)
    try:
        yield
    finally:
        os.environ[name] = path
        completed.unlink(missing_ok=True)


def _completed(path: Path, own: Path) -> Element | None:
    """A profile with what ours has besides; None where nothing is added, or where it cannot be read."""
    if path.resolve() == own.resolve():
        return None
    try:
        given, ours = ElementTree.parse(path).getroot(), ElementTree.parse(own).getroot()
    except (OSError, ElementTree.ParseError):
        return None  # Fast DDS says what is wrong with it
    profiles = _profiles_in(given)
    return given if profiles is not None and _complete(profiles, ours) else None


def profile_issue() -> str:
    """What is wrong with the profile in force for playing images and clouds; "" where nothing is."""
    name, path, own = _profile_in_force()
    if not path or own is None:
        return ""
    try:
        profiles = _profiles_in(ElementTree.parse(path).getroot())
    except (OSError, ElementTree.ParseError) as error:
        return f"{name}: {path}: {error}"
    if profiles is None:
        return f"{name}: {path}: expected an element 'profiles', got none"
    sizes = [part.text or "" for part in profiles.iter() if _tag(part) == "segment_size"]
    if any(size.strip().isdecimal() and int(size) >= LARGE_SEGMENT for size in sizes):
        return ""
    advice = f"give the participant a segment of shared memory as in {own}"
    return f"{name}: {path}: images and clouds may arrive late, the shared memory is small; {advice}"


def _profile_in_force() -> tuple[str, str | None, Path | None]:
    """The variable that names the profile, its value, and our own profile."""
    name, file = _own_profile()
    return name, os.environ.get(name), next((f for folder in config_folders() if (f := folder / file).is_file()), None)


def _profiles_in(root: Element) -> Element | None:
    return next((part for part in root.iter() if _tag(part) == "profiles"), None)


def _own_profile() -> tuple[str, str]:
    """The variable that this version of Fast DDS reads, and the name of our profile for it."""
    return list(FILES.items())[_has_version_3()]


def _has_version_3() -> bool:
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        description = Path(prefix, "share", "rmw_fastrtps_cpp", "package.xml")
        if description.is_file():
            version = VERSION.search(description.read_text(errors="replace"))
            return version is not None and int(version[1]) >= SINCE_3
    return False


def _complete(profiles: Element, ours: Element) -> bool:
    """Add our elements for what a profile has no default of; whether any was added."""
    kinds = [kind for kind in ("data_writer", "participant") if not _has_default(profiles, kind)]
    if "participant" in kinds and not os.environ.get(TRANSPORTS):
        kinds.append("transport_descriptors")
    elif "participant" in kinds:
        kinds.remove("participant")
    added = [part for part in ours if _tag(part) in kinds]
    taken = {text for part in profiles.iter() for text in _names(part)}
    if any(text in taken for part in added for inner in part.iter() for text in _names(inner)):
        return False
    for part in added:  # transports before the participants that use them
        if _tag(part) == "transport_descriptors":
            profiles.insert(0, part)
        else:
            profiles.append(part)
    return bool(added)


def _has_default(profiles: Element, kind: str) -> bool:
    return any(_tag(part) == kind and part.get("is_default_profile") == "true" for part in profiles)


def _names(part: Element) -> list[str]:
    """How an element is called, as others refer to it."""
    is_transport = _tag(part) == "transport_descriptor"
    identifiers = [(inner.text or "").strip() for inner in part if is_transport and _tag(inner) == "transport_id"]
    return [text for text in (part.get("profile_name") or "", *identifiers) if text]


def _tag(part: Element) -> str:
    return str(part.tag).rpartition("}")[2]


def _temporary_file(root: Element) -> Path:
    """Write a profile to a new file."""
    space = root.tag[1:].partition("}")[0] if "}" in root.tag else ""
    for part in root.iter():  # Fast DDS knows no prefixes of namespaces
        part.tag = _tag(part)
    if space:
        root.set("xmlns", space)
    descriptor, path = mkstemp(prefix="fieldplay-fastdds-", suffix=".xml")
    with os.fdopen(descriptor, "wb") as file:
        file.write(ElementTree.tostring(root))
    return Path(path)
