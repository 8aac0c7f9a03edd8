"""Messages as CDR bytes: whole columns of records at once."""
