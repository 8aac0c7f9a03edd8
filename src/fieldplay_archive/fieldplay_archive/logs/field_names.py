"""Names of fields and types as they count here."""

from functools import lru_cache


@lru_cache(maxsize=1024)
def plain_name(name: str) -> str:
    """A name of a field or type without what spellings differ in: capitals, underscores, hyphens."""
    return name.replace("_", "").replace("-", "").lower()
