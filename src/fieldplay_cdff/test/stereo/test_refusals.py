"""Refusals name the parameter that would help, where one would."""

import pytest

from fieldplay_cdff.stereo.refusals import Reason, few_matches


@pytest.mark.parametrize(("count", "parameter", "value"), [(0, "", None), (5, "", None), (6, "Group.Minimum", 6.0)])
def test_too_few_matches_for_any_pose_name_no_parameter(count: int, parameter: str, value: float | None) -> None:
    refusal = few_matches(count, "Group.Minimum")
    assert (refusal.reason, refusal.parameter, refusal.value) == (Reason.FEW_MATCHES, parameter, value)
