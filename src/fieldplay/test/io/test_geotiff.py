"""Heights from GeoTIFFs as GDAL and others write them: parts, packing, georeference, damage."""

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
import tifffile

from fieldplay.core.errors import ArchiveError
from fieldplay.io.geotiff import open_raster

SHAPE = (70, 90)
ROWS, COLUMNS = np.array([0, 5, 31, 32, 33, 69]), np.array([0, 1, 40, 89])
SCALE, TIE, WHOLE, KEYS, NODATA = 33550, 33922, 34264, 34735, 42113
DOUBLE, SHORT, ASCII = 12, 3, 2
GRID = [(SCALE, DOUBLE, 3, (0.04, 0.05, 0.0), True), (TIE, DOUBLE, 6, (0.0, 0.0, 0.0, 400.0, 900.0, 0.0), True)]
NODATA_TEXT = [(NODATA, ASCII, 6, "-9999", True)]


def heights(seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).normal(850.0, 5.0, SHAPE).astype(np.float32)
    values[5, :2] = -9999.0
    return values


def write_tiff(values: np.ndarray, tags: list[Any] | None = None, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    extra = GRID + NODATA_TEXT if tags is None else tags
    tifffile.imwrite(file, values, photometric="minisblack", metadata=None, extratags=extra, **options)
    return file


def keys(*pairs: tuple[int, int]) -> tuple[Any, ...]:
    numbers = (1, 1, 0, len(pairs), *(number for key, value in pairs for number in (key, 0, 1, value)))
    return (KEYS, SHORT, len(numbers), numbers, True)


class Watched(io.BytesIO):
    """Counts what is read."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


@pytest.mark.parametrize(
    "options",
    [
        {"rowsperstrip": 32},
        {"rowsperstrip": 32, "byteorder": ">"},
        {"rowsperstrip": 1, "bigtiff": True},
        {"tile": (32, 16)},
        {"tile": (32, 16), "compression": "zlib"},
        {"rowsperstrip": 32, "compression": "zlib"},
        {"rowsperstrip": 7, "compression": "lzma"},
    ],
)
def test_rows_and_columns_equal_those_of_image(options: dict[str, Any]) -> None:
    values = heights()
    with open_raster(write_tiff(values, **options)) as raster:
        assert (raster.rows, raster.columns) == SHAPE
        pixels = raster.heights(ROWS, COLUMNS)
    expected = values[np.ix_(ROWS, COLUMNS)].astype(float)
    expected[expected == -9999.0] = np.nan
    assert np.isnan(pixels).sum() == 2
    np.testing.assert_array_equal(pixels, expected)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("code", "predictor"), [(5, 1), (5, 2), (5, 3), (8, 2), (8, 3), (32946, 1), (32773, 1)])
def test_compressions_of_gdal_are_decompressed_by_strip(code: int, predictor: int, order: str) -> None:
    values = heights()
    file = io.BytesIO(pack_tiff(values, code, predictor, order))
    with tifffile.TiffFile(file) as opened:
        page = opened.pages[0]
        assert (page.compression, page.predictor, len(page.dataoffsets)) == (code, predictor, 8)
    with open_raster(file) as raster:
        np.testing.assert_array_equal(raster.heights(ROWS, COLUMNS[2:]), values[np.ix_(ROWS, COLUMNS[2:])])


def pack_tiff(values: np.ndarray, code: int, predictor: int, order: str) -> bytes:
    """A TIFF of strips of nine rows, the last one shorter, without any library for pictures."""
    pack = {5: lzw, 8: zlib.compress, 32946: zlib.compress, 32773: packbits}[code]
    strips = [pack(apply_predictor(values[top : top + 9], predictor, order)) for top in range(0, len(values), 9)]
    offsets = (8 + np.cumsum([0, *map(len, strips)])).tolist()
    tables = offsets[-1]
    entries = [
        (256, 4, 1, values.shape[1]), (257, 4, 1, len(values)), (258, 4, 1, 32), (259, 4, 1, code), (262, 4, 1, 1),
        (273, 4, len(strips), tables), (277, 4, 1, 1), (278, 4, 1, 9), (279, 4, len(strips), tables + 4 * len(strips)),
        (317, 4, 1, predictor), (339, 4, 1, 3), (SCALE, DOUBLE, 3, tables + 8 * len(strips)),
        (TIE, DOUBLE, 6, tables + 8 * len(strips) + 24),
    ]  # fmt: skip
    numbers = [*offsets[:-1], *map(len, strips)]
    data = struct.pack(f"{order}{len(numbers)}I9d", *numbers, *GRID[0][3], *GRID[1][3])
    directory = b"".join(struct.pack(f"{order}HHII", *entry) for entry in entries)
    head = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, tables + len(data))
    return head + b"".join(strips) + data + struct.pack(f"{order}H", len(entries)) + directory + bytes(4)


def apply_predictor(rows: np.ndarray, predictor: int, order: str) -> bytes:
    """The bytes of a strip, each number or byte less the one before it as TIFF's predictors 2 and 3 have it."""
    if predictor == 2:
        whole = rows.view(np.uint32)
        return np.diff(whole, axis=1, prepend=np.uint32(0)).astype(f"{order}u4").tobytes()
    if predictor == 3:  # all first bytes of a row, then all second ones; the highest byte first
        planes = rows.astype(">f4").view(np.uint8).reshape(len(rows), -1, 4).swapaxes(1, 2).reshape(len(rows), -1)
        return np.diff(planes, axis=1, prepend=np.uint8(0)).tobytes()
    return rows.astype(f"{order}f4").tobytes()


def lzw(data: bytes) -> bytes:
    """Codes of nine bits, one for each byte; the table is cleared before it outgrows them."""
    codes = [part for at in range(0, len(data), 200) for part in (256, *data[at : at + 200])] + [257]
    bits = "".join(f"{code:09b}" for code in codes)
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def packbits(data: bytes) -> bytes:
    """Stretches as they are."""
    parts = [data[at : at + 128] for at in range(0, len(data), 128)]
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


@pytest.mark.parametrize("kind", ["int16", "uint16", "uint8", "float64", "int32"])
def test_heights_may_be_of_any_number_type(kind: str) -> None:
    values = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE).astype(kind)
    with open_raster(write_tiff(values, rowsperstrip=16)) as raster:
        np.testing.assert_array_equal(raster.heights(ROWS, COLUMNS), values[np.ix_(ROWS, COLUMNS)].astype(float))


