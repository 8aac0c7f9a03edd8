"""Labels of PDS4: each text of a label is one of its XML as Python's own parser reads it."""

import random
from xml.etree import ElementTree

from campaigns.frame import Found, Inputs, WrongError
from campaigns.mutations import LINES, XML_PARTS, changed, with_parts
from fieldplay.io.pds4 import label_from_xml

FIELDS = "".join(
    f"<Field_Delimited><name>{name}</name><data_type>ASCII_Real</data_type><unit>s</unit>"
    f"<Special_Constants><missing_constant>-99999.{number}</missing_constant></Special_Constants></Field_Delimited>\n"
    for number, name in enumerate(("time", "x", "y"))
)
LABEL = f"""<?xml version="1.0" encoding="UTF-8"?>
<?xml-model href="https://pds.nasa.gov/pds4/pds/v1/PDS4_PDS_1B00.sch"?>
<Product_Observational xmlns="http://pds.nasa.gov/pds4/pds/v1" xmlns:msn="http://pds.nasa.gov/pds4/msn/v1">
<Identification_Area><logical_identifier>urn:nasa:pds:a:b:c</logical_identifier><version_id>1.2</version_id>
<title>Pose &amp; arm</title></Identification_Area>
<!-- a comment -->
<Observation_Area><msn:start_sol_number> 12 </msn:start_sol_number><Time_Coordinates>
<start_date_time>2019-01-01T00:00:00Z</start_date_time></Time_Coordinates></Observation_Area>
<File_Area_Observational>
<File><file_name>Data.CSV</file_name><file_size unit="byte">1000</file_size></File>
<Header><offset unit="byte">0</offset><object_length unit="byte">20</object_length></Header>
<Table_Delimited><offset unit="byte">20</offset><records>3</records>
<record_delimiter>Carriage-Return Line-Feed</record_delimiter><field_delimiter>Comma</field_delimiter>
<Record_Delimited><fields>3</fields><groups>0</groups>
{FIELDS}</Record_Delimited></Table_Delimited>
</File_Area_Observational>
</Product_Observational>
""".encode()


class Labels(Inputs):
    """See above."""

    suffix = "xml"

    def mutated(self, draw: random.Random) -> bytes:
        return with_parts(draw, LABEL, XML_PARTS) if draw.random() < 0.5 else changed(draw, LABEL, LINES)

    def look(self, data: bytes) -> Found:
        label = label_from_xml(data)
        try:
            root = ElementTree.fromstring(data)
        except (ElementTree.ParseError, LookupError, ValueError):
            return Found("told", repr(label))  # Latin-1 under the name of UTF-8
        there = {(element.text or "").strip() for element in root.iter()} | {""}
        by_name = {
            "".join([element.text or "", *(child.tail or "" for child in element)]).strip() for element in root.iter()
        }
        values = [label.lid, label.version, *label.texts.values(), *(file.name.strip() for file in label.files)]
        fields = [field for file in label.files if file.table for field in file.table.fields]
        values += [text for field in fields for text in (field.name, field.unit)]
        strange = [text for text in values if text.strip() not in there | by_name]
        if strange:
            raise WrongError(f"a text that is not in the label: {strange}")
        return Found("read", repr(label))
