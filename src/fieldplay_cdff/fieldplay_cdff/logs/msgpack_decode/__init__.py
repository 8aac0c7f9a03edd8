"""The format: items in bytes as values, long lists of numbers as arrays, and what is alike told and read at once."""
