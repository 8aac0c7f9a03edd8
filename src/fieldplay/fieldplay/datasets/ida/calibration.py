"""The arm's geometry in an archive: its parameter files (*_012.txt), and where the lander's origin lies."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError, Defect
from fieldplay.datasets.archive import Archive, ParameterUpload
from fieldplay.datasets.ida.ida_products import Product, reading_ns
from fieldplay.datasets.spec import Extrinsic
from fieldplay.io.containers import Files
from fieldplay.io.key_values import (
    NEXT_LINE,
    SHOWN,
    KeyLine,
    lines_of_text,
    plain_key,
)
from fieldplay.messages import records

SET = re.compile(r"Parameter\s*Set\s*[:=]?\s*(?P<name>\S.*?)\s*:?", re.IGNORECASE)
READING = re.compile(r"\D*?(?P<reading>(?:\d+/)?\d{9,10}(?:[.\-]\d{1,5})?)\D*")
COMMENT = re.compile(r"[#%/*=_\-\s].*|.*:")
NAMED = re.compile(r"[\[\]]")  # a key such as [op_code algo_code delta_via_code]
ENUMERATION = re.compile(r"-?\d+\s+[A-Za-z]\w*|[A-Za-z]\w*")
LINK = re.compile(r".*def1.*?1ink0*(?P<number>\d)(?P<form>.*)|.*def1.*?(?P<bare>\d)(?P<bare_form>[us].*)?")
# What the stream arm_geometry holds, in order: the set, the key, how many numbers; then the links' numbers.
NUMBERS = (
    ("RA_ARM_PARAMS", "dh.a", 4),
    ("RA_ARM_PARAMS", "dh.d", 4),
    ("RA_ARM_PARAMS", "dh.alpha", 4),
    ("RA_ARM_PARAMS", "x_blade_1", 4),
    ("RA_ARM_PARAMS", "x_blade_2", 4),
    ("RA_ARM_PARAMS", "x_scoop", 4),
    ("RA_ARM_PARAMS", "x_rac", 4),  # the camera IDC
    ("RA_ARM_PARAMS", "x_wrist", 4),
    ("RA_ARM_PARAMS", "x_grapple_attach", 4),
    ("RA_ARM_PARAMS", "dist_grapple", 1),
    ("RA_ARM_PARAMS", "dist_seis", 1),
    ("RA_ARM_PARAMS", "dist_wts", 1),
    ("RA_ARM_PARAMS", "dist_hp3", 1),
    ("RA_GRAVITY", "gravity_params.acc_g", 1),
    ("RA_GRAVITY", "gravity_params.grav_vect", 3),
    ("RA_DEFL_GENERAL", "seis_mass", 1),
    ("RA_DEFL_GENERAL", "wts_mass", 1),
    ("RA_DEFL_GENERAL", "hp3_mass", 1),
    ("RA_DEFL_GENERAL", "compliance_scale", 1),
)
# Vectors of which only the third element counts, the others are zero.
DISTANCES = frozenset(("dist_grapple", "dist_seis", "dist_wts", "dist_hp3"))
GRAVITY_GROUP = "gravity_params."
DISTANCE_SIZES, DISTANCE_PLACE = (3, 4), 2
LINK_NUMBERS = (("mass", 1), ("cm", 3), ("vCf", 9), ("wCf", 9), ("vCm", 9), ("wCm", 9))
LINKS = (("1", ""), ("2", ""), ("3", "u"), ("4", "s"))  # with the grapple unstowed and stowed: those forms are printed
ALTERNATES = (("3", "s"), ("4", "u"))  # their other forms
BASE = (("RA_LANDER_TO_RA", "frame.x", 3), ("RA_LANDER_TO_RA", "frame.q", 4))  # the arm's base in the payload frame
DECK = {  # what stands on the deck: its frame, and the keys of its quaternion (i j k r) and its translation
    name: (("PAYLOAD_COL_PARAMS", f"{name}_q", 4), ("PAYLOAD_COL_PARAMS", f"{name}_t", 3))
    for name in ("seis", "wts", "hp3")
}
QUATERNIONS = frozenset(("frame.q", *(rows[0][1] for rows in DECK.values())))
UNIT = 1e-3  # by how much the norm of a quaternion may differ from 1
COUNT = sum(count for *_, count in (*NUMBERS, *BASE)) + (len(LINKS) + len(ALTERNATES)) * sum(
    count for _, count in LINK_NUMBERS
)
LENGTHS = [0, 1, 2, 4, 5]  # a0, a1, a2, d0, d1: the lengths that the named sets differ in
ROTOR = {  # the constants of the rotors' thermal model, which are the same for all joints
    "warmth_k_per_j": "CM_r",
    "loss_w_per_k": "R_rtc",
    "no_load_a": "I_nl",
    "resistance_ohm": "R_cal",
    "resistance_at_deg_c": "T_cal",
    "resistance_per_k": "alpha",
}
JOINTS = {  # the constants of RA_JOINT_PARAMS, one for each joint
    "arm_limits": {"q_min_rad": "q_min", "q_max_rad": "q_max"},
    "encoder": {"gear_ratio": "gear_ratio", "offset_rev": "enc_offset"},
    "potentiometer": {"offset": "pot.b", "per_rad": "pot.m"},
}
PARENT, CHILD = "payload", "lander"
MAX_HEIGHT_M = 1.0
BASE_NUMBERS, IDENTITY = 7, (0, 0, 0, 1, 0, 0, 0)
M_PER_MM = 1e-3
AXES = 3
SAME_M = 5e-7

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ParameterValue:
    """A key as it is printed, its value's numbers of shape (), (n,) or (m, n), if any, its text, and its line."""

    key: str
    numbers: Floats | None
    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class ParameterFile:
    """The sets of a file, by their names and keys without what may get lost in print; when they held."""

    file: str
    reading_ns: int
    sets: Mapping[str, Mapping[str, ParameterValue]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)  # of the sets, as printed

    def value(self, set_name: str, key: str) -> ParameterValue | None:
        """The value of a key, which may lack the name of its group in front."""
        values = self.sets.get(plain_key(set_name), {})
        return values.get(plain_key(key)) or values.get(plain_key(key.removeprefix(GRAVITY_GROUP)))

    def numbers(self, set_name: str, key: str, count: int) -> Floats | None:
        """The numbers (count,) of a key, None where the file does not have them."""
        value = self.value(set_name, key)
        if value is None or value.numbers is None:
            return None
        numbers = value.numbers.reshape(-1)
        if key in DISTANCES and numbers.size in DISTANCE_SIZES:
            numbers = numbers[DISTANCE_PLACE : DISTANCE_PLACE + 1]
        if key in QUATERNIONS and abs(np.linalg.norm(numbers) - 1) > UNIT:
            return None
        return numbers if numbers.size == count else None


