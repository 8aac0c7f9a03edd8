"""Descriptions that can be run, and what is told of those that cannot, before anything runs."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fieldplay.core.errors import UserError
from fieldplay.geometry.camera_model import camera_from_numbers
from fieldplay_cdff.descriptors import description_reader
from fieldplay_cdff.pipeline import (
    Configuration,
    Pipeline,
    chains,
    configuration_of_file,
    load_pipeline,
    pipelines,
    settings_of_arguments,
)
from fieldplay_cdff.pipeline.chains import pipeline_files, source_of
from fieldplay_cdff.pipeline.pipeline_graph import POLICIES

FILE = Path(__file__).with_name("two.yaml")
TEXT = FILE.read_text()
INNER = """\
name: Outer
doc: a chain in a chain
input_ports: [{name: cloud, type: asn1SccPointcloud, doc: a}, {name: pose, type: asn1SccPose, doc: b}]
output_ports: [{name: moved, type: asn1SccPointcloud, doc: c}]
implementations:
  - name: Plain
    dfns:
      - {dfn_id: two, dfpc: FILE, implementation: Plain}
      - {dfn_id: filter, name: PointCloudFiltering, optional: true}
    input_connections:
      - {dfpc_input: cloud, dfn_id: two, port: cloud}
      - {dfpc_input: pose, dfn_id: two, port: pose}
    internal_connections:
      - {from: {dfn_id: two, port: moved}, to: {dfn_id: filter, port: pointCloud}}
    output_connections:
      - {dfpc_output: moved, dfn_id: filter, port: filteredPointCloud}
"""
MOVE = "dfn_id: move, name: PointCloudTransformation, implementation: CartesianSystemTransform"


def write_chain(folder: Path, text: str, name: str = "two.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def error_of(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as caught:
        load_pipeline(write_chain(folder, text))
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: Previous}", "name: Previos}", "two.yaml:14: Previos is no published DFN: did you mean Previous?"),
        ("CartesianSystemTransform}", "Cartesian}", "PointCloudTransformation has no implementation Cartesian"),
        ("VoxelResolution: 0.5", "VoxelResolutoin: 0.5", "two.yaml:15: map: CloudMap: GeneralParameters has no "
         "parameter VoxelResolutoin: did you mean VoxelResolution?"),
        ("VoxelResolution: 0.5", "VoxelResolution: 0", "CloudMap: GeneralParameters.VoxelResolution: expected above 0"),
        ("      - {dfpc_input: pose, dfn_id: move, port: pose}\n", "",
         "two.yaml:6: the input pose is not connected in Plain"),
        ("dfn_id: move, port: pose}", "dfn_id: map, port: firstPointCloud}",
         "pose is Pose, but map.firstPointCloud takes Pointcloud"),
        ("dfn_id: last, port: value}, to: {dfn_id: map, port: second",
         "dfn_id: last, port: value}, to: {dfn_id: map, port: first", "map.firstPointCloud is fed 2 times"),
        ("dfn_id: last, port: value}, to: {dfn_id: map, port: secondPointCloud",
         "dfn_id: last, port: value}, to: {dfn_id: move, port: pose", "last.value is Pointcloud, but move.pose takes"),
        (MOVE, f"{MOVE}, activation: {{type: input_triggered, value: pos}}", "has no input pos: did you mean pose?"),
        ("name: Previous}", "name: Previous, activation: {type: frequency, value: 1}}", "it cannot have an activation"),
        ("name: Previous}", "name: Previous, constants: {valeu: 1}}", "it is none; it has value, accepted"),
        ("name: Previous}", "name: Previous, like: mvoe}", "last is set like mvoe, which is not there"),
        ("doc: where it is", "policy: both, doc: where it is", "expected a policy of pair, hold, each, got both"),
        ("      - {from: {dfn_id: move, port: transformedPointCloud}, to: {dfn_id: map, port: firstPointCloud}}\n", "",
         "two.yaml:15: nothing feeds map.firstPointCloud"),
        ("name: Previous}", "name: Either}", "two.yaml:20: Either (last) has no input value"),
    ],
)  # fmt: skip
def test_unusable_chain_is_reported_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    assert message in error_of(tmp_path, TEXT.replace(old, new, 1))


def test_cycle_needs_a_step_previous(tmp_path: Path) -> None:
    back = "dfn_id: map, port: assembledCloud}, to: {dfn_id: last, port: value}"
    text = TEXT.replace("dfn_id: move, port: transformedPointCloud}, to: {dfn_id: last, port: value}", back)
    load_pipeline(write_chain(tmp_path, text))
    text = text.replace("name: Previous}", "name: Either}")
    message = error_of(tmp_path, text.replace("{dfn_id: last, port: value}}", "{dfn_id: last, port: first}}"))
    assert "two.yaml:14: map -> last -> map" in message and "a circle of connections without a step Previous" in message


def test_form_1_description_is_rejected_with_hint_to_form_2(tmp_path: Path) -> None:
    text = """\
