"""The times of an IDA archive: the lander's clock, the sols that are covered, and the labels' own UTC."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

import numpy as np

from fieldplay_archive.archive import Archive
from fieldplay_archive.formats.spacecraft_clock import LocalMeanTime, SpacecraftClock, clock_from_rows
from fieldplay_archive.readers.ida.products import Product, reading_ns
from fieldplay_archive.spec import DatasetSpec
from fieldplay_messages.errors import Defect
from fieldplay_messages.stamps import NS_PER_S
from fieldplay_messages.streams import Stream

LABEL_S = 0.5  # by how much a label's UTC may differ from ours: the kernels of its day may have been others
SHOWN = 12


def clock_of(spec: DatasetSpec) -> SpacecraftClock:
    """The lander's clock by the readings of the dataset's description."""
    return clock_from_rows(spec.constants["sclk"], epoch_unix_s=str(spec.constants["sclk_epoch_unix_s"]))


def local_time_of(spec: DatasetSpec) -> LocalMeanTime:
    """The mean time of the landing site."""
    told = spec.constants["local_mean_time"]
    return LocalMeanTime(day_zero_unix_s=float(told["sol_zero_unix_s"]), day_s=float(told["sol_s"]))


def note_times(archive: Archive, streams: Mapping[str, Stream], clock: SpacecraftClock) -> None:
    """Say which sols are covered, from when to when, and where the table of the clock's readings ends."""
    spans = [span for stream in streams.values() for span in stream.spans]
    if not spans:
        return
    local = local_time_of(archive.spec)
    first_ns, last_ns = min(span.first_ns for span in spans), max(span.last_ns for span in spans)
    sols = sorted({int(np.floor(local.days(ns))) for span in spans for ns in (span.first_ns, span.last_ns)})
    shown = ", ".join(map(str, sols[:SHOWN])) + (f", ... {sols[-1]}" if len(sols) > SHOWN else "")
    archive.notes.append(f"sols with data: {len(sols)} ({shown})")
    ends = f"from sol {local.text(first_ns)} to sol {local.text(last_ns)}"
    archive.notes.append(f"local mean time: {ends}, which is {_utc(first_ns)} to {_utc(last_ns)}")
    if last_ns > int(clock.unix_ns[-1]):
        beyond = f"{(last_ns - int(clock.unix_ns[-1])) / NS_PER_S / 86400:.1f} days"
        archive.notes.append(
            f"times up to {beyond} after the last known reading of the lander's clock are extrapolated"
        )
    if first_ns < int(clock.unix_ns[0]):
        archive.notes.append("times before the first known reading of the lander's clock are extrapolated backward")


def _utc(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns // NS_PER_S, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def check_label_times(archive: Archive, products: Sequence[Product], clock: SpacecraftClock) -> None:
    """Compare the labels' UTC with that of their own readings of the clock."""
    largest_s, compared = 0.0, 0
    for product in products:
        texts = {} if product.label is None else product.label.texts
        for utc_tag, tag in (
            ("start_date_time", "spacecraft_clock_start"),
            ("stop_date_time", "spacecraft_clock_stop"),
        ):
            said_ns, reading = _ns_from_utc(texts.get(utc_tag, "")), reading_ns(texts.get(tag, ""))
            if said_ns is None or reading is None:
                continue
            own_ns = int(clock.unix_ns_from_reading(np.array([reading], np.int64))[0])
            apart_s = abs(said_ns - own_ns) / NS_PER_S
            largest_s, compared = max(largest_s, apart_s), compared + 1
            if apart_s > LABEL_S:
                message = f"{utc_tag}: expected {_utc(own_ns)} of the clock at {texts[tag]}, got {texts[utc_tag]}"
                archive.defects(Defect(file=product.label_file, kind="label_mismatch", message=message))
    if compared:
        archive.notes.append(f"measured: the labels' UTC and that of their clock differ by {largest_s:.3f} s at most")


def _ns_from_utc(text: str) -> int | None:
    """Nanoseconds since 1970 of a text such as 2019-06-29T13:56:40.702Z, None where it is none."""
    whole, _, fraction = text.strip().removesuffix("Z").partition(".")
    try:
        seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return int(seconds.timestamp()) * NS_PER_S + int(fraction.ljust(9, "0")[:9])
    except ValueError:
        return None