def read_parameter_files(archive: Archive, files: Files, products: Sequence[Product]) -> list[ParameterFile]:
    """All parameter files in the order of the clock; one that cannot be read or timed is reported."""
    parameter_files: list[ParameterFile] = []
    for product in products:
        try:
            lines = lines_of_text(files.read(product.file))
        except ArchiveError as error:
            archive.defects(Defect(file=product.file, kind="unreadable_parameters", message=str(error)))
            continue
        for row, message in _line_issues(lines):
            archive.defects(Defect(file=product.file, kind="not_a_parameter", row=row, message=message))
        _note_end(archive, product.file, lines)
        sets, start_ns = sets_of_lines(lines), _reading_ns(lines, product)
        if not sets or start_ns is None:
            missing = "sets of parameters" if not sets else "a time in the name, the label or the first lines"
            message = f"expected {missing}, got none"
            archive.defects(Defect(file=product.file, kind="unreadable_parameters", message=message))
            continue
        titles = {plain_key(name): name for line in lines if (name := _set_name(line))}
        parameter_files.append(ParameterFile(file=product.file, reading_ns=start_ns, sets=sets, titles=titles))
    return sorted(parameter_files, key=lambda file: file.reading_ns)


def sets_of_lines(lines: Sequence[KeyLine]) -> dict[str, dict[str, ParameterValue]]:
    """The sets by their plain names; of two of one name, and of two entries of one key, the later counts.

    A key in brackets names the columns of a table, whose rows are lines with the same key: they become one matrix.
    """
    sets: dict[str, dict[str, ParameterValue]] = {}
    current: dict[str, ParameterValue] | None = None
    for line in lines:
        heading = _set_name(line)
        if heading:
            current = sets.setdefault(plain_key(heading), {})
        elif line.key and current is not None:
            value = ParameterValue(key=line.key, numbers=line.numbers, text=line.value, line=line.number)
            key = plain_key(line.key)
            current[key] = _stack_rows(current[key], value) if key in current and NAMED.search(line.key) else value
    return sets


