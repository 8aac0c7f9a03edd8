"""The types of samples: table.py has a row for each, and beside it are the functions that make records of them."""
