"""Records of columns, and messages as CDR bytes, both ways; images and clouds one by one."""