def _stack_rows(rows: ParameterValue, row: ParameterValue) -> ParameterValue:
    """Stack rows of a table `[a b c] = [ 1 2 3 ]`, one line each, into a matrix; of unequal rows the last stays."""
    if rows.numbers is None or row.numbers is None or rows.numbers.shape[-1:] != row.numbers.shape:
        return row
    text = f"{rows.text}{NEXT_LINE}{row.text}"
    return ParameterValue(key=rows.key, numbers=np.vstack([rows.numbers, row.numbers]), text=text, line=rows.line)


def _set_name(line: KeyLine) -> str:
    match = line.matches(SET)
    return match["name"] if match else ""


def _reading_ns(lines: Sequence[KeyLine], product: Product) -> int | None:
    """When the parameters held: by a reading of the clock above the first set, else by the name or the label."""
    for line in lines:
        if _set_name(line):
            break
        match = line.matches(READING)
        if match and "." in match["reading"]:
            whole, fraction = match["reading"].split(".")
            return (reading_ns(whole) or 0) + int(fraction.ljust(9, "0"))
        if match:
            return reading_ns(match["reading"])
    return product.start_ns


def _line_issues(lines: Sequence[KeyLine]) -> Iterator[tuple[int, str]]:
    """Report unknown lines, and values that are neither numbers nor a name."""
    started = False
    for line in lines:
        started = started or bool(_set_name(line))
        if not started or _set_name(line):
            continue
        if not line.key and not line.matches(COMMENT):
            yield line.number, f"expected 'key = value' or a set, got '{line.shown}'"
        elif line.is_open:
            what = "the end of the file; it is not used" if line.is_cut else "none; its numbers count"
            yield line.number, f"{line.key}: expected ']' behind '{line.shown_end}', got {what}"
        elif line.key and line.numbers is None and not ENUMERATION.fullmatch(line.value):
            yield line.number, f"expected numbers or a name as the value, got '{line.shown}'"


def _note_end(archive: Archive, file: str, lines: Sequence[KeyLine]) -> None:
    """Say where the last value has neither a bracket nor a line end behind it: it may be incomplete."""
    last = lines[-1] if lines else None
    if last is not None and last.key and not (last.is_ended or last.value.endswith("]")):
        text = "the file ends in it without a line end, it may be cut; it is used"
        archive.notes.append(f"{file}: line {last.number}, '{last.shown}': {text}")


def newest_before(files: Sequence[ParameterFile], stamp_ns: Sequence[int], first_ns: int) -> ParameterFile | None:
    """The last of the files, at their times, that held at a time."""
    before = [file for file, stamp in zip(files, stamp_ns, strict=True) if stamp <= first_ns]
    return before[-1] if before else None


