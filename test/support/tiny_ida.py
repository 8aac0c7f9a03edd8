"""A small archive of InSight's arm with known numbers, as the specification lays it out, written by hand here.

Nothing in it comes from the code under test.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

START_S = 615088547  # sol 209
READING = (Decimal(611332967), Decimal("611333084.068"), Decimal("1.0000015492418"))  # the clock's last one before
NAME = "A{apid:04d}_0209_{start}_{start}_190629192905_{product}"
FIELDS = [
    "time(s)",
    "elapsed_time(hr)",
    "enc1(rad)",
    "enc2(rad)",
    "enc3(rad)",
    "enc4(rad)",
    "pot1(rad)",
    "pot2(rad)",
    "pot3(rad)",
    "pot4(rad)",
    "tcase1(degC)",
    "tcase2(degC)",
    "tcase3(degC)",
    "tcase4(degC)",
    "trotor1(degC)",
    "trotor2(degC)",
    "trotor3(degC)",
    "trotor4(degC)",
    "tgrapple(degC)",
    "cur1(mA)",
    "cur2(mA)",
    "cur3(mA)",
    "cur4(mA)",
    "volt1(V)",
    "volt2(V)",
    "volt3(V)",
    "volt4(V)",
    "stat(none)",
    "tool(none)",
    "x_enc(m)",
    "y_enc(m)",
    "z_enc(m)",
    "th_enc(m)",
    "x_pot(m)",
    "y_pot(m)",
    "z_pot(m)",
    "th_pot(m)",
    "x_enc_defl(m)",
    "y_enc_defl(m)",
    "z_enc_defl(m)",
    "th_enc_defl(m)",
    "x_pot_defl(m)",
    "y_pot_defl(m)",
    "z_pot_defl(m)",
    "th_pot_defl(m)",
    "v1(rad/s)",
    "v2(rad/s)",
    "v3(rad/s)",
    "v4(rad/s)",
    "tau1(N-m)",
    "tau2(N-m)",
    "tau3(N-m)",
    "tau4(N-m)",
    "Fr(N)",
    "Ft(N)",
    "Fz(N)",
    "htr_cur(mA)",
    "grapple_phase(none)",
]
COLUMNS = [name.split("(")[0] for name in FIELDS]
HEADER_BYTES = 678
SECONDS_PER_ROW = 0.1
SMALL = ("x_", "y_", "z_", "v1", "v2", "v3", "v4")  # how columns begin whose numbers are a hundredth of the others'

Row = dict[str, str]


def utc_ns(reading_s: str) -> int:
    """UTC of a reading of the clock in 2019, by the formula of the facts."""
    reading, time, rate = READING
    seconds = Decimal(946728000) + time + (Decimal(reading_s) - reading) * rate - Decimal("69.184")
    return int((seconds * 10**9).to_integral_value())


def cells(index: int) -> Row:
    """A row by its columns; the numbers tell column and row."""
    row = {name: f"{position + index / 1000:.4f}" for position, name in enumerate(COLUMNS)}
    row |= {name: f"{position / 100 + index / 1e6:.6f}" for position, name in enumerate(COLUMNS) if name[:2] in SMALL}
    angles = {joint: 0.1 * joint + 0.001 * (index % 1000) for joint in (1, 2, 3, 4)}
    row |= {f"enc{joint}": f"{angle:.4f}" for joint, angle in angles.items()}
    row |= {f"pot{joint}": f"{angle + 0.0005:.4f}" for joint, angle in angles.items()}
    row |= {f"th_{kind}": "0.9740" for kind in ("enc", "pot", "enc_defl", "pot_defl")}
    row["time"] = f"{START_S + index * SECONDS_PER_ROW:.1f}"
    row["elapsed_time"] = f"{index * SECONDS_PER_ROW / 3600:.7f}"
    row |= {"stat": str(0x0F001 if index % 20 < 10 else 0x0E111), "tool": "2" if index < 15 else "5"}
    row |= {"grapple_phase": "2" if index < 25 else "3", "htr_cur": "0.0015"}
    if index % 5 == 4:
        row |= {"Fr": "-99999.0000", "Ft": "-99999.0000", "Fz": "-99999"}
    return row


def same(row: Row) -> Row:
    return row


@dataclass
class Motion:
    """One *_eu.csv with its label; what is set here goes into both, or into the label alone."""

    apid: int = 87
    start_s: int = START_S
    indices: Iterable[int] = range(30)
    change: Callable[[Row], Row] = same
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    header: str | None = None
    end: str = "\r\n"
    label: dict[str, str] = field(default_factory=dict)  # texts of the label by what stands in their place

    @property
    def stem(self) -> str:
        return NAME.format(apid=self.apid, start=self.start_s, product="eu")

    def heading(self) -> str:
        titles = {name: title for name, title in zip(COLUMNS, FIELDS, strict=True)}
        text = "#" + ",".join(titles[name] for name in self.columns) if self.header is None else self.header
        return text.ljust(HEADER_BYTES - len(self.end)) + self.end if text else ""

    def csv(self) -> bytes:
        rows = [self.change(cells(index)) for index in self.indices]
        lines = [",".join(row[name] for name in self.columns) + self.end for row in rows]
        return (self.heading() + "".join(lines)).encode("latin-1")

    def xml(self) -> bytes:
        text = label(self.stem, header=len(self.heading()), records=len(list(self.indices)), columns=self.columns)
        start = datetime.fromtimestamp(utc_ns(str(self.start_s)) // 10**6 / 1000, timezone.utc)
        text = text.replace("@SCLK@", str(self.start_s)).replace("@UTC@", start.isoformat(timespec="milliseconds")[:23])
        for old, new in self.label.items():
            assert old in text, old
            text = text.replace(old, new)
        return text.encode("utf-8")


def label(stem: str, *, header: int, records: int, columns: list[str]) -> str:
    """The label of an *_eu.csv as the specification prints it, shortened."""
    named = "".join(field_of_label(number, name) for number, name in enumerate(columns, start=1))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1" xmlns:msn="http://pds.nasa.gov/pds4/msn/v1">
  <Identification_Area>
    <logical_identifier>urn:nasa:pds:insight_ida:data_raw_calibrated:{stem.lower()}</logical_identifier>
    <version_id>1.0</version_id>
  </Identification_Area>
  <Observation_Area>
    <Time_Coordinates>
      <start_date_time>@UTC@Z</start_date_time>
      <stop_date_time>@UTC@Z</stop_date_time>
    </Time_Coordinates>
    <Mission_Area>
      <msn:Mission_Information>
        <msn:product_type_name>IDA SciHi</msn:product_type_name>
        <msn:spacecraft_clock_start>@SCLK@</msn:spacecraft_clock_start>
        <msn:spacecraft_clock_stop>@SCLK@</msn:spacecraft_clock_stop>
        <msn:Surface_Mission><msn:start_sol_number>209</msn:start_sol_number></msn:Surface_Mission>
      </msn:Mission_Information>
    </Mission_Area>
  </Observation_Area>
  <File_Area_Observational>
    <File><file_name>{stem}.csv</file_name></File>
    <Header><offset unit="byte">0</offset><object_length unit="byte">{header}</object_length></Header>
    <Table_Delimited>
      <offset unit="byte">{header}</offset>
      <parsing_standard_id>PDS DSV 1</parsing_standard_id>
      <records>{records}</records>
      <record_delimiter>Carriage-Return Line-Feed</record_delimiter>
      <field_delimiter>Comma</field_delimiter>
      <Record_Delimited>
        <fields>{len(columns)}</fields>
        <groups>0</groups>{named}
      </Record_Delimited>
    </Table_Delimited>
  </File_Area_Observational>
</Product_Observational>
"""


