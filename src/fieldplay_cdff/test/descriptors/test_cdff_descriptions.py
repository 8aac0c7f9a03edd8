"""Descriptions of DFNs and DFPCs: what is read, and what is said about those that are wrong."""

from pathlib import Path

import pytest
import yaml

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay_cdff.descriptors.description_checks import check_description
from fieldplay_cdff.descriptors.description_reader import description_of_text
from fieldplay_cdff.descriptors.model import Description, End, published_catalogue, with_own
from fieldplay_testing.reference_logs import DFN, FORM_1, FORM_2

FAULTY = "faulty.yaml"
CASES = yaml.safe_load(Path(__file__).with_name("cdff_faults.yaml").read_text())


def read(text: str) -> tuple[Description, list[Defect]]:
    """A description and all that is wrong in it."""
    issues: list[Defect] = []
    description = description_of_text(FAULTY, text, issues.append)
    check_description(FAULTY, description, published_catalogue(), report=issues.append)
    return description, issues


def issues_of(text: str) -> list[tuple[int | None, str]]:
    return [(issue.row, issue.message) for issue in read(text)[1]]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def replace_line(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_form_1_has_connections_with_its_ports() -> None:
    description, issues = read(FORM_1)
    assert issues == []
    assert (description.kind, description.form, description.name) == ("DFPC", 1, "TerrainFromStereo")
    assert [chain.name for chain in description.chains] == ["Plain", "Other"]
    for chain in description.chains:
        assert [step.id for step in chain.steps] == ["ImageFiltering", "StereoReconstruction"]
        assert [(each.source, each.target) for each in chain.connections] == [
            (End(None, "leftImage"), End("ImageFiltering", "image")),
            (End("StereoReconstruction", "pointcloud"), End(None, "pointCloud")),
        ]


def test_form_2_has_its_connections_in_implementations() -> None:
    description, issues = read(FORM_2)
    assert issues == []
    (chain,) = description.chains
    assert (description.form, chain.name) == (2, "Plain")
    assert [(step.id, step.dfn, step.implementation, step.activation) for step in chain.steps] == [
        ("undistort", "ImageFiltering", "ImageUndistortion", ("input_triggered", "image")),
        ("stereo", "StereoReconstruction", "DisparityMapping", ("frequency", "2")),
        ("assemble", "PointCloudAssembly", "", ("", "")),
    ]
    assert (End("undistort", "image"), End("stereo", "left")) in [(c.source, c.target) for c in chain.connections]
    assert len(chain.connections) == 6
    (operation,) = description.operations
    assert (operation.output_type, operation.inputs[0].name) == ("void", "maxPoints")


def test_missing_implementations_default_to_one_of_same_name() -> None:
    description, issues = read(DFN)
    assert (issues, description.kind) == ([], "DFN")
    assert [chain.name for chain in description.chains] == ["EdgeFinder"]
    assert [port.shown_type for port in description.inputs] == ["Frame"]


@pytest.mark.parametrize("field", ["name", "doc"])
def test_name_and_doc_are_mandatory_for_descriptions_ports_and_operations(field: str) -> None:
    top = {"name": "name: TerrainFromStereo\n", "doc": "doc: Terrain cloud from a stereo pair & more <all of it>\n"}
    assert (1, f"the description has no {field}, which it must have") in issues_of(FORM_2.replace(top[field], "", 1))
    port = {"name": "name: leftImage, ", "doc": ", doc: left"}
    assert (4, f"an input port has no {field}, which it must have") in issues_of(replace_line(FORM_2, port[field], ""))
    operation = {"name": "name: getCloud, ", "doc": "doc: the last cloud, "}
    assert (9, f"an operation has no {field}, which it must have") in issues_of(
        replace_line(FORM_2, operation[field], "")
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["new"].strip()[:40])
def test_issue_is_reported_with_its_line_and_expectation(case: dict[str, str]) -> None:
    text = replace_line(FORM_2, case["old"], case["new"])
    line = text[: text.index(case["place"])].count("\n") + 1
    assert (line, case["message"]) in issues_of(text)


def test_names_of_paper_are_accepted_as_aliases() -> None:
    text = replace_line(
        FORM_1,
        "name: ImageFiltering}",
        "name: FeatureExtraction2D}",
        "dfn: ImageFiltering",
        "dfn: FeatureExtraction2D",
        "port: image}",
        "port: frame}",
    )
    assert issues_of(text) == [(3, "FeatureExtraction2D is no published DFN: did you mean FeaturesExtraction2D?")]
    assert published_catalogue().meant("PerspectiveNPoint") is published_catalogue().dfns["PerspectiveNPointSolving"]


def test_tabs_are_read_as_spaces_and_reported_line_by_line() -> None:
    text = DFN.replace("  - {name: image", "\t- {name: image")
    description, issues = read(text)
    assert [(issue.row, issue.kind) for issue in issues] == [(4, "tab")]
    assert [port.name for port in description.inputs] == ["image"]


def test_tabs_that_yaml_allows_are_no_issue() -> None:
    assert issues_of(DFN.replace("doc: finds edges in a picture", 'doc: "finds edges\n\t in a picture"')) == []


def test_description_of_both_forms_is_reported_and_read_as_second() -> None:
    text = replace_line(FORM_2, "doc: left}", "doc: left, connections: [{dfn: NoDfn, port: noPort}]}")
    description, issues = read(text)
    assert [issue.kind for issue in issues] == ["mixed_forms"]
    assert (description.form, len(description.chains[0].connections)) == (2, 6)


def test_connected_but_unlisted_dfn_is_reported_and_kept() -> None:
    text = replace_line(FORM_1, ", {name: StereoReconstruction}", "")
    description, issues = read(text)
    assert [(issue.row, issue.kind) for issue in issues] == [(7, "unlisted_dfn")]
    assert [(step.id, step.is_listed) for step in description.chains[0].steps] == [
        ("ImageFiltering", True),
        ("StereoReconstruction", False),
    ]


def test_connection_to_unknown_dfn_is_reported_and_dropped() -> None:
    text = replace_line(FORM_1, "{dfn: ImageFiltering, port: image}", "{dfn: NoDfn, port: noPort}")
    description, issues = read(text)
    assert [issue.kind for issue in issues] == ["no_connection", "unconnected_port"]
    assert len(description.chains[0].connections) == 1


def test_duplicate_connection_is_reported() -> None:
    line = "      - {dfpc_input: leftImage, dfn_id: undistort, port: image}\n"
    text = replace_line(FORM_2, line, line + line)
    assert issues_of(text) == [(line_of(text, line.strip()) + 1, "leftImage is connected to undistort.image 2 times")]


def test_own_dfns_join_catalogue() -> None:
    own, _ = read(DFN)
    text = replace_line(FORM_1, "name: ImageFiltering}", "name: EdgeFinder}", "dfn: ImageFiltering", "dfn: EdgeFinder")
    description, issues = read(text)
    assert [issue.kind for issue in issues] == ["unknown_dfn"]
    defects: list[Defect] = []
    check_description(FAULTY, description, with_own(published_catalogue(), [own]), report=defects.append)
    assert defects == []


def test_catalogue_is_complete() -> None:
    dfns = published_catalogue().dfns
    assert len(dfns) == 39
    assert dfns["Registration3D"].implementations == ("Icp3D", "IcpCC", "IcpMatcher")
    assert dict(dfns["StereoReconstruction"].inputs) == {"left": "Frame", "right": "Frame"}
    assert all(dfn.inputs and dfn.outputs and dfn.implementations for dfn in dfns.values())
    assert set(published_catalogue().aliases.values()) <= dfns.keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a description, got an empty file"),
        ("5", "expected a description with name, doc and ports, got '5'"),
        ("- 1", "got a list"),
        ("name: x\ndoc: y\n", "expected a description with name, doc and ports, got a map"),
        ("name: x\ndoc: [", r"faulty.yaml:2: expected YAML: "),
        ("name: x\n\tdoc: {[", r"faulty.yaml:2: expected YAML: "),
        ("[" * 5000, "nested too deep"),
        ("{a: " * 300, "nested too deep"),
        ("name: a\n---\n\tb: " + "[" * 300, "nested too deep"),
        ("0: &a0 [x]\n" + "".join(f"{i}: &a{i} [{f'*a{i - 1}, ' * 40}]\n" for i in range(1, 9)), "by aliases"),
        ("name: \x00", "expected YAML"),
    ],
)  # fmt: skip
def test_file_without_description_raises_clear_error(text: str, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        read(text)


def test_value_of_wrong_type_is_reported_and_rest_is_read() -> None:
    text = "name: x\ndoc: y\nimplementations:\n- name: z\n  dfns:\n"
    text += "  - {dfn_id: a, name: b, parameters: {g: {when: !!float then}}}\n"
    description, defects = read(text)
    assert [step.id for step in description.chains[0].steps] == ["a"]
    assert ("wrong_form", 6) in [(defect.kind, defect.row) for defect in defects]


def test_types_of_infuse_are_forbidden_at_ports_of_chains_but_not_of_dfns() -> None:
    text = replace_line(FORM_2, "asn1SccFrame", "asn1SccVisualPointFeatureVector2D")
    row = line_of(text, "VisualPointFeatureVector2D")
    message = "is VisualPointFeatureVector2D, a type of InFuse, which does not leave a DFPC"
    assert [issue for issue in issues_of(text) if issue[0] == row and issue[1].endswith(message)]
    assert issues_of(replace_line(DFN, "asn1SccFrame", "asn1SccVisualPointFeatureVector2D")) == []


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("asn1SccPointsSequence", ": did you mean PointSequence?"),
        ("unknown", ""),
        ("asn1SccFrane", ": did you mean Frame?"),
    ],
)
def test_unknown_type_of_a_port_is_reported_with_the_nearest(written: str, hint: str) -> None:
    text = replace_line(DFN, "asn1SccFrame", written)
    assert [message.partition(" has ")[2] for _, message in issues_of(text)] == [f"the unknown type {written}{hint}"]


@pytest.mark.parametrize(
    "written", ["asn1SccT_Double", "float64", "asn1SccT-UInt64", "/base/samples/frame/Frame", "bool"]
)
def test_known_type_in_any_spelling_is_not_reported(written: str) -> None:
    assert issues_of(replace_line(DFN, "asn1SccFrame", written)) == []