def geometry_of_file(file: ParameterFile | None) -> Floats:
    """The numbers (295,) of the stream arm_geometry; NaN where the file does not say."""
    if file is None:
        return np.full(COUNT, np.nan)
    parts = [_or_nan(file.numbers(*requested), requested[2]) for requested in NUMBERS]
    base = [_or_nan(file.numbers(*requested), requested[2]) for requested in BASE]
    return np.concatenate([*parts, *_links(file, LINKS), *_links(file, ALTERNATES), *base])


def _or_nan(numbers: Floats | None, count: int) -> Floats:
    return np.full(count, np.nan) if numbers is None else numbers


def _links(file: ParameterFile, links: Sequence[tuple[str, str]]) -> Iterator[Floats]:
    """Masses, centres and compliance, each of these links."""
    sets = [_set_of_link(file, *link) for link in links]
    for key, count in LINK_NUMBERS:
        for values in sets:
            yield _or_nan(_of_link(values, key, count), count)


def _set_of_link(file: ParameterFile, number: str, form: str) -> Mapping[str, ParameterValue]:
    """The set of one link in one form of the arm, whatever it is called in full."""
    for name, values in file.sets.items():
        link = LINK.fullmatch(name)
        if link and (link["number"] or link["bare"]) == number:
            got = link["form"] or link["bare_form"] or ""
            if not form or (not got and (number, form) in LINKS) or (got and got.startswith(form)):
                return values
    return {}


def _of_link(values: Mapping[str, ParameterValue], key: str, count: int) -> Floats | None:
    """The numbers (count,) of a key, or of three keys that end in x, y, z."""
    axes = [values.get(plain_key(f"{key}_{axis}")) for axis in "xyz"] if count == len("xyz") else []
    for entries in ([values.get(plain_key(key))], axes):
        parts = [part.numbers.reshape(-1) for part in entries if part is not None and part.numbers is not None]
        numbers = np.concatenate([np.zeros(0), *parts])
        if len(numbers) == count:
            return numbers
    return None


def uploads_of_files(files: Sequence[ParameterFile], stamp_ns: Sequence[int]) -> list[ParameterUpload]:
    """All sets of all files, as printed; a name that a later file spells otherwise has its first spelling."""
    titles: dict[str, str] = {}
    keys: dict[tuple[str, str], str] = {}
    uploads = []
    for file, stamp in zip(files, stamp_ns, strict=True):
        sets: dict[str, dict[str, str]] = {}
        for plain, values in file.sets.items():
            shown = sets.setdefault(titles.setdefault(plain, file.titles.get(plain, plain)), {})
            for key, value in values.items():
                shown[keys.setdefault((plain, key), value.key)] = " ".join(value.text.replace(NEXT_LINE, " ").split())
        uploads.append(ParameterUpload(file=file.file, stamp_ns=stamp, sets=sets))
    return uploads


def geometry_rows(files: Sequence[ParameterFile], stamp_ns: Sequence[int], first_ns: int) -> records.Values:
    """A row for each file at its time, and one at the first row of the data: that of the newest file until then."""
    before = [index for index, stamp in enumerate(stamp_ns) if stamp <= first_ns]
    after = [index for index, stamp in enumerate(stamp_ns) if stamp > first_ns]
    rows = [geometry_of_file(files[before[-1]] if before else None), *(geometry_of_file(files[i]) for i in after)]
    stamps = np.array([first_ns, *(stamp_ns[i] for i in after)], np.int64)
    return records.Values(stamp_ns=stamps, values=np.stack(rows))


def check_counts(archive: Archive, files: Sequence[ParameterFile]) -> None:
    """Report the values that do not hold as many numbers as the arm has; none of their numbers is used."""
    for file in files:
        for key, value, count in _used_values(file):
            is_readable = value.numbers is not None or bool(
                ENUMERATION.fullmatch(value.text)
            )  # else it is reported already
            message = _count_issue(key, value, count) if is_readable else ""
            if message:
                archive.defects(Defect(file=file.file, kind="not_a_parameter", row=value.line, message=message))


