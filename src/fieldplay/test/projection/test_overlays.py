"""Which scan a picture gets, and when it gets it."""

from fieldplay.projection.overlays import GRACE_S, MAX_WAITING, ImageAndScan, NearestPairs

MS = 1_000_000


def pairs() -> NearestPairs[str, str]:
    return NearestPairs(100 * MS)


def test_image_waits_until_no_scan_can_be_nearer() -> None:
    waiting = pairs()
    waiting.add_scan(0, "before")
    waiting.add_image(40 * MS, "picture")
    assert waiting.first() is None
    waiting.add_scan(50 * MS, "after")
    assert waiting.first() == ImageAndScan("picture", "after")
    waiting.drop_first()
    assert waiting.first() is None


def test_earlier_scan_may_be_nearest() -> None:
    waiting = pairs()
    for stamp_ns, name in ((0, "old"), (30 * MS, "near"), (90 * MS, "far")):
        waiting.add_scan(stamp_ns, name)
    waiting.add_image(40 * MS, "picture")
    assert waiting.first() == ImageAndScan("picture", "near")


def test_image_without_near_scan_has_no_pair() -> None:
    waiting = pairs()
    waiting.add_scan(0, "old")
    waiting.add_scan(400 * MS, "late")
    waiting.add_image(200 * MS, "picture")
    assert waiting.first() == ImageAndScan("picture", None)


def test_image_is_not_held_for_missing_scans() -> None:
    now_s = [0.0]
    waiting: NearestPairs[str, str] = NearestPairs(100 * MS, lambda: now_s[0])
    waiting.add_scan(0, "last")
    waiting.add_image(10 * MS, "picture")
    waiting.add_image(105 * MS, "next")
    now_s[0] = 10.0
    assert waiting.first() is None
    waiting.add_image(115 * MS, "later")
    assert waiting.first() is None
    now_s[0] += GRACE_S + 0.1
    assert waiting.first() == ImageAndScan("picture", "last")


def test_scan_that_arrives_after_a_later_image_is_still_paired() -> None:
    waiting = pairs()
    waiting.add_image(0, "picture")
    waiting.add_image(200 * MS, "next")
    assert waiting.first() is None
    waiting.add_scan(10 * MS, "near")
    assert waiting.first() == ImageAndScan("picture", "near")


def test_image_that_arrives_before_the_scans_after_a_jump_back_waits_for_them() -> None:
    waiting = pairs()
    waiting.add_scan(900 * MS, "before the jump")
    waiting.add_image(890 * MS, "before the jump")
    waiting.drop_first()
    waiting.add_image(0, "picture")
    assert waiting.first() is None
    waiting.add_scan(10 * MS, "near")
    assert waiting.first() == ImageAndScan("picture", "near")


def test_burst_of_images_drops_oldest() -> None:
    waiting = pairs()
    for number in range(20):
        waiting.add_image(number * MS, f"picture {number}")
    assert waiting.is_backlogged
    assert waiting.first() == ImageAndScan(f"picture {20 - MAX_WAITING}", None)


def test_backward_time_resets_pairing() -> None:
    waiting = pairs()
    waiting.add_scan(900 * MS, "of the round before")
    waiting.add_image(910 * MS, "of the round before")
    waiting.add_scan(0, "new")
    waiting.add_image(5 * MS, "picture")
    waiting.add_scan(100 * MS, "next")
    assert waiting.first() == ImageAndScan("picture", "new")
