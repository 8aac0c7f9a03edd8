import pytest

from fieldplay.core.errors import ArchiveError
from fieldplay.io.pds4 import (
    DEEPEST,
    LARGEST,
    label_from_xml,
    tree_from_xml,
)

LABEL = b"""<Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1" xmlns:msn="http://pds.nasa.gov/pds4/msn/v1">
<Identification_Area><logical_identifier>urn:nasa:pds:a:b:c</logical_identifier><version_id>1.2</version_id></Identification_Area>
<Observation_Area><msn:start_sol_number> 12 </msn:start_sol_number></Observation_Area>
<File_Area_Observational>
 <File><file_name>Data.CSV</file_name><file_size unit="byte">1000</file_size></File>
 <Header><offset unit="byte">0</offset><object_length unit="byte">20</object_length></Header>
 <Table_Delimited><offset unit="byte">20</offset><records>3</records>
  <record_delimiter>Carriage-Return Line-Feed</record_delimiter><field_delimiter>Comma</field_delimiter>
  <Record_Delimited><fields>2</fields><groups>0</groups>
   <Field_Delimited><name>time</name><data_type>ASCII_Real</data_type><unit>s</unit></Field_Delimited>
   <Field_Delimited><name>x</name><data_type>ASCII_Real</data_type>
    <Special_Constants><invalid_constant>-99999.0000</invalid_constant><missing_constant>none</missing_constant>
     <saturated_constant>1e9</saturated_constant></Special_Constants></Field_Delimited>
  </Record_Delimited></Table_Delimited>
</File_Area_Observational>
<File_Area_Observational_Supplemental><File><file_name>more.txt</file_name></File></File_Area_Observational_Supplemental>
</Product_Observational>"""


def test_label_gives_product_and_texts_by_tag() -> None:
    label = label_from_xml(LABEL)
    assert (label.product_class, label.lid, label.version) == ("Product_Observational", "urn:nasa:pds:a:b:c", "1.2")
    assert label.texts["start_sol_number"] == "12"
    assert "file_name" not in label.texts


def test_label_gives_files_and_their_table() -> None:
    label = label_from_xml(LABEL)
    assert [file.name for file in label.files] == ["Data.CSV", "more.txt"]
    file = label.file("data.csv")
    assert file is not None and (file.size, file.header_bytes) == (1000, 20)
    table = file.table
    assert table is not None
    assert (table.offset, table.records, table.delimiter, table.line_end) == (20, 3, ",", b"\r\n")
    assert (table.stated_fields, table.groups) == (2, 0)
    assert [(field.name, field.unit, field.special) for field in table.fields] == [
        ("time", "s", ()),
        ("x", "", (-99999.0, 1e9)),
    ]
    assert label.file("other") is None
    more = label.file("more.txt")
    assert more is not None and (more.size, more.table) == (None, None)


@pytest.mark.parametrize("number", [b"", b"many", b"-3", b"1" * 30, "٣".encode()])
def test_invalid_number_is_unknown(number: bytes) -> None:
    file = label_from_xml(LABEL.replace(b">3<", b">" + number + b"<")).file("Data.CSV")
    assert file is not None and file.table is not None and file.table.records is None


def test_other_document_is_no_label() -> None:
    with pytest.raises(ArchiveError, match=r"expected a label of PDS4, whose root is Product_\.\.\., got <html>"):
        label_from_xml(b"<html/>")


def test_elements_are_found_by_local_name_in_file_order() -> None:
    root = tree_from_xml(b'<a xmlns="urn:x" xmlns:m="urn:y"><b>1</b><m:c><b> 2 &amp; &#65;</b></m:c><!-- no --></a>')
    assert root.name == "a"
    assert [element.text for element in root.all("b")] == ["1", " 2 & A"]
    assert (root.value("c"), root.value("nothing")) == ("", "")
    assert root.first("nothing") is None


def test_element_has_line_number() -> None:
    element = tree_from_xml(b"<a>\n\n<b/>\n</a>").first("b")
    assert element is not None and element.line == 3


@pytest.mark.parametrize(
    "doctype",
    [
        b"<!DOCTYPE a>",
        b'<!DOCTYPE a [<!ENTITY x "y">]>',
        b'<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd">',
    ],
)
def test_document_type_is_refused(doctype: bytes) -> None:
    with pytest.raises(ArchiveError, match="line 2: expected no DOCTYPE"):
        tree_from_xml(b'<?xml version="1.0"?>\n' + doctype + b"<a/>")


def test_billion_laughs_attack_is_refused() -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha"}">' for i in range(30))
    with pytest.raises(ArchiveError, match="expected no DOCTYPE"):
        tree_from_xml(f"<!DOCTYPE a [{entities}]><a>&e29;</a>".encode())


@pytest.mark.parametrize(
    "data", [b"", b"text", b"<a>", b"<a></b>", b"<a>&x;</a>", b"<a/><b/>", b"\x00", b"<a>\xff\xfe</a"]
)
def test_non_xml_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveError, match="expected XML"):
        tree_from_xml(data)


def test_too_deep_or_too_large_xml_is_refused() -> None:
    with pytest.raises(ArchiveError, match="elements in each other"):
        tree_from_xml(b"<a>" * (DEEPEST + 1))
    with pytest.raises(ArchiveError, match="at most"):
        tree_from_xml(b" " * (LARGEST + 1))


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16", "us-ascii"])
def test_documents_may_have_other_encodings(encoding: str) -> None:
    text = "°" if encoding != "us-ascii" else "o"
    data = f'<?xml version="1.0" encoding="{encoding}"?><a>{text}</a>'.encode(encoding)
    assert tree_from_xml(data).text == text


def test_latin_1_with_wrong_encoding_name_is_read() -> None:
    assert tree_from_xml('<?xml version="1.0" encoding="UTF-8"?><a>20 °C</a>'.encode("latin-1")).text == "20 °C"
    assert tree_from_xml(b"<a>\xb0</a>").text == "°"


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(ArchiveError, match="expected XML"):
        tree_from_xml(b'<?xml version="1.0" encoding="x-none"?><a/>')