name: Old
doc: a
dfns: [{name: PointCloudTransformation}]
input_ports:
  - {name: c, type: asn1SccPointcloud, doc: l, connections: [{dfn: PointCloudTransformation, port: pointCloud}]}
output_ports: []
implementations: [{name: Plain}]
"""
    message = error_of(tmp_path, text)
    assert "form 1 does not say how its DFNs are connected" in message
    assert "{dfpc_input: c, dfn_id: PointCloudTransformation, port: pointCloud}" in message
    assert "from: {dfn_id: TODO, port: TODO}" in message and "port: pose}" in message


def test_dfn_or_missing_file_or_unknown_name_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no DFPC Reconstruction3d: did you mean Reconstruction3D"):
        load_pipeline("Reconstruction3d")
    with pytest.raises(UserError, match=r"nothing\.yaml: there is no such file"):
        load_pipeline(tmp_path / "nothing.yaml")
    dfn = "name: X\ndoc: y\ninput_ports: [{name: a, type: asn1SccFrame, doc: b}]\n"
    assert "X is a DFN: expected a DFPC" in error_of(tmp_path, dfn)


def test_nested_chain_runs_and_optional_step_passes_through(tmp_path: Path) -> None:
    outer = write_chain(tmp_path, INNER.replace("FILE", str(write_chain(tmp_path, TEXT))), "outer.yaml")
    assert list(load_pipeline(outer).steps) == ["two.move", "two.last", "two.map"]
    settings = settings_of_arguments(["filter.GeneralParameters.NumberOfNearestNeighbours=7", "two.map=VoxelBinning"])
    pipeline = load_pipeline(outer, settings=settings)
    assert pipeline.steps["filter"].general["NumberOfNearestNeighbours"] == 7
    assert pipeline.statistics.steps["two.map"].implementation == "VoxelBinning"
    itself = INNER.replace("FILE", "two.yaml")
    assert "does one hold itself?" in error_of(tmp_path, itself)


def test_inner_chain_comes_from_same_folder_or_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    write_chain(tmp_path / "inner", TEXT)
    outer = write_chain(tmp_path, INNER.replace("FILE", "inner/two.yaml"), "outer.yaml")
    outermost = write_chain(tmp_path / "inner", INNER.replace("FILE", "../outer.yaml"), "outermost.yaml")
    monkeypatch.chdir("/")
    assert list(load_pipeline(outer).steps) == ["two.move", "two.last", "two.map"]
    assert list(load_pipeline(outermost).steps) == ["two.two.move", "two.two.last", "two.two.map"]
    with pytest.raises(UserError, match=r"outer\.yaml names nought\.yaml: there is no such file in .*dfpc"):
        load_pipeline(write_chain(tmp_path, INNER.replace("FILE", "nought.yaml"), "outer.yaml"))
    known = INNER.replace("FILE", "ElevationMapping.yaml")
    assert "Outer" not in error_of(tmp_path, known) and "ElevationMapping" in error_of(tmp_path, known)


def test_settings_reach_their_step_and_unknown_ones_are_reported(tmp_path: Path) -> None:
    settings = {"map": {"GeneralParameters": {"VoxelResolution": 0.25}}}
    assert load_pipeline(FILE, settings=settings).steps["map"].general["VoxelResolution"] == 0.25
    of_chain = settings_of_arguments(["Two.GeneralParameters.Size=0.75", "Two.GeneralParameters.Old=1"])
    assert load_pipeline(FILE, settings=of_chain).steps["map"].general["VoxelResolution"] == 0.75
    for word, message in (
        ("mapp.GeneralParameters.VoxelResolution=1", "Plain has no step mapp: did you mean map?"),
        ("Two.GeneralParameters.Siz=1", "Two: GeneralParameters has no parameter Siz: did you mean Size?"),
        (
            "map.GeneralParameter.VoxelResolution=1",
            "map: CloudMap has no group GeneralParameter: did you mean GeneralP",
        ),
        ("map.GeneralParameters.VoxelResolution=wide", "expected a number, got 'wide'"),
        ("map", "expected STEP.GROUP.NAME=VALUE, or STEP=IMPLEMENTATION"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            load_pipeline(FILE, settings=settings_of_arguments([word]))


def test_author_files_are_read_unchanged(tmp_path: Path) -> None:
    file = write_chain(tmp_path, """\
