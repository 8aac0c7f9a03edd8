import pytest

from fieldplay_archive.formats.pds4 import label_from_xml
from fieldplay_messages.errors import ArchiveError

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


def test_a_label_tells_its_product_and_any_text_by_its_tag() -> None:
    label = label_from_xml(LABEL)
    assert (label.product_class, label.lid, label.version) == ("Product_Observational", "urn:nasa:pds:a:b:c", "1.2")
    assert label.texts["start_sol_number"] == "12"
    assert "file_name" not in label.texts


def test_a_label_tells_its_files_and_their_table() -> None:
    label = label_from_xml(LABEL)
    assert [file.name for file in label.files] == ["Data.CSV", "more.txt"]
    file = label.file("data.csv")
    assert file is not None and (file.size, file.header_bytes) == (1000, 20)
    table = file.table
    assert table is not None
    assert (table.offset, table.records, table.delimiter, table.line_end) == (20, 3, ",", b"\r\n")
    assert (table.said_fields, table.groups) == (2, 0)
    assert [(field.name, field.unit, field.special) for field in table.fields] == [
        ("time", "s", ()),
        ("x", "", (-99999.0, 1e9)),
    ]
    assert label.file("other") is None
    more = label.file("more.txt")
    assert more is not None and (more.size, more.table) == (None, None)


@pytest.mark.parametrize("number", [b"", b"many", b"-3", b"1" * 30, "٣".encode()])
def test_a_number_that_is_none_is_unknown(number: bytes) -> None:
    file = label_from_xml(LABEL.replace(b">3<", b">" + number + b"<")).file("Data.CSV")
    assert file is not None and file.table is not None and file.table.records is None


def test_another_document_is_no_label() -> None:
    with pytest.raises(ArchiveError, match=r"expected a label of PDS4, whose root is Product_\.\.\., got <html>"):
        label_from_xml(b"<html/>")
