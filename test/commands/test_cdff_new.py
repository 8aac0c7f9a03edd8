"""`fieldplay cdff new-dfn` and `new-dfpc`: what they write is installed as pip leaves it, found, tested and run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fieldplay_testing.reference_logs import Run, runner

ROOT = Path(__file__).parents[2]
COMMAND = str(ROOT / "src" / "fieldplay" / "scripts" / "fieldplay")
NEAR = """\
name: NearFilter
doc: Keep the points within a radius of a pose
input_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: a cloud}
  - {name: viewCenter, type: asn1SccPose, doc: where it is seen from}
output_ports:
  - {name: nearPoints, type: asn1SccPointcloud, doc: what is left}
  - {name: success, type: bool, doc: whether anything is left}
implementations: [Radius, Box]
"""
CHAIN = """\
name: NearCloud
doc: A cloud of a pair, its near points alone
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left image}
  - {name: rightImage, type: asn1SccFrame, doc: right image}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: the near points}
implementations:
  - name: Sgbm
    dfns:
      - {dfn_id: stereo, name: StereoReconstruction, implementation: HirschmullerDisparityMapping,
         parameters: {Disparities: {NumberOfIntervals: 16}}}
      - {dfn_id: near, name: NearPoints, implementation: Radius}
    input_connections:
      - {dfpc_input: leftImage, dfn_id: stereo, port: left}
      - {dfpc_input: rightImage, dfn_id: stereo, port: right}
    internal_connections:
      - {from: {dfn_id: stereo, port: pointcloud}, to: {dfn_id: near, port: pointCloud}}
    output_connections:
      - {dfpc_output: pointCloud, dfn_id: near, port: nearPoints}
"""
PUBLISHED = """\
name: ColorConversion
doc: converts colours
input_ports: [{name: originalImage, type: asn1SccFrame, doc: an image}]
output_ports: [{name: convertedImage, type: asn1SccFrame, doc: the same in other colours}]
"""
FORM_1 = """\
name: OldChain
doc: a chain of form 1
dfns: [{name: StereoReconstruction}, {name: NearPoints}]
input_ports:
  - {name: leftImage, type: asn1SccFrame, doc: left image, connections: [{dfn: StereoReconstruction, port: left}]}
output_ports:
  - {name: pointCloud, type: asn1SccPointcloud, doc: a cloud, connections: [{dfn: NearPoints, port: nearPoints}]}
"""


def install(package: Path) -> None:
    """Write what pip leaves of a package: the metadata with its entry points, beside the package's folder."""
    name = package.name
    info = package / f"{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[fieldplay.steps]\n{name} = {name}\n")


