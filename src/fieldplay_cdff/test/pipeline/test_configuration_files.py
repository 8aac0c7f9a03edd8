"""Files of parameters as the authors of CDFF write them, stale names and all."""

import re
from pathlib import Path

import pytest

from fieldplay.core.errors import UserError
from fieldplay_cdff.pipeline import Configuration, configuration_of_arguments, configuration_of_file
from fieldplay_cdff.pipeline.chains import source_of
from fieldplay_cdff.pipeline.configuration import settings_of_arguments
from fieldplay_cdff.pipeline.pipeline_graph import RunnableGraph, graph_of

ADJUSTMENT = """\
- Name: DFNsChain
  Parameters: [{Name: GeneralParameters, SearchRadius: 12, UseAssemblerDfn: true, CloudUpdateTime: 5}]
- Name: bundleAdjuster
  Type: BundleAdjustment
  Implementation: CeresAdjustment
  Parameters:
    - {Name: FirstCameraMatrix, FocalLengthX: 700, PrinciplePointX: 300}
    - {Name: GeneralParameters, Baseline: 0.2}
- Name: perspectiveNPointSolver
  Type: PerspectiveNPointSolving
  Implementation: IterativePnpSolver
  Parameters: [{Name: Distortion, K1: 0.1}]
- {Name: cameraTransformEstimator, Type: CamerasTransformEstimation, Implementation: EssentialMatrixDecomposition}
- {Name: registrator3d, Type: Registration3D, Implementation: Icp3D}
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def graph(name: str, implementation: str | None, configuration: Configuration) -> RunnableGraph:
    return graph_of(source_of(name), implementation, configuration)


def parameters_of(result: RunnableGraph, step: str) -> dict[str, dict[str, object]]:
    return {
        group: dict(own)
        for node in result.nodes
        if node.id == step
        for group, own in node.parameters.items()
    }  # fmt: skip


def test_stale_names_are_taken_for_what_they_mean_and_noted(tmp_path: Path) -> None:
    configuration = configuration_of_file(write(tmp_path / "old.yaml", ADJUSTMENT))
    result = graph("Reconstruction3D", "AdjustmentFromStereo", configuration)
    adjuster = parameters_of(result, "bundleAdjuster")
    assert adjuster["LeftCameraMatrix"] == {"FocalLengthX": 700, "PrincipalPointX": 300}
    assert "FirstCameraMatrix" not in adjuster
    assert parameters_of(result, "perspectiveNPointSolver") == {}, "the distortion is left out"
    text = "\n".join(result.notes)
    assert "FirstCameraMatrix for LeftCameraMatrix" in text
    assert "Distortion: without effect" in text
    assert "AdjustmentFromStereo has no step cameraTransformEstimator, registrator3d: left out" in text
    assert "UseAssemblerDfn, CloudUpdateTime: without effect here" in text


def test_step_set_with_its_implementation_has_published_defaults_elsewhere(tmp_path: Path) -> None:
    item = "- {Name: reconstructor3D, Type: StereoReconstruction, Implementation: HirschmullerDisparityMapping,\n"
    item += "   Parameters: [{Name: Disparities, NumberOfIntervals: 128}]}\n"
    usual = parameters_of(graph("Reconstruction3D", "SparseRegistrationFromStereo", Configuration()), "reconstructor3D")
    assert usual["GeneralParameters"]["VoxelGridLeafSize"] == 0.05
    configuration = configuration_of_file(write(tmp_path / "complete.yaml", item))
    result = graph("Reconstruction3D", "SparseRegistrationFromStereo", configuration)
    assert parameters_of(result, "reconstructor3D") == {"Disparities": {"NumberOfIntervals": 128}}
    without = item.replace("Implementation: HirschmullerDisparityMapping,", "")
    configuration = configuration_of_file(write(tmp_path / "partly.yaml", without))
    merged = parameters_of(graph("Reconstruction3D", "SparseRegistrationFromStereo", configuration), "reconstructor3D")
    assert merged["GeneralParameters"]["VoxelGridLeafSize"] == 0.05, "a step without its implementation is merged"
    assert merged["Disparities"]["NumberOfIntervals"] == 128


@pytest.mark.parametrize("name", ["registrator", "registrator3D"])
def test_misspelled_step_of_a_file_is_an_error(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / "wrong.yaml", f"- {{Name: {name}, Type: Registration3D, Implementation: Icp3D}}\n")
    with pytest.raises(UserError, match=f"no step {name}: did you mean registrator3d"):
        graph("Reconstruction3D", "DenseRegistrationFromStereo", configuration_of_file(file))


def test_argument_for_a_step_of_another_implementation_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "old.yaml", ADJUSTMENT)
    arguments = settings_of_arguments(["registrator3d.GeneralParameters.MaximumIterations=7"])
    with pytest.raises(UserError, match="has no step registrator3d"):
        graph("Reconstruction3D", "AdjustmentFromStereo", configuration_of_file(file).and_then(arguments))


def test_list_of_files_sets_the_steps_of_their_implementations(tmp_path: Path) -> None:
    dfns = tmp_path / "Tests" / "DFNs"
    write(dfns / "BackgroundSubtractorMOG2_Mine.yaml", "- {Name: GeneralParameters, ErosionSize: 7}\n")
    write(dfns / "WheeledRobotPoseEstimator.yaml", "- {Name: GeneralParameters, Robot: 'robots::SHERPA'}\n")
    text = "/Tests/DFNs/BackgroundSubtractorMOG2_Mine.yaml\n/Tests/DFNs/WheeledRobotPoseEstimator.yaml"
    listing = write(tmp_path / "Tests" / "DFPCs" / "tracker.yaml", text)
    plain = graph("ModelBasedTracker", "WheeledRobotTracker", Configuration())
    assert "background" not in [node.id for node in plain.nodes]
    result = graph("ModelBasedTracker", "WheeledRobotTracker", configuration_of_file(listing))
    assert parameters_of(result, "background") == {"GeneralParameters": {"ErosionSize": 7}}
    assert parameters_of(result, "estimator")["GeneralParameters"]["Robot"] == "robots::SHERPA"
    with pytest.raises(UserError, match=r"no step of this pipeline is done by BackgroundSubtractorMOG2; there are "):
        graph("ElevationMapping", None, configuration_of_file(listing))
    listing.write_text(text.replace("WheeledRobotPoseEstimator", "Nought"))
    with pytest.raises(UserError, match=r"Nought\.yaml: there is no such file below any folder above it"):
        configuration_of_file(listing)


def test_file_of_one_step_sets_it_with_the_implementation_of_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "IcpMatcher_Mine.yaml", "- {Name: trimmedDistancePostfilter, Ratio: 0.7}\n")
    configuration = configuration_of_arguments([f"registrator3d={file}"])
    result = graph("Reconstruction3D", "DenseRegistrationFromStereo", configuration)
    assert parameters_of(result, "registrator3d") == {"TrimmedDistancePostfilter": {"Ratio": 0.7}}
    assert {node.id: node.kind.implementation for node in result.nodes}["registrator3d"] == "IcpMatcher"


def test_stand_in_is_noted(tmp_path: Path) -> None:
    text = "- {Name: featuresDescriptor3d, Type: FeaturesDescription3D, Implementation: ShotDescriptor3D}\n"
    result = graph(
        "PointCloudModelLocalisation", "FeaturesMatching3D", configuration_of_file(write(tmp_path / "a.yaml", text))
    )
    assert "featuresDescriptor3d: FpfhDescriptor3D stands in for ShotDescriptor3D" in result.notes
    arguments = settings_of_arguments(["featuresDescriptor3d=ShotDescriptor3D"])
    first, second = graph("PointCloudModelLocalisation", "FeaturesMatching3D", arguments).notes
    assert first.startswith("FeaturesMatching3D: as published; "), "the note of the implementation"
    assert second == "featuresDescriptor3d: FpfhDescriptor3D stands in for ShotDescriptor3D"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("odometry.GeneralParameters.Nonsense=2", "odometry is the pipeline VisualOdometry, which has no parameter"),
        ("odometry.PoseTrack.MaximumShft=2", "did you mean odometry.stereoOdometry.PoseTrack.MaximumShift?"),
        ("odometr.PoseTrack.MaximumShift=2", "has no step odometr: did you mean odometry"),
    ],
)
def test_unknown_parameter_of_nested_pipeline_is_an_error(argument: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        graph("VisualSlamStereo", None, settings_of_arguments([argument]))


def test_parameter_of_nested_pipeline_sets_its_steps() -> None:
    arguments = settings_of_arguments(["reconstruction.GeneralParameters.PointCloudMapResolution=0.07"])
    result = graph("ReconstructionAndIdentification", None, arguments)
    assembler = parameters_of(result, "reconstruction.cloudAssembler")
    assert assembler["GeneralParameters"]["VoxelResolution"] == 0.07


def test_several_values_in_place_of_one_are_explained(tmp_path: Path) -> None:
    text = "- {Name: featuresExtractor3d, Type: FeaturesExtraction3D, Implementation: HarrisDetector3D,\n"
    text += "   Parameters: [{Name: GeneralParameters, Radius: 0.01 0.001}]}\n"
    configuration = configuration_of_file(write(tmp_path / "many.yaml", text))
    with pytest.raises(UserError, match=r"expected a number, got '0.01 0.001' \(2 values, as performance tests have"):
        graph("PointCloudModelLocalisation", "FeaturesMatching3D", configuration)
