"""Messages as CDR bytes, both ways: whole columns of records at once, pictures and clouds one by one."""
