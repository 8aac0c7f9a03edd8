import pytest

from ros2cli.launch_files import parse_arguments


def test_arguments_are_pairs_of_name_and_value():
    assert parse_arguments(["a:=1", "b:=2:=3", "a:=4", "c:=:="]) == {"a": "4", "b": "2:=3", "c": ":="}
    for wrong in ("a", "a=1", ":=1", "a:=", ":="):
        with pytest.raises(RuntimeError, match=f"malformed launch argument '{wrong}'"):
            parse_arguments([wrong])