- Name: DFNsChain
  Parameters: [{Name: GeneralParameters, Size: 0.125}]
- Name: map
  Type: PointCloudAssembly
  Implementation: CloudMap
  Parameters:
    - {Name: GeneralParameters, MinimumObservations: 2}
""", "authors.yaml")  # fmt: skip
    configuration = configuration_of_file(file)
    step = load_pipeline(FILE, settings=configuration).steps["map"]
    assert (step.general["VoxelResolution"], step.general["MinimumObservations"]) == (0.125, 2)
    more = configuration.and_then(settings_of_arguments(["map.GeneralParameters.VoxelResolution=2"]))
    assert load_pipeline(FILE, settings=more).steps["map"].general["VoxelResolution"] == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["authors.yaml"], "nothing is written next to it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "expected a list of steps with Name, Type, Implementation, Parameters, got dict"),
        ("- {Nam: x}", "item 1: expected a step with Name"),
        ("- {Name: x, Paramters: []}", "item 1: unknown Paramters: did you mean Parameters?"),
        ("- {Name: x, Parameters: {a: 1}}", "(x): expected Parameters as a list of groups"),
        ("- {Name: x}\n- {Name: x}", "item 2: x is there twice"),
        (
            "- {Name: x, Type: PointCloudAssembly, Implementation: CloudMapp}",
            "no implementation CloudMapp; there is ",
        ),
        ("- {Name: x, Type: Nonsense, Implementation: y}", "Nonsense is no published DFN"),
        ("- {", "expected YAML"),
    ],
)
def test_invalid_settings_file_is_reported_with_item(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        configuration_of_file(write_chain(tmp_path, text))


def test_all_descriptions_of_workspace_are_readable() -> None:
    known = {each.name: each for each in pipelines()}
    assert known["Reconstruction3D"].implementations == (
        "ReconstructionFromStereo", "DenseRegistrationFromStereo", "SparseRegistrationFromStereo",
        "RegistrationFromStereo", "EstimationFromStereo", "AdjustmentFromStereo",
    )  # fmt: skip
    for name, each in known.items():
        assert name == each.file.stem == source_of(each.file).description.name
        assert each.topic and each.doc and each.inputs and each.outputs
        assert set(each.as_dict()) == {"name", "doc", "topic", "implementations", "notes", "inputs", "outputs", "file"}
        assert set(each.notes) <= set(each.implementations[1:]), "the default has no reservations"


def test_setting_a_step_runs_the_implementation_of_its_steps() -> None:
    camera = camera_from_numbers([200, 0, 100, 0, 200, 80, 0, 0, 1], [], "", width=200, height=160)
    cameras = {"left": camera, "right": camera}

    def load(name: str, *arguments: str) -> Pipeline:
        return load_pipeline(name, None, settings_of_arguments(arguments), cameras, 0.1)

    plain = load("VisualOdometry", "stereoOdometry.Tracking.PyramidLevels=3")
    assert plain.implementation == "LucasKanadePnp" and list(plain.steps) == ["stereoOdometry"]
    finer = load("VisualOdometry", "tracker.GeneralParameters.PyramidLevels=3")
    assert finer.implementation == "LucasKanadePnpSteps" and len(finer.steps) == 16
    assert finer.steps["tracker"].general["PyramidLevels"] == 3
    assert len(load("VisualSlamStereo").steps) == 3
    inner = load("VisualSlamStereo", "odometry.perspectiveNPointSolver=StereoPnpSolver")
    assert type(inner.steps["odometry.perspectiveNPointSolver"]).__name__ == "StereoPnpSolver"
    with pytest.raises(UserError, match="LucasKanadePnpSteps has no step trackr: did you mean tracker"):
        load("VisualOdometry", "trackr.GeneralParameters.PyramidLevels=3")


def test_each_description_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[str] = []

    def read(path: Path, report: Any) -> Any:
        files.append(path.name)
        return description_reader.description_of_file(path, report)

    monkeypatch.setattr(chains, "description_of_file", read)
    outer = write_chain(tmp_path, INNER.replace("FILE", str(write_chain(tmp_path, TEXT))), "outer.yaml")
    load_pipeline(outer)
    assert files == ["outer.yaml", "two.yaml"]


def test_step_without_camera_is_named_in_error() -> None:
    with pytest.raises(UserError, match=r"rightCamera takes a baseline above 0 m, got 0"):
        load_pipeline("Reconstruction3D", "ReconstructionFromStereo", Configuration())


def test_schema_has_fields_of_reader() -> None:
    schema = json.loads((pipeline_files()["Reconstruction3D"].parent / "schema.json").read_text())
    parts = schema["$defs"]
    assert set(schema["properties"]) == {*description_reader.TOP, *description_reader.FURTHER} - {"dfns"}, (
        "those are of form 1"
    )
    for end, part in (("input", "input_port"), ("output", "output_port")):
        assert set(parts[part]["properties"]) == {*description_reader.PORT, *description_reader.FURTHER_OF_PORT[end]}
    kind, whole = parts["output_port"]["properties"]["product"]["oneOf"]
    assert set(whole["properties"]) == set(description_reader.PRODUCT) and kind == whole["properties"]["kind"]
    chain = {*description_reader.CHAIN, *description_reader.FURTHER_OF_CHAIN}
    assert set(parts["implementation"]["properties"]) == chain
    assert set(parts["dfn"]["properties"]) == {*description_reader.STEP, *description_reader.FURTHER_OF_STEP}
    assert parts["input_port"]["properties"]["policy"]["enum"] == list(POLICIES)


AUTHORS = """\
- Name: DFNsChain
  Parameters: [{Name: GeneralParameters, SearchRadius: 80, PointCloudMapResolution: 0.03, Baseline: 0.0929}]