def test_first_of_several_bands_is_read() -> None:
    values = np.stack([heights(), heights(2)], axis=-1)
    for options in ({"planarconfig": "contig"}, {"planarconfig": "contig", "compression": "zlib"}):
        with open_raster(write_tiff(values, rowsperstrip=16, **options)) as raster:
            np.testing.assert_array_equal(
                raster.heights(ROWS[2:], COLUMNS), values[np.ix_(ROWS[2:], COLUMNS, [0])][..., 0]
            )


def test_only_requested_segments_are_read() -> None:
    values = np.zeros((4000, 1000), np.float32) + 800
    for options, most in (({"rowsperstrip": 4000}, 9_000), ({"rowsperstrip": 50, "compression": "zlib"}, 9_000)):
        file = Watched(write_tiff(values, **options).getvalue())
        with open_raster(file) as raster:
            before = file.count
            assert (raster.heights(np.arange(10, 4000, 400), np.array([500, 550])) == 800).all()
        assert file.count - before < most, options


def test_grid_corner_is_at_tie_point_and_rows_go_south() -> None:
    with open_raster(write_tiff(heights())) as raster:
        np.testing.assert_allclose(raster.grid_from_pixel @ [10, 20, 1], [400.4, 899.0])
        assert raster.cell_m == pytest.approx(0.04)


def test_inner_tie_point_and_pixel_is_point_are_understood() -> None:
    tie = (TIE, DOUBLE, 6, (10.0, 20.0, 0.0, 400.0, 900.0, 0.0), True)
    with open_raster(write_tiff(heights(), [GRID[0], tie])) as raster:
        np.testing.assert_allclose(raster.grid_from_pixel @ [10, 20, 1], [400.0, 900.0])
    with open_raster(write_tiff(heights(), [GRID[0], tie, keys((1024, 1), (1025, 2))])) as raster:
        np.testing.assert_allclose(raster.grid_from_pixel @ [10.5, 20.5, 1], [400.0, 900.0])


