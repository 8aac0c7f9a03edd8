"""The archive's files: motion data as a table, status and history as text, parameters, and a label beside each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from fieldplay_samples.writers.text_tables import NS_PER_S, Stamps

HEADER_BYTES = 678
JOINTS = ("1", "2", "3", "4")
POSES = ("enc", "pot", "enc_defl", "pot_defl")
RAW, ANCILLARY = "data_raw_calibrated", "data_ancillary"
LABEL = """<?xml version="1.0" encoding="UTF-8"?>
<Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1" xmlns:msn="http://pds.nasa.gov/pds4/msn/v1">
  <Identification_Area>
    <logical_identifier>urn:nasa:pds:insight_ida:{collection}:{stem}</logical_identifier>
    <version_id>1.0</version_id>
    <title>InSight IDA {kind}, synthetic</title>
  </Identification_Area>
  <Observation_Area>
    <Time_Coordinates>
      <start_date_time>{start}</start_date_time>
      <stop_date_time>{stop}</stop_date_time>
    </Time_Coordinates>
    <Mission_Area>
      <msn:Mission_Information>
        <msn:product_type_name>IDA {kind}</msn:product_type_name>
        <msn:spacecraft_clock_start>{clock_start}</msn:spacecraft_clock_start>
        <msn:spacecraft_clock_stop>{clock_stop}</msn:spacecraft_clock_stop>
        <msn:Surface_Mission>
          <msn:start_sol_number>{sol}</msn:start_sol_number>
        </msn:Surface_Mission>
      </msn:Mission_Information>
    </Mission_Area>
  </Observation_Area>
  <File_Area_Observational>
    <File>
      <file_name>{file}</file_name>
    </File>
{content}
  </File_Area_Observational>
</Product_Observational>
"""
TABLE = """    <Header>
      <offset unit="byte">0</offset>
      <object_length unit="byte">{header}</object_length>
      <parsing_standard_id>UTF-8 Text</parsing_standard_id>
    </Header>
    <Table_Delimited>
      <offset unit="byte">{header}</offset>
      <parsing_standard_id>PDS DSV 1</parsing_standard_id>
      <records>{records}</records>
      <record_delimiter>Carriage-Return Line-Feed</record_delimiter>
      <field_delimiter>Comma</field_delimiter>
      <Record_Delimited>
        <fields>{count}</fields>
        <groups>0</groups>
{fields}
      </Record_Delimited>
    </Table_Delimited>"""
FIELD = """        <Field_Delimited>
          <name>{name}</name>
          <field_number>{number}</field_number>
          <data_type>{kind}</data_type>
          <unit>{unit}</unit>{special}
        </Field_Delimited>"""
SPECIAL = """
          <Special_Constants>
            <invalid_constant>-99999.0000</invalid_constant>
          </Special_Constants>"""
STREAM = """    <Stream_Text>
      <offset unit="byte">0</offset>
      <parsing_standard_id>UTF-8 Text</parsing_standard_id>
      <record_delimiter>Carriage-Return Line-Feed</record_delimiter>
    </Stream_Text>"""


@dataclass(frozen=True, kw_only=True)
class LabelField:
    """A column of the motion data: its name, unit, and how many decimals it has; none where it is a whole number."""

    name: str
    unit: str
    decimals: int | None = 4


@dataclass(frozen=True, kw_only=True)
class WrittenProduct:
    """What the name of a file says, and its label: application, sol, spacecraft clock, unix times in ns."""

    application: int
    sol: int
    sclk: tuple[int, int]
    start_ns: int
    stop_ns: int
    kind: str

    def stem(self, ending: str) -> str:
        """The file's name without its extension."""
        tag = _utc(self.stop_ns).strftime("%y%m%d%H%M%S")
        return f"A{self.application:04d}_{self.sol:04d}_{self.sclk[0]:09d}_{self.sclk[1]:09d}_{tag}_{ending}"


def fields() -> list[LabelField]:
    """The 58 columns of the motion data in their order."""
    rows = [LabelField(name="time", unit="s"), LabelField(name="elapsed_time", unit="hr", decimals=7)]
    for name, unit in (("enc", "rad"), ("pot", "rad"), ("tcase", "degC"), ("trotor", "degC")):
        rows += [LabelField(name=name + joint, unit=unit) for joint in JOINTS]
    rows.append(LabelField(name="tgrapple", unit="degC"))
    for name, unit in (("cur", "mA"), ("volt", "V")):
        rows += [LabelField(name=name + joint, unit=unit) for joint in JOINTS]
    rows += [LabelField(name="stat", unit="none", decimals=None), LabelField(name="tool", unit="none", decimals=None)]
    rows += [LabelField(name=f"{axis}_{pose}", unit="m") for pose in POSES for axis in ("x", "y", "z", "th")]
    for name, unit in (("v", "rad/s"), ("tau", "N-m")):
        rows += [LabelField(name=name + joint, unit=unit) for joint in JOINTS]
    rows += [LabelField(name=name, unit="N") for name in ("Fr", "Ft", "Fz")]
    return [*rows, LabelField(name="htr_cur", unit="mA"), LabelField(name="grapple_phase", unit="none", decimals=None)]


