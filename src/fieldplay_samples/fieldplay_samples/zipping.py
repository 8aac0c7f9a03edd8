"""A folder as a zip: always the same bytes for the same files."""

import zipfile
from pathlib import Path

from fieldplay_samples.records import files_of

STORED = (".jpg", ".png", ".mp4")  # compressed as they are
MOMENT = (2022, 7, 4, 10, 0, 0)
READABLE = 0o644 << 16
FAST = 1


def zip_folder(folder: Path, target: Path, *, inside: str) -> None:
    """Write all files below a folder into a zip, in a folder named `inside`."""
    with zipfile.ZipFile(target, "w", allowZip64=True) as archive:
        for name in files_of(folder):
            entry = zipfile.ZipInfo(f"{inside}/{name}", MOMENT)
            entry.external_attr = READABLE
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(STORED) else zipfile.ZIP_DEFLATED
            archive.writestr(entry, (folder / name).read_bytes(), compresslevel=FAST)