def test_rotated_grid_is_taken_from_its_matrix() -> None:
    matrix = (0.3, -0.4, 0.0, 100.0, -0.4, -0.3, 0.0, 200.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    with open_raster(write_tiff(heights(), [(WHOLE, DOUBLE, 16, matrix, True)])) as raster:
        np.testing.assert_allclose(raster.grid_from_pixel @ [2, 1, 1], [100.2, 198.9])
        assert raster.cell_m == pytest.approx(0.5)


@pytest.mark.parametrize("text", ["-3.4028235e+38", "-3.40282e38", "nan", "-32767"])
def test_nodata_is_no_height(text: str) -> None:
    values = heights()
    values[5, :2] = float(text)
    tags = [*GRID, (NODATA, ASCII, len(text) + 1, text, True)]
    with open_raster(write_tiff(values, tags)) as raster:
        assert np.isnan(raster.heights(ROWS, COLUMNS)).sum() == 2


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([], "ModelPixelScale"),
        ([*GRID, keys((1024, 2))], "in metres, got degrees"),
        ([*GRID, keys((1024, 1), (3076, 9002))], "unit 9002"),
        ([(SCALE, DOUBLE, 3, (0.0, 0.0, 0.0), True), GRID[1]], "a grid that can be"),
        ([*GRID, (NODATA, ASCII, 5, "none", True)], "GDAL_NODATA: expected a number, got 'none'"),
    ],
)
def test_grid_without_usable_georeference_is_refused(tags: list[Any], message: str) -> None:
    with pytest.raises(ArchiveError, match=message), open_raster(write_tiff(heights(), tags)):
        pass


def test_unsupported_compression_is_named_with_workaround() -> None:
    data = bytearray(write_tiff(heights()).getvalue())
    offset = data.find(struct.pack("<HHI", 259, SHORT, 1))
    struct.pack_into("<H", data, offset + 8, 34887)
    with pytest.raises(ArchiveError, match=r"got LERC; gdal_translate .* -co COMPRESS=DEFLATE"), \
            open_raster(io.BytesIO(bytes(data))):  # fmt: skip
        pass


def test_cut_off_or_non_tiff_file_is_reported() -> None:
    data = write_tiff(heights(), rowsperstrip=8).getvalue()
    with open_raster(io.BytesIO(data[:-3000])) as raster, pytest.raises(ArchiveError, match="the file is cut off"):
        raster.heights(ROWS, COLUMNS)
    with pytest.raises(ArchiveError, match="cannot be read as TIFF"), open_raster(io.BytesIO(b"II*\0 no picture")):
        pass


def test_damage_anywhere_is_reported_without_other_errors() -> None:
    data = write_tiff(heights(), rowsperstrip=8, compression="zlib").getvalue()
    chance, reported = np.random.default_rng(4), 0
    for _ in range(300):
        broken = bytearray(data)
        for offset in chance.integers(0, len(data), 3).tolist() + chance.integers(0, 400, 2).tolist():
            broken[offset] = int(chance.integers(256))
        try:
            with open_raster(io.BytesIO(bytes(broken))) as raster:
                raster.heights(np.arange(min(raster.rows, 70)), np.arange(min(raster.columns, 90)))
        except ArchiveError:
            reported += 1
    assert reported > 100


@pytest.mark.parametrize("is_big", [False, True])
@pytest.mark.parametrize("tag", [324, 325])
def test_directory_of_a_billion_tiles_is_refused_before_reading(is_big: bool, tag: int) -> None:
    file = Watched(write_tiff(heights(), tile=(16, 16), bigtiff=is_big).getvalue())
    data = bytearray(file.getvalue())
    entry = next(data.index(own) for kind in (3, 4, 16) if (own := struct.pack("<HH", tag, kind)) in data)
    struct.pack_into("<Q" if is_big else "<I", data, entry + 4, 1 << 30)
    file = Watched(bytes(data))
    with (
        pytest.raises(ArchiveError, match="expected at most 2097152 strips or tiles, got 1073741824"),
        open_raster(file),
    ):
        pass
    assert file.count < 1000
