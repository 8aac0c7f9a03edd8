"""Texts of YAML that are meant ill are refused, soon and with a word."""

import pytest
import yaml

from fieldplay.core.yaml_safe import value_of_yaml

BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12))


def test_values_equal_those_of_pyyaml() -> None:
    text = "a: [1, 2.5, &b {c: true}, *b]\nd: {<<: *b, e: 2001-02-03}\nf: ~\n"
    assert value_of_yaml(text) == value_of_yaml(text.encode()) == yaml.safe_load(text)
    assert value_of_yaml("") is None and value_of_yaml("# nothing") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "deep"),
        ("{a: " * 100_000, "deep"),
        ("- " * 100_000, "deep"),
        (BOMB, "by aliases"),
        (MERGES, "by aliases"),
        ("a: &a [*a]\nb: 2001-99-99", "none of its type"),
        ("!!float x", "none of its type"),
        ("!!int 0x_", "none of its type"),
        ("!!timestamp x", "none of its type"),
        ("? [a]\n: 1", "unhashable"),
        ("!!python/object:os.system x", "could not determine a constructor"),
        ("a: [", "did not find|expected"),
        ("\0", "control characters|special characters"),
    ],
    ids=range(13),
)
def test_invalid_or_endless_yaml_is_refused(text: str, message: str) -> None:
    with pytest.raises(yaml.YAMLError, match=message):
        value_of_yaml(text)


def test_long_shallow_text_is_read() -> None:
    assert value_of_yaml(f"a: {list(range(5000))}\nb: {'x' * 5000}")["a"][-1] == 4999
