"""Records of columns, and messages as CDR bytes, both ways; pictures and clouds one by one."""
