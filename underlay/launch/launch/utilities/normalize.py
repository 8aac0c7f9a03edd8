"""From the many forms that callers may use to plain lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ..launch_description_entity import LaunchDescriptionEntity
from ..some_entities_type import SomeEntitiesType
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Return the substitutions that together make one text."""
    if isinstance(subs, (str, Substitution)):
        return [_substitution(subs)]
    return [_substitution(each) for each in subs]


def _substitution(item: object) -> Substitution:
    from ..substitutions.text_substitution import TextSubstitution

    if isinstance(item, Substitution):
        return item
    if isinstance(item, str):
        return TextSubstitution(text=item)
    raise TypeError(f"expected a 'str' or a 'launch.Substitution', but got '{item}' of type '{type(item)}'")


def normalize_to_list_of_entities(entities: Iterable[SomeEntitiesType]) -> list[LaunchDescriptionEntity]:
    """Flatten entities and collections of entities into one list."""
    flat: list[LaunchDescriptionEntity] = []
    for entity in entities:
        if isinstance(entity, LaunchDescriptionEntity):
            flat.append(entity)
        elif isinstance(entity, Iterable):
            flat.extend(normalize_to_list_of_entities(entity))
        else:
            raise TypeError(f"expected a 'LaunchDescriptionEntity', but got '{entity}' of type '{type(entity)}'")
    return flat


def as_parts(parts: Iterable[SomeSubstitutionsType] | None, name: str) -> list[SomeSubstitutionsType]:
    """Return the parts of a command line as a list; TypeError for a single text, whose parts would be its letters."""
    if isinstance(parts, str):
        raise TypeError(f"expected '{name}' to be a list of arguments, but got the single text '{parts}'")
    return list(parts or ())


_Kind = TypeVar("_Kind")


def as_list(some: _Kind | Iterable[_Kind] | None) -> list[_Kind]:
    """Return one, several or no things as a list."""
    if some is None:
        return []
    return list(some) if isinstance(some, Iterable) else [some]