- Name: reconstructor3D
  Type: StereoReconstruction
  Implementation: HirschmullerDisparityMapping
  Parameters:
    - {Name: ReconstructionSpace, LimitX: 3.5, LimitY: 3.5, LimitZ: 3.5}
    - {Name: Prefilter, Maximum: 25}
    - {Name: Disparities, Minimum: 0, NumberOfIntervals: 256, UseMaximumDifference: true, MaximumDifference: 5,
       SpeckleRange: 22, SpeckleWindow: 300, SmoothnessParameter1: 600, SmoothnessParameter2: 2000}
    - {Name: BlocksMatching, BlockSize: 15, UniquenessRatio: 1}
    - {Name: GeneralParameters, PointCloudSamplingDensity: 0.1, UseFullScaleTwoPassAlgorithm: false}
- Name: featuresExtractor
  Type: FeaturesExtraction2D
  Implementation: OrbDetectorDescriptor
  Parameters: [{Name: GeneralParameters, EdgeThreshold: 31, FastThreshold: 20, MaxFeaturesNumber: 500}]
- Name: featuresMatcher
  Type: FeaturesMatching2D
  Implementation: FlannMatcher
  Parameters:
    - {Name: GeneralParameters, DistanceThreshold: 0.02, MatcherMethod: LocalitySensitiveHashing}
    - {Name: LocalitySensitiveHashingParameters, TableNumber: 6, KeySize: 12, MultiProbeLevel: 1}
- Name: fundamentalMatrixComputer
  Type: FundamentalMatrixComputation
  Implementation: FundamentalMatrixRansac
  Parameters: [{Name: GeneralParameters, OutlierThreshold: 1, Confidence: 0.9}]
- Name: cloudAssembler
  Type: PointCloudAssembly
  Implementation: MatcherAssembly
  Parameters: [{Name: GeneralParameters, UseIncrementalMode: true}]
"""


def test_author_camera_settings_run(tmp_path: Path) -> None:
    camera = camera_from_numbers([867.4, 0, 516, 0, 867.4, 386, 0, 0, 1], [], "", width=1032, height=772)
    configuration = configuration_of_file(write_chain(tmp_path, AUTHORS, "authors.yaml"))
    steps = load_pipeline(
        "Reconstruction3D", "ReconstructionFromStereo", configuration, {"left": camera, "right": camera}, 0.09
    ).steps
    assert steps["reconstructor3D"].settings["Disparities"]["NumberOfIntervals"] == 256
    assert steps["featuresExtractorRight"].general["MaxFeaturesNumber"] == 500, "both sides are set as one"
    assert steps["featuresMatcherInTime"].general["MatcherMethod"] == 4
    assert type(steps["cloudAssembler"]).__name__ == "MatcherAssembly"
    assert steps["reconstructor3dfrom2dmatches"].settings["FirstCameraMatrix"]["FocalLengthX"] == 867.4
    wrong = AUTHORS.replace("SmoothnessParameter1", "SmoothnesParameter1")
    with pytest.raises(UserError, match=r"authors.yaml: reconstructor3D: .* did you mean SmoothnessParameter1"):
        load_pipeline("Reconstruction3D", settings=configuration_of_file(write_chain(tmp_path, wrong, "authors.yaml")))