def _count_issue(key: str, value: ParameterValue, count: int) -> str:
    """Describe a wrong count of numbers in a value; "" where it is right."""
    got = 0 if value.numbers is None else value.numbers.size
    shown = got or repr(value.text[:SHOWN])
    if key.partition(".")[2] in QUATERNIONS and got == count and value.numbers is not None:
        norm = float(np.linalg.norm(value.numbers))
        return (
            "" if abs(norm - 1) <= UNIT else f"{key}: expected a quaternion of norm 1, got {norm:.4f}; it is not used"
        )
    if key.rpartition(".")[2] not in DISTANCES:
        expected = f"{count} numbers" if count > 1 else "one number"
        return "" if got == count else f"{key}: expected {expected}, got {shown}; it is not used"
    if got not in (1, *DISTANCE_SIZES):
        return f"{key}: expected a vector whose third element is the distance, got {shown}; it is not used"
    if value.numbers is not None and got > 1 and np.delete(value.numbers.reshape(-1), DISTANCE_PLACE).any():
        return (
            f"{key}: expected zeros except for the third element, got '{value.text[:SHOWN]}'; the third element counts"
        )
    return ""


def _used_values(file: ParameterFile) -> Iterator[tuple[str, ParameterValue, int]]:
    """The used values of a file: name, value, and expected count of numbers."""
    of_joints = [("RA_JOINT_PARAMS", key, 4) for keys in JOINTS.values() for key in keys.values()]
    of_rotors = [("RA_THERMAL", key, 4) for key in ROTOR.values()]
    of_deck = [row for rows in DECK.values() for row in rows]
    for set_name, key, count in (*NUMBERS, *BASE, *of_deck, *of_rotors, *of_joints):
        value = file.value(set_name, key)
        if value is not None:
            yield f"{set_name}.{key}", value, count
    for link in (*LINKS, *ALTERNATES):
        values = _set_of_link(file, *link)
        for key, count in LINK_NUMBERS:
            axes = [(f"{key}_{axis}", 1) for axis in "xyz"] if count == len("xyz") else []
            for name, requested in ((key, count), *axes):
                if plain_key(name) in values:
                    yield f"link {link[0]}: {name}", values[plain_key(name)], requested


def _missing_numbers(file: ParameterFile) -> list[str]:
    """The numbers of the arm that a file lacks."""
    return [f"{name}.{key}" for name, key, count in NUMBERS if file.numbers(name, key, count) is None]


def describe_arm(archive: Archive, file: ParameterFile | None) -> None:
    """Say where the arm's numbers come from, and put those of rotors and joints into the description."""
    _note_lengths(archive, file)
    if file is None:
        return
    _note_base(archive, file)
    constants = dict(archive.spec.constants)
    rotor_numbers = {name: file.numbers("RA_THERMAL", key, 4) for name, key in ROTOR.items()}
    own = {name: float(numbers[0]) for name, numbers in rotor_numbers.items() if numbers is not None}
    constants["rotor"] = {**constants["rotor"], **own}
    for kind, keys in JOINTS.items():
        joint_numbers = {name: file.numbers("RA_JOINT_PARAMS", key, 4) for name, key in keys.items()}
        own_lists = {name: numbers.tolist() for name, numbers in joint_numbers.items() if numbers is not None}
        constants[kind] = {**constants[kind], **own_lists}
    if (factors := _torque_factors(archive, file)) is not None:
        constants["torque"] = {**constants["torque"], "nm_per_a": factors.tolist()}
    archive.spec = replace(archive.spec, constants=constants)