def write_motion(folder: Path, product: WrittenProduct, rows: Iterable[Sequence[Any]], *, label: bool) -> None:
    """Write rows of 58 values as a table behind its heading, with its label."""
    columns = fields()
    heading = "#" + ",".join(f"{column.name}({column.unit})" for column in columns)
    row_format = ",".join("%d" if column.decimals is None else f"%.{column.decimals}f" for column in columns)
    lines = [row_format % tuple(row) for row in rows]
    text = heading.ljust(HEADER_BYTES - 2) + "\r\n" + "".join(line + "\r\n" for line in lines)
    _write(folder / RAW, product, "eu.csv", text)
    if label:
        described = (_field(number, column) for number, column in enumerate(columns, 1))
        content = TABLE.format(
            header=len(heading.ljust(HEADER_BYTES - 2)) + 2,
            records=len(lines),
            count=len(columns),
            fields="\n".join(described),
        )
        _write_label(folder / RAW, product, "eu.csv", content)


def write_text(folder: Path, product: WrittenProduct, ending: str, lines: Sequence[str], *, label: bool) -> None:
    """Write lines of text as a file of the ancillary collection, with its label."""
    _write(folder / ANCILLARY, product, ending, "".join(line + "\r\n" for line in lines))
    if label:
        _write_label(folder / ANCILLARY, product, ending, STREAM)


def write_lander_position(folder: Path, position_mm: Sequence[float]) -> None:
    """Write where the lander's own frame is, in the payload frame."""
    values = ",".join(f"{value:.3f}" for value in position_mm)
    text = f"x_coord(mm),y_coord(mm),z_coord(mm)\r\n{values}\r\n"
    (folder / ANCILLARY / "ida_sc_coordinates.csv").write_text(text, "ascii", newline="")


def setting_lines(key: str, value: Any) -> list[str]:
    """A setting as the arm's computer prints it: a number, numbers in brackets, a matrix over three lines.

    A list of lists is a table: a line for each row, all with the same key.
    """
    if not isinstance(value, list | tuple):
        return [f"{key} = {_number(value)}"]
    if value and isinstance(value[0], list | tuple):
        return [line for row in value for line in setting_lines(key, row)]
    texts = [_number(item) for item in value]
    if len(texts) != 9:
        return [f"{key} = [ {' '.join(texts)} ]"]
    rows = [" ".join(texts[first : first + 3]) for first in (0, 3, 6)]
    return [f"{key} = [ {rows[0]}", f"  {rows[1]}", f"  {rows[2]} ]"]


def sclk_at(motion: dict[str, Any], unix_ns: Stamps, start_ns: int) -> list[float]:
    """The spacecraft's clock at times (n,) after a motion's start."""
    since = (unix_ns - start_ns) / NS_PER_S / motion["clock"][2]
    return [motion["sclk"] + value for value in since.tolist()]


def _field(number: int, column: LabelField) -> str:
    kind = {"stat": "UTF8_String", "tool": "ASCII_Integer", "grapple_phase": "ASCII_Integer"}
    special = SPECIAL if column.unit == "N" else ""
    named = kind.get(column.name, "ASCII_Real")
    return FIELD.format(name=escape(column.name), number=number, kind=named, unit=escape(column.unit), special=special)


def _number(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _write(folder: Path, product: WrittenProduct, ending: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    stem, _, extension = ending.rpartition(".")
    (folder / f"{product.stem(stem)}.{extension}").write_text(text, "ascii", newline="")


def _write_label(folder: Path, product: WrittenProduct, ending: str, content: str) -> None:
    stem, _, extension = ending.rpartition(".")
    name = product.stem(stem)
    text = LABEL.format(
        collection=folder.name,
        stem=name.lower(),
        kind=product.kind,
        start=_label_time(product.start_ns),
        stop=_label_time(product.stop_ns),
        clock_start=product.sclk[0],
        clock_stop=product.sclk[1],
        sol=product.sol,
        file=f"{name}.{extension}",
        content=content,
    )
    (folder / f"{name}.xml").write_text(text, "utf-8", newline="\n")


def _utc(unix_ns: int) -> datetime:
    return datetime.fromtimestamp(unix_ns // NS_PER_S, timezone.utc)


def _label_time(unix_ns: int) -> str:
    return f"{_utc(unix_ns):%Y-%m-%dT%H:%M:%S}.{unix_ns % NS_PER_S // 1_000_000:03d}Z"
