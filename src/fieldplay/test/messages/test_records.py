import numpy as np
import pytest

from fieldplay.messages.records import Imu, Joints

STAMPS = np.arange(4, dtype=np.int64)


def test_columns_of_matching_shape_make_a_record() -> None:
    record = Imu(stamp_ns=STAMPS, angular_velocity_rad_s=np.zeros((4, 3)), linear_acceleration_m_s2=np.ones((4, 3)))
    assert len(record) == 4
    assert record.orientation_xyzw is None


@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (4,), (4, 3, 1)])
def test_column_of_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"Imu\.angular_velocity_rad_s: expected shape \(4"):
        Imu(stamp_ns=STAMPS, angular_velocity_rad_s=np.zeros(shape), linear_acceleration_m_s2=np.ones((4, 3)))


def test_joint_columns_must_match_names() -> None:
    Joints(stamp_ns=STAMPS, names=("a", "b"), position=np.zeros((4, 2)), velocity=np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"Joints\.velocity: expected shape \(4, 2\), got \(4, 3\)"):
        Joints(stamp_ns=STAMPS, names=("a", "b"), position=np.zeros((4, 2)), velocity=np.zeros((4, 3)))


def test_record_rows_can_be_selected() -> None:
    record = Joints(stamp_ns=STAMPS, names=("a", "b"), position=np.arange(8.0).reshape(4, 2))
    chosen = record.only(np.array([True, False, False, True]))
    assert (chosen.names, chosen.stamp_ns.tolist(), chosen.velocity) == (("a", "b"), [0, 3], None)
    assert chosen.position is not None and chosen.position.tolist() == [[0, 1], [6, 7]]
