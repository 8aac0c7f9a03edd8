"""Descriptions of processing: each name in one stands in its text, and what is wrong is told with its line."""

import random
import re

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import LINES, YAML_PARTS, changed, with_parts
from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.core.resources import config_folders
from fieldplay_cdff.descriptors.description_checks import check_description
from fieldplay_cdff.descriptors.description_reader import description_of_text
from fieldplay_cdff.descriptors.model import known_catalogue

BREAKS = re.compile("[\n\r\x85\u2028\u2029]")
NAMES = ("ElevationMapping", "HapticScanning", "MapLocalisation")  # small ones: PyYAML is slow


class Descriptions(Inputs):
    """See above."""

    suffix = "yaml"

    def __init__(self) -> None:
        folder = list(config_folders())[-1] / "dfpc"
        self._texts = [(folder / f"{name}.yaml").read_bytes() for name in NAMES]
        self._known = known_catalogue()

    def mutated(self, draw: random.Random) -> bytes:
        text = draw.choice(self._texts)
        return with_parts(draw, text, YAML_PARTS) if draw.random() < 0.5 else changed(draw, text, LINES)

    def look(self, data: bytes) -> Found:
        defects: list[Defect] = []
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ArchiveError("no text") from None
        description = description_of_text("a.yaml", text, defects.append)
        check_description("a.yaml", description, self._known, report=defects.append)
        plain = "".join(text.split())
        names = [step.id for chain in description.chains for step in chain.steps]
        names += [port.name for port in (*description.inputs, *description.outputs)]
        strange = [name for name in names if "".join(name.split()) not in plain and "\\" not in text]
        if strange:
            raise WrongError(f"names that the text does not hold: {strange}")
        lines = (
            text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + text.count("\u2029") + 2
        )
        beyond = [defect for defect in defects if defect.row is not None and not 0 <= defect.row <= lines]
        if beyond:
            raise WrongError(f"a line that is not there: {beyond[0]}")
        return Found("told" if defects else "read", (repr(description), tuple(map(str, defects))))