def run(*arguments: str, package: Path, code: int = 0) -> str:
    """The output of Python with a package on its path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])}
    result = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=package
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.fixture
def cdff(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def scaffold(cdff: Run, folder: Path, kind: str, text: str) -> Path:
    description = folder / "description.yaml"
    description.write_text(text)
    name = "near_cloud" if kind == "new-dfpc" else "near_filter"
    code, out, error = cdff(kind, description, folder / name)
    assert code == 0, out + error
    install(folder / name)
    return folder / name


def test_package_of_a_dfn_is_installed_and_its_test_passes(cdff: Run, tmp_path: Path) -> None:
    package = scaffold(cdff, tmp_path, "new-dfn", NEAR)
    out = run("-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(package), "test", package=package)
    assert "2 passed" in out, "one for each implementation"
    text = run(COMMAND, "fuse", "--list", "--steps", package=package)
    assert "NearFilter: pointCloud Pointcloud, viewCenter Pose -> nearPoints Pointcloud, success bool" in text
    project = (package / "pyproject.toml").read_text()
    assert '[project.entry-points."fieldplay.steps"]\nnear_filter = "near_filter"' in project


def test_written_step_with_its_parameters_runs_in_a_pipeline(cdff: Run, tmp_path: Path) -> None:
    package = scaffold(cdff, tmp_path, "new-dfpc", CHAIN)
    module = package / "near_cloud" / "near_points.py"
    text = module.read_text()
    assert "class Radius(Step):" in text and '"nearPoints": pointCloud,  # TODO' in text
    module.write_text(text.replace(
        '        return {\n            "nearPoints": pointCloud,  # TODO: Pointcloud\n        }\n',
        '        near = pointCloud.points[:, 2] < self.general["Radius"]\n'
        '        return {"nearPoints": pointCloud.subset(near)}\n',
    ))  # fmt: skip
    parameters = package / "near_cloud" / "parameters.yaml"
    parameters.write_text("Radius: {GeneralParameters: {Radius: {default: 1.5, above: 0}}}\n")
    out = run("-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(package), "test", package=package)
    assert "1 passed" in out
    script = (
        "from fieldplay_cdff.pipeline import load_pipeline\n"
        "from fieldplay_cdff.steps.port_types import example_of, BASELINE_M\n"
        "camera = example_of('Frame').camera\n"
        "settings = {'near': {'GeneralParameters': {'Radius': 0.9}}}\n"
        "cameras = {'left': camera, 'right': camera}\n"
        "pipeline = load_pipeline('NearCloud', None, settings, cameras, BASELINE_M)\n"
        "pair = example_of('FramePair')\n"
        "pipeline.feed('leftImage', pair.left, 0)\n"
        "(cloud,) = pipeline.feed('rightImage', pair.right, 0)\n"
        "is_near = (cloud.value.points[:, 2] < 0.9).all()\n"
        "print(pipeline.steps['near'].general['Radius'], is_near, not pipeline.failures)\n"
    )
    assert run("-c", script, package=package).split() == ["0.9", "True", "True"]
    wrong = script.replace("'Radius': 0.9", "'Radus': 0.9")
    assert "has no parameter Radus: did you mean Radius?" in run("-c", wrong, package=package, code=1)
    listed = run(COMMAND, "fuse", "--list", package=package)
    assert "NearCloud: A cloud of a pair, its near points alone" in listed


def test_package_that_cannot_be_imported_is_named(cdff: Run, tmp_path: Path) -> None:
    package = scaffold(cdff, tmp_path, "new-dfn", NEAR)
    (package / "near_filter" / "__init__.py").write_text("import nought\n")
    out = run(COMMAND, "fuse", "--list", "--steps", package=package, code=2)
    assert "the steps near_filter: near_filter cannot be imported: ModuleNotFoundError: No module named 'nought'" in out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("name: NearFilter", "name: PointCloudFiltering"),
            "PointCloudFiltering is published with the inputs ",
        ),
        (("type: asn1SccPose", "typ: asn1SccPose"), "has a field 'typ'"),
    ],
)
def test_description_that_does_not_fit_is_refused(
    cdff: Run, tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    package = scaffold(cdff, tmp_path, "new-dfn", NEAR)
    file = package / "near_filter" / "dfns" / "NearFilter.yaml"
    text = file.read_text()
    old, new = change
    file.write_text(text.replace(old, new))
    assert message in run(COMMAND, "fuse", "--list", "--steps", package=package, code=2)


def test_chain_of_form_1_gets_a_form_2_to_complete(cdff: Run, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(FORM_1)
    code, _, error = cdff("new-dfpc", tmp_path / "old.yaml", tmp_path / "old")
    assert code == 0 and "replace each TODO" in error
    text = (tmp_path / "old" / "old_chain" / "dfpc" / "OldChain.yaml").read_text()
    assert "internal_connections" in text and "TODO" in text and "implementation: NearPoints" in text


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("new-dfn", CHAIN, "NearCloud is a DFPC: fieldplay cdff new-dfpc"),
        ("new-dfpc", NEAR, "NearFilter is a DFN: fieldplay cdff new-dfn"),
        ("new-dfn", PUBLISHED, "ColorConversion by ColorConversion is there already"),
        ("new-dfn", NEAR.replace("name: viewCenter", "name: class"), "the port 'class' cannot be an argument"),
        ("new-dfn", NEAR.replace("name: NearFilter", "name: '3'"), "'3': expected a name of letters and digits"),
    ],
)
def test_unusable_description_is_refused(cdff: Run, tmp_path: Path, kind: str, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    code, _, error = cdff(kind, tmp_path / "x.yaml", tmp_path / "out")
    assert code == 2 and message in error
    assert not (tmp_path / "out").exists()
