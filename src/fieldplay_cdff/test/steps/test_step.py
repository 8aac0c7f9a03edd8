import re

import numpy as np
import pytest
import yaml

from fieldplay.core.errors import UsageError
from fieldplay_cdff.descriptors.model import known_catalogue
from fieldplay_cdff.steps.step import (
    FOLDER,
    Parameter,
    parameters,
    settings_of,
    step_of,
    steps,
)
from fieldplay_cdff.steps.values import Cloud


def test_cloud_is_transformed_and_normals_are_rotated() -> None:
    pose = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    cloud = Cloud(points=np.array([[1.0, 0, 0]]), normals=np.array([[1.0, 0, 0]]))
    outputs = step_of("PointCloudTransformation", "CartesianSystemTransform")().process(pointCloud=cloud, pose=pose)
    assert outputs["transformedPointCloud"].points.tolist() == [[1, 3, 3]]
    assert outputs["transformedPointCloud"].normals.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"GeneralParameter": {}},
            "has no group GeneralParameter: did you mean GeneralParameters?",
        ),
        ({"GeneralParameters": {"Placehold": 1}}, "GeneralParameters has no parameter Placehold: did you mean Placeho"),
        ({"GeneralParameters": {"Placeholder": 1}}, "GeneralParameters.Placeholder: expected true or false, got 1"),
    ],
)
def test_unknown_setting_is_reported_with_nearest_name(settings: dict[str, dict[str, int]], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        settings_of("CartesianSystemTransform", settings)


def test_values_are_checked_against_limits_and_types() -> None:
    ratio = Parameter(default=1.2, limits={"above": 1, "most": 2.5})
    assert (ratio.value(2, ""), type(ratio.value(2, ""))) == (2.0, float)
    for wrong, message in ((1, "above 1, got 1"), (2.6, "at most 2.5, got 2.6"), ("a", "a number, got 'a'")):
        with pytest.raises(UsageError, match=f"G.n: expected {message}"):
            ratio.value(wrong, "G.n")
    assert Parameter(default=1.0).value("1e-8", "") == 1e-8, "as the authors' files have it"
    size = Parameter(default=5, limits={"odd": True, "names": {"five": 5}})
    assert size.value("five", "") == 5
    with pytest.raises(UsageError, match="odd: true, got 4"):
        size.value(4, "")


def test_every_step_is_published_and_constructible() -> None:
    catalogue = known_catalogue().dfns
    for (dfn, implementation), kind in steps().items():
        assert implementation in catalogue[dfn].implementations, (dfn, implementation)
        assert kind().settings == settings_of(implementation, {})
    implementations = {implementation for _, implementation in steps()}
    assert set(parameters()) <= implementations, "what can be set belongs to a step"
    for name, groups in parameters().items():
        for group, own in groups.items():
            for key, parameter in own.items():
                parameter.value(parameter.default, f"{name}: {group}.{key}")


def test_unknown_step_is_reported_with_nearest_name() -> None:
    with pytest.raises(UsageError, match="no implementation CartesianSystem: did you mean CartesianS"):
        step_of("PointCloudTransformation", "CartesianSystem")


def test_no_two_files_declare_parameters_of_one_step() -> None:
    names = [name for file in FOLDER.glob("*.yaml") for name in yaml.safe_load(file.read_text())]
    assert sorted(names) == sorted(set(names))


def test_author_settings_of_stereo_unit_are_accepted() -> None:
    """Of their configurations for the HCRU: texts for numbers where they have them."""
    parameters = {
        "OrbDetectorDescriptor": {"GeneralParameters": {"ScoreType": "HarrisScore", "ScaleFactor": 1.2}},
        "FlannMatcher": {"GeneralParameters": {"MatcherMethod": "LocalitySensitiveHashing", "SortedSearch": True}},
        "HirschmullerDisparityMapping": {"Disparities": {"NumberOfIntervals": 256, "SmoothnessParameter2": 2000}},
        "DisparityMapping": {"Prefilter": {"Type": "Xsobel"}},
        "WheeledRobotPoseEstimator": {"GeneralParameters": {"Robot": "SHERPA", "Visualize": True}},
    }
    for implementation, groups in parameters.items():
        settings_of(implementation, groups)
    assert settings_of("FlannMatcher", parameters["FlannMatcher"])["GeneralParameters"]["MatcherMethod"] == 4
