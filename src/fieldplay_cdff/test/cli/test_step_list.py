"""`fuse --list --steps`: every DFN, who does it, and what can be set, equal to what steps are made with."""

import json

import pytest
import yaml

from fieldplay.cli.main import main
from fieldplay_cdff.cli.step_list import step_dicts
from fieldplay_cdff.descriptors.model import FILE
from fieldplay_cdff.steps.step import step_of


def test_all_published_dfns_are_listed_with_their_implementations() -> None:
    published = yaml.safe_load(FILE.read_text())["dfns"]
    listed = {each["name"]: each for each in step_dicts() if each["published"]}
    assert list(listed) == list(published) and len(listed) == 39
    for name, own in published.items():
        assert listed[name]["inputs"] == own["in"] and listed[name]["outputs"] == own["out"]
        shown = [each["name"] for each in listed[name]["implementations"]]
        assert set(shown) <= set(own["by"]) and shown
    missing = [each["name"] for own in listed.values() for each in own["implementations"] if not each["available"]]
    assert "Linemod" in missing and "StereoMotionEstimationEdres" in missing and "Ransac3D" not in missing


def test_defaults_are_those_that_a_step_is_made_with() -> None:
    for dfn in step_dicts():
        for each in dfn["implementations"]:
            if each["available"] and not step_of(dfn["name"], each["name"]).files and each["name"] != "IcpMatcher":
                settings = step_of(dfn["name"], each["name"])().settings
                shown = {group: {name: own["default"] for name, own in groups.items() if own["default"] != "auto"}
                         for group, groups in each["parameters"].items()}  # fmt: skip
                made = {group: {name: own for name, own in groups.items() if own is not None}
                        for group, groups in settings.items()}  # fmt: skip
                assert shown == made, each["name"]


def test_text_and_json_have_limits_and_stand_ins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "--list", "--steps"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "    FpfhDescriptor3D, stands in for ShotDescriptor3D" in lines
    assert "    DisparityImageEdres (not there)" in lines
    assert "        GeneralParameters: KernelSize=5 (above 0)" in lines
    assert lines[-1].startswith("39 published DFNs, ")
    assert main(["fuse", "--list", "--steps", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    (descriptor,) = [each for each in content if each["name"] == "FeaturesDescription3D"]
    (fpfh,) = [each for each in descriptor["implementations"] if each["name"] == "FpfhDescriptor3D"]
    assert fpfh["stands_in_for"] == ["ShotDescriptor3D"]
    assert fpfh["parameters"]["GeneralParameters"]["SearchRadius"] == {"default": 0.01, "above": 0}


def test_steps_without_list_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["fuse", "--steps"])
    assert end.value.code == 2 and "--steps belongs to --list" in capsys.readouterr().err