def _torque_factors(archive: Archive, file: ParameterFile) -> Floats | None:
    """Ka by joint in Nm/A, where its other coefficients are zero; what cannot be computed is noted."""
    if plain_key("RA_TAU_PARAMS") in file.sets:
        text = "the form of the no-load current's fit (c_nl) is not published: torques are not computed from currents"
        archive.notes.append(f"parameters: RA_TAU_PARAMS: {text}")
    factors = file.numbers("RA_TAU_PARAMS2", "c_ka_0", 4)
    others = [file.numbers("RA_TAU_PARAMS2", f"c_ka_{power}", 4) for power in range(1, 5)]
    if factors is None or not any(other is not None and other.any() for other in others):
        return factors
    archive.notes.append("parameters: RA_TAU_PARAMS2: c_ka is no constant, and the form of its fit is not published")
    return None


def _note_base(archive: Archive, file: ParameterFile) -> None:
    """Note where the arm's base is not the payload frame."""
    base = geometry_of_file(file)[-BASE_NUMBERS:]
    if np.isfinite(base).all() and not np.allclose(base, IDENTITY, atol=1e-9, rtol=0):
        position = ", ".join(f"{value:g}" for value in base[:AXES])
        archive.notes.append(f"parameters: RA_LANDER_TO_RA puts the arm's base at {position} m in the payload frame")


def describe_deck(archive: Archive, file: ParameterFile | None) -> None:
    """Add the frames of what stands on the deck, as far as a file has them, and check that they do stand there."""
    if file is None:
        return
    spec, parent = archive.spec, str(archive.parameters["deck_frames"])
    rows = [_deck_row(file, name, parent, pose) for name, pose in _deck_of(file).items()]
    if rows:
        tree = {**spec.tree, parent: (*spec.tree.get(parent, ()), *(row.child for row in rows))}
        archive.spec = replace(spec, extrinsics=(*spec.extrinsics, *rows), tree=tree)
        _note_heights(archive, rows)
    if rest := [name for name in DECK if name not in {row.child for row in rows}]:
        archive.notes.append(f"parameters: {file.file} does not place {', '.join(rest)} on the deck: no such frames")


def _deck_of(file: ParameterFile) -> dict[str, tuple[Floats, Floats]]:
    """Quaternion (4,) and translation (3,) of what a file places on the deck."""
    poses = {name: (file.numbers(*rotation), file.numbers(*position)) for name, (rotation, position) in DECK.items()}
    return {
        name: (quaternion, position)
        for name, (quaternion, position) in poses.items()
        if quaternion is not None and position is not None
    }


def _deck_row(file: ParameterFile, name: str, parent: str, pose: tuple[Floats, Floats]) -> Extrinsic:
    quaternion, (x, y, z) = pose[0], pose[1].tolist()
    return Extrinsic(
        parent=parent,
        child=name,
        convention="m_quaternion_xyzw",
        translation=(x, y, z),
        rotation=tuple(quaternion.tolist()),
        source=file.file,
    )


def _note_heights(archive: Archive, rows: Sequence[Extrinsic]) -> None:
    """Note how high above the deck the frames lie (z of payload is down): none lies below it, or a metre above."""
    lander = next((row for row in archive.spec.extrinsics if (row.parent, row.child) == (PARENT, CHILD)), None)
    below_m = lander.translation[2] if lander is not None and rows[0].parent == CHILD else 0.0
    heights = {row.child: -(row.translation[2] + below_m) for row in rows}
    heights_text = ", ".join(f"{name} {height:.3f} m" for name, height in heights.items())
    text = f"heights of frames above the deck: {heights_text}"
    if all(0.0 <= height <= MAX_HEIGHT_M for height in heights.values()):
        archive.notes.append(f"parameters: {text}")
        return
    other = CHILD if rows[0].parent == PARENT else PARENT
    archive.notes.append(f"warning: {text}; --set deck_frames={other} places them in the other frame")


