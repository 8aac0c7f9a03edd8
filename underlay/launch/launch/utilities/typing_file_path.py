"""What a path to a file may be."""

import os
from typing import TypeVar

FilePath = TypeVar("FilePath", str, bytes, "os.PathLike[str]")
