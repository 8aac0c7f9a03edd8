"""Names of joints in a log as those of a model."""

import pytest

from fieldplay.kinematics.joint_transforms import rename_joints, renaming_from_text


def test_names_without_pair_stay() -> None:
    assert rename_joints(["alpha_front_left", "arm_joint_1"], renaming_from_text("")) == [
        "alpha_front_left",
        "arm_joint_1",
    ]


def test_first_matching_pair_renames_complete_names() -> None:
    renaming = renaming_from_text(
        r"a_fl=alpha_front_left (\w+)_fl=\1_front_left  (?P<name>\w+)_FR=\g<name>_front_right"
    )
    assert rename_joints(["a_fl", "beta_fl", "xa_fl_2", "phi_FR"], renaming) == [
        "alpha_front_left", "beta_front_left", "xa_fl_2", "phi_front_right",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["alpha", "=alpha", "alpha=", "(=alpha", r"alpha=\1", r"alpha=\g<name>"])
def test_invalid_pair_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="joint_names") as raised:
        renaming_from_text(f"beta=gamma {text}")
    assert f"'{text}'" in str(raised.value)