def field_of_label(number: int, name: str) -> str:
    special = "<Special_Constants><invalid_constant>-99999.0000</invalid_constant></Special_Constants>"
    return f"""
        <Field_Delimited><name>{name}</name><field_number>{number}</field_number><data_type>ASCII_Real</data_type>
          {special if name in ("Fr", "Ft", "Fz") else ""}</Field_Delimited>"""


def arm_status(time_s: str, *, over_current: str = "0 0 0 0") -> str:
    """A block of ra_status."""
    return f"""ra_status.ace.calib_OK = 1
ra_status.ace.bus30v_err = 0
ra_status.mtr.pwr_on = [ 1 0 0 0 ]
ra_status.mtr.over_current = [ {over_current} ]
ra_status.jnt.enc = [ -0.1 -0.32 1.01 0.134 ]
ra_status.jnt.pot = [ -0.1005 -0.3205 1.0105 0.1345 ]
ra_status.time = {time_s}
"""


def system_status(time_s: str, *, issue: str = "0 0") -> str:
    """A block of sys_status, with the via point of the specification's example."""
    return f"""sys_status.tool = 5 RA_GRAPPLE
sys_status.fault_status = [ {issue} ]
sys_status.task_args = 23 RA_SEND_DATA
sys_status.target.q = [ 0.026 -0.389 1.378 0.125 ]
sys_status.target.x = [ 0.960 0.218 -0.098 0.992 ]
sys_status.via.q = [ -0.829 -1.64 0.23 0 ]
sys_status.via.x = [ 0.210 0.036 -1.580 1.501 ]
sys_status.time = {time_s}
"""


