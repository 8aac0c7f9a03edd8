"""What is measured in an archive about what its papers leave open: reported where a parameter does not fit."""

from dataclasses import dataclass

from fieldplay.core.errors import Defect
from fieldplay.datasets.archive import Archive


@dataclass(frozen=True)
class Measurement:
    """What was measured, and the value of a parameter that it speaks for, if it speaks for one; None fits none."""

    text: str
    parameter: str = ""
    fits: str | float | None = None


def report_measurement(archive: Archive, measurement: Measurement, file: str) -> None:
    """Note a measurement; a defect of a file where its parameter is set to another value than the one that fits."""
    archive.notes.append(f"measured: {measurement.text}")
    if measurement.parameter == "":
        return
    chosen = archive.parameters.get(measurement.parameter)
    if measurement.fits is None or chosen != measurement.fits:
        cure = f"; {measurement.parameter}={chosen} does not fit"
        if measurement.fits is not None:
            cure += f", --set {measurement.parameter}={measurement.fits} would"
        archive.defects(Defect(file=file, kind="unit_mismatch", message=measurement.text + cure))
