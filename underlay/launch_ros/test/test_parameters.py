"""The parameters that nodes are started with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from launch.actions import GroupAction, SetLaunchConfiguration
from launch.substitutions import LaunchConfiguration, TextSubstitution
from launch_ros.actions import Node, SetParameter, SetParametersFromFile
from launch_ros.descriptions import Parameter
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

X = LaunchConfiguration("x")


class Loader(yaml.SafeLoader):
    """Reads what nodes read: they pass over the tag by which upstream marks lists."""


Loader.add_constructor("tag:yaml.org,2002:python/tuple", Loader.construct_yaml_seq)


def parameters_in(text):
    """The parameters of all nodes in the text of a file."""
    return yaml.load(text, Loader)["/**"]["ros__parameters"]


def node(parameters, **kwargs) -> Node:
    return Node(package="robot", executable="node", parameters=parameters, **kwargs)


@pytest.fixture
def value(started):
    """Return the value that a node would read from its parameter file."""

    def evaluated(written, x="7"):
        (text,) = started(SetLaunchConfiguration("x", x), node([{"p": written}]))["files"].values()
        return parameters_in(text)["p"]

    return evaluated


@pytest.mark.parametrize(
    "written",
    [
        *(
            True,
            3,
            -1.5,
            1e-7,
            float("inf"),
            "text",
            "",
            "7",
            "true",
            "1e5",
            "null",
            "two\nlines: #",
            "grün",
            'it\'s "so"',
        ),
        *([1, 2], [1.5], [True, False], ["a", "7", "no"]),
    ],
)
def test_plain_values_keep_their_type(value, written):
    read = value(written)

    assert read == written
    assert type(read) is type(written)


def test_numbers_of_both_kinds_in_a_list_are_floats(value):
    assert [type(item) for item in value([1, 2.5])] == [float, float]


@pytest.mark.parametrize(
    ("written", "x", "read"),
    [
        (X, "7", 7),
        (X, "7.5", 7.5),
        (X, "true", True),
        (X, "a b", "a b"),
        (X, "", ""),
        (X, "'7'", "7"),
        (X, "[1, 2]", [1, 2]),
        ([X, "5"], "7", 75),
        (["v", X], "7", "v7"),
        ([[X], [X, "5"]], "7", [7, 75]),
        ([["a", X], "b"], "7", ["a7", "b"]),
        ([X, 2], "7", [7, 2]),
        (ParameterValue(X, value_type=str), "7", "7"),
        (ParameterValue(["v: ", X], value_type=str), "7", "v: 7"),
        (ParameterValue(X, value_type=float), "7", 7.0),
        (ParameterValue(X, value_type=bool), "1", True),
        (ParameterValue(X, value_type=list[int]), "[7]", [7]),
        (ParameterValue([1, 2], value_type=list[int]), "", [1, 2]),
        (ParameterValue([[X], "a"], value_type=list[str]), "7", ["7", "a"]),
        (ParameterValue(X), "7", 7),
    ],
)
def test_text_of_substitutions_is_read_as_yaml_unless_typed(value, written, x, read):
    result = value(written, x)

    assert result == read
    assert type(result) is type(read)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([1, "a"], "one type|uniform type"),
        ([], r"non-empty list|but got '\(\)'"),
        ([True, 1], "one type|uniform type"),
        (TextSubstitution(text="{a: 1}"), "value_type=str"),
        (TextSubstitution(text="a: b: c"), "value_type=str"),
        (TextSubstitution(text="2024-01-01"), "value_type=str"),
        (TextSubstitution(text="[1, a]"), "one type|uniform type"),
        (ParameterValue(TextSubstitution(text="x"), value_type=int), "invalid literal"),
        (ParameterValue(TextSubstitution(text="maybe"), value_type=bool), "maybe"),
        (ParameterValue(TextSubstitution(text="[1, a]"), value_type=list[int]), "int"),
    ],
)
def test_value_that_is_none_fails_the_launch(run, package, written, message):
    outcome = run(node([{"p": written}]))

    assert outcome.code == 1
    assert re.search(message, outcome.screen)
    assert package.starts == []


@pytest.mark.parametrize(
    "parameters",
    [
        *({"p": 1}, "file.yaml", [{"p": None}], [{"p": {1, 2}}]),
        pytest.param([{"p": b"x"}], marks=pytest.mark.stand_in("upstream takes bytes")),
        *([{"p": [None]}], [{1: 2}], [3]),
    ],
)
def test_wrong_types_are_refused_at_once(parameters):
    with pytest.raises(TypeError):
        node(parameters)


@pytest.mark.parametrize(
    ("value", "kind"), [("a", int), (1.5, list[float]), ([1, "a"], None), ([1], str), (None, None)]
)
def test_value_that_is_not_of_its_type_is_refused_at_once(value, kind):
    with pytest.raises(TypeError):
        ParameterValue(value, value_type=kind)


def test_nested_names_are_joined_by_dots_and_may_be_substitutions(started):
    nested = {"a": {"b": {"c": 1}, X: 2}, (X, "_", X): 3}

    (text,) = started(SetLaunchConfiguration("x", "n"), node([nested]))["files"].values()

    assert parameters_in(text) == {"a.b.c": 1, "a.n": 2, "n_n": 3}


@pytest.mark.parametrize(
    ("kwargs", "key"),
    [
        ({"name": "n", "namespace": "ns"}, "/ns/n"),
        ({"name": "n", "namespace": ""}, "/n"),
        ({"name": "n"}, "/**"),
        ({"namespace": "ns"}, "/**"),
    ],
)
def test_file_is_for_the_node_if_its_full_name_is_known(started, kwargs, key):
    (text,) = started(node([{"p": 1}], **kwargs))["files"].values()

    assert list(yaml.safe_load(text)) == [key]


def test_files_dictionaries_and_single_parameters_keep_their_order(started, tmp_path):
    paths = [tmp_path / f"{name}.yaml" for name in "abc"]
    for path in paths:
        path.write_text(f"/**: {{ros__parameters: {{from: {path.name}}}}}\n")
    described = ParameterFile([str(tmp_path), "/", X, ".yaml"])

    start = started(
        SetLaunchConfiguration("x", "c"),
        node([str(paths[0]), {"from": "dictionary"}, paths[1], Parameter("single", X), described]),
    )

    values = start["arguments"][1:]
    assert values[0::2] == ["--params-file", "--params-file", "--params-file", "-p", "--params-file"]
    first, written, second, single, third = values[1::2]
    assert [first, second, third] == [str(path) for path in paths]
    assert single.removesuffix("\n...\n") == "single:=c"  # upstream marks an end
    assert "launch_params_" in written
    assert described.param_file == paths[2]


def test_file_that_is_missing_is_warned_of_and_left_out(run, package):
    outcome = run(node(["/nowhere/p.yaml"]))

    assert outcome.code == 0
    assert "Parameter file path is not a file: /nowhere/p.yaml" in outcome.screen
    assert package.starts[0]["arguments"] == ["--ros-args"]


@pytest.mark.stand_in("upstream leaves them")
def test_written_files_are_removed_when_the_node_has_ended(started):
    start = started(node([{"p": 1}, {"q": 2}]))

    assert len(start["files"]) == 2
    assert [path for path in start["files"] if Path(path).exists()] == []


@pytest.mark.stand_in("upstream leaves them")
def test_written_files_are_removed_if_the_node_cannot_be_started(run, package, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    outcome = run(Node(package="robot", executable="missing", parameters=[{"p": 1}]))

    assert outcome.code == 1
    assert list(tmp_path.glob("launch_params_*")) == []


def test_parameters_of_the_scope_come_first_and_end_with_the_group(run, package, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("/**: {ros__parameters: {f: 1}}\n")
    shared = [SetParameter("first", 1.5), SetParameter("second", X), SetParametersFromFile(str(path))]

    run(SetLaunchConfiguration("x", "2"), GroupAction([*shared, node([{"own": 1}])]), node([]))

    inside, outside = sorted((start["arguments"] for start in package.starts), key=len, reverse=True)
    assert inside[1:7] == ["-p", "first:=1.5", "-p", "second:=2", "--params-file", str(path)]
    assert inside[7] == "--params-file"
    assert outside == ["--ros-args"]


@pytest.mark.stand_in("upstream's stay, where others were set before the group")
def test_parameters_of_a_group_end_with_it_where_there_are_others(run, package):
    run(SetParameter("outer", 1), GroupAction([SetParameter("inner", 2)]), node([]))

    assert [start["arguments"] for start in package.starts] == [["--ros-args", "-p", "outer:=1"]]


@pytest.mark.stand_in("upstream writes them as Python does")
def test_parameters_of_the_scope_are_written_as_yaml(started):
    shared = [SetParameter("use_sim_time", X), SetParameter(name="list", value=["a", "1"])]

    arguments = started(SetLaunchConfiguration("x", "true"), *shared, node([]))["arguments"]

    assert arguments == ["--ros-args", "-p", "use_sim_time:=true", "-p", 'list:=["a", "1"]']


@pytest.mark.stand_in("upstream substitutes")
def test_substitutions_within_files_are_refused_by_name():
    with pytest.raises(NotImplementedError, match=r"allow_substs.*stand-in"):
        ParameterFile("a.yaml", allow_substs=True)


def test_descriptions_tell_what_they_hold():
    parameter = Parameter("name", [X, "b"], value_type=str)

    assert [part.describe() for part in parameter.name] == ["'name'"]
    assert len(parameter.value) == 2
    assert parameter.value_type is str
    assert ParameterFile(Path("a.yaml")).allow_substs is False
    assert "value_type=<class 'int'>" in str(ParameterValue(1, value_type=int))
