"""What a recording says, as records of columns, and as messages: both ways, and the bags that hold them."""