def describe_uploads(archive: Archive, files: Sequence[ParameterFile], first: ParameterFile | None) -> None:
    """Note the parameter files that take effect between the first and the last row of motion."""
    for file in files:
        lengths = _named_lengths(archive, file)
        archive.notes.append(f"parameters: {file.file} holds from its own time on; its lengths are {lengths}")
        if first is not None and not _same_deck(_deck_of(first), _deck_of(file)):
            archive.notes.append(
                f"warning: {file.file} places other things on the deck than {first.file}, whose frames hold"
            )


def _same_deck(one: Mapping[str, tuple[Floats, Floats]], other: Mapping[str, tuple[Floats, Floats]]) -> bool:
    if set(one) != set(other):
        return False
    return all(
        np.allclose(a, b, atol=1e-9, rtol=0) for name in one for a, b in zip(one[name], other[name], strict=True)
    )


def _named_lengths(archive: Archive, file: ParameterFile) -> str:
    """Which of the named sets the arm's lengths of a file are."""
    lengths = geometry_of_file(file)[LENGTHS]
    if not np.isfinite(lengths).all():
        return "incomplete, not used" if np.isfinite(lengths).any() else "not given"
    sets = archive.spec.constants["arm_lengths_m"]
    same = [name for name, own in sets.items() if np.allclose(lengths, own, atol=1e-6, rtol=0)]
    return f"those of '{same[0]}'" if same else "of neither named set"


def _note_lengths(archive: Archive, file: ParameterFile | None) -> None:
    chosen = archive.parameters["dh_set"]
    has_lengths = bool(np.isfinite(geometry_of_file(file)[LENGTHS]).all())
    if file is None:
        text = "no parameter file at or before the first row of motion: the arm's numbers are the dataset's own"
        archive.notes.append(text)
    else:
        archive.notes.append(f"parameters: {file.file}; the lengths of the arm are {_named_lengths(archive, file)}")
        if untold := _missing_numbers(file):
            archive.notes.append(
                f"parameters: of {', '.join(untold)} the file has no values: the dataset's own are used"
            )
    if chosen != "auto":
        archive.notes.append(f"lengths of the arm: the named set '{chosen}', as dh_set says")
    elif not has_lengths:
        archive.notes.append(
            "lengths of the arm: the named set 'naif'; --set dh_set=sis takes the other, up to 5 mm apart"
        )


def describe_lander(archive: Archive, files: Files) -> None:
    """Take the lander's origin from the archive's own file, where there is one that can be read."""
    file_names = files.matching(archive.spec.rows["places"].files)
    for name in file_names:
        try:
            position = _position_from_csv(files.read(name))
        except ArchiveError as error:
            archive.defects(Defect(file=name, kind="unreadable_table", message=str(error)))
            continue
        _set_origin(archive, name, position)


def _position_from_csv(data: bytes) -> tuple[float, float, float]:
    """The first row of three numbers, in m."""
    for line in data.decode("latin-1").splitlines():
        cells = [cell for cell in re.split(r"[,;\t]", line.strip().strip('"')) if cell.strip()]
        try:
            x, y, z = (float(cell.strip().strip('"')) * M_PER_MM for cell in cells[-AXES:])
        except ValueError:
            continue
        if np.isfinite([x, y, z]).all():
            return x, y, z
    raise ArchiveError("expected a row of three numbers, x, y, z in mm, got none")


def _set_origin(archive: Archive, name: str, position: tuple[float, float, float]) -> None:
    rows = []
    for row in archive.spec.extrinsics:
        if (row.parent, row.child) == (PARENT, CHILD):
            difference_m = max(abs(new - old) for new, old in zip(position, row.translation, strict=True))
            remark = (
                "that of the paper"
                if difference_m < SAME_M
                else f"up to {difference_m * 1e3:.3f} mm from the paper's, it counts"
            )
            archive.notes.append(f"{name}: the lander's origin in the payload frame, {remark}")
            row = replace(row, translation=position, source=name)
        rows.append(row)
    archive.spec = replace(archive.spec, extrinsics=tuple(rows))