def history(points: Iterable[int], *, latest_s: float) -> str:
    """A history of the system, from the oldest point to the latest."""
    blocks = [
        f"{point} points before latest (index = {299 - point}):\n{system_status(f'{latest_s - point:.3f}')}\n"
        for point in points
    ]
    return "".join(blocks)


PARAMETERS = """SCLK = 615000000.500
Parameter Set: RA_ARM_PARAMS
dh.a = [ 0.029609 0.976664007 0.857989013 0 ]
dh.d = [ -0.056456 -0.140837997 0 0 ]
dh.alpha = [ 1.570799947 0 0 1.570799947 ]
x_blade_1 = [ -0.01501 0 0.105240002 0 ]
x_rac = [ -0.560000002 -0.055 -0.150000006 1.570799947 ]
dist_grapple = [ 0 0 0.2993 0 ]
Parameter Set: RA_LANDER_TO_RA
frame.q = [ 1 0 0 0 ]
Parameter Set: RA_GRAVITY
gravity_params.acc_g = 3.711
gravity_params.grav_vect = [ 0.046825 -0.051123 0.997594 ]
Parameter Set: RA_TASK_ALGO
[op_code algo_code delta_via_code] = [ 11 3 3 ]
[op_code algo_code delta_via_code] = [ 18 3 3 ]
[op_code algo_code delta_via_code] = [ 22 1 2 ]
Parameter Set: RA_DEFL_LINK_3U
mass = 1.4944
cm = [ 0.481 0.031 -0.017 ]
vCf = 1.02e-7 -1.72e-26 -4.83e-8
  3.94e-28 2.52613e-4 -2.83e-24
  -4.83e-8 9.85e-27 1.019379e-3
Parameter Set: RA_THERMAL
CM_r = [ 0.2 0.2 0.2 0.2 ]
"""


@dataclass
class TinyIda:
    """A bundle: rows, states, a history, parameters and the lander's place, each in its collection."""

    root: Path

    def write_all(self) -> None:
        self.write_motion(Motion())
        self.write_text(89, "006_arm_float.txt", arm_status("615088547.25") + system_status("615088547.5"))
        self.write_text(85, "000_system_float.txt", history(range(3, -1, -1), latest_s=615088548.5))
        self.write_text(86, "012.txt", PARAMETERS, start_s=615000000)
        self.path("data_ancillary", "ida_sc_coordinates.csv").write_text(
            "x_coord(mm),y_coord(mm),z_coord(mm)\r\n-775.084,-283.360,-956.056\r\n"
        )

    def path(self, collection: str, name: str) -> Path:
        folder = self.root / collection
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def write_motion(self, motion: Motion) -> Path:
        """The rows and their label; the path of the rows."""
        path = self.path("data_raw_calibrated", f"{motion.stem}.csv")
        path.write_bytes(motion.csv())
        path.with_suffix(".xml").write_bytes(motion.xml())
        return path

    def write_text(self, apid: int, product: str, text: str, *, start_s: int = START_S) -> Path:
        path = self.path("data_ancillary", NAME.format(apid=apid, start=start_s, product=product))
        path.write_bytes(text.encode("latin-1"))
        return path
