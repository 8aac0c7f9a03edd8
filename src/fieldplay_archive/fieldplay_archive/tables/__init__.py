"""Text as columns of numbers: delimited tables, marked lines, NMEA sentences, blocks of key and value."""
