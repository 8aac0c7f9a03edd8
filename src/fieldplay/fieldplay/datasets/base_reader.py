"""The base class of dataset readers: opens the files, makes streams of them, and closes them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldplay.core.errors import ArchiveError
from fieldplay.datasets.archive import Archive, chosen_parameters
from fieldplay.datasets.spec import DatasetSpec, Extrinsic
from fieldplay.geometry.camera_model import CameraModel
from fieldplay.io.containers import Files, open_files
from fieldplay.streams.stream import Stream


class DatasetReader(ABC):
    """Base class of a dataset's reader; a subclass makes streams of its files.

    The module that the dataset's YAML names as `reader` defines `open_archive = Reader.open`:

        class Reader(DatasetReader):
            def make_streams(self) -> Mapping[str, Stream]:
                tables = open_tables(self.archive, self.files)
                return {"imu": TableStream(tables["imu"], imu_from_rows)}

        open_archive = Reader.open

    Args:
        archive: the archive that is being opened.

    Attributes:
        archive: the archive being opened: root, spec, parameters, notes, defects and checks.
        files: the files of the archive, open as long as the archive is.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.files: Files = archive.on_close.enter_context(self.open_files())

    def open_files(self) -> Files:
        """Open the folder, zip or tar; override it for files elsewhere.

        Returns:
            The files, closed with the archive; damage in a zip or tar is reported to `archive.defects`.

        Raises:
            ArchiveError: it cannot be opened at all.
        """
        return open_files(self.archive.root, self.archive.defects)

    @abstractmethod
    def make_streams(self) -> Mapping[str, Stream]:
        """Make the streams of the archive.

        A file that is missing has no stream and is noted; defects are reported to `archive.defects`. Add checks that
        need all streams to `archive.checks`, and resources to close to `archive.on_close`. The description may be
        changed (`archive.spec`), for instance if an archive has its own calibration.

        Returns:
            Streams by their ids in the description; others are ignored. The order is that of the description.

        Raises:
            ArchiveError: nothing of the archive can be read.
        """

    def only_folder(self, folders: Sequence[str]) -> str:
        """Choose the folder of the one recording that an archive may hold.

        Args:
            folders: those that hold one, by their names in the archive.

        Returns:
            The folder; empty, which is the root, where there is none.

        Raises:
            ArchiveError: there are several.
        """
        if len(folders) > 1:
            several = ", ".join(folder or "its own" for folder in folders)
            remedy = "give the path of one of them"
            raise ArchiveError(f"{self.archive.root}: expected one recording, got those of {several}; {remedy}")
        return folders[0] if folders else ""

    def describe(
        self, *, cameras: Mapping[str, CameraModel], frames: Mapping[str, Mapping[str, NDArray[np.float64]]]
    ) -> None:
        """Replace cameras and static frames of the description by the calibration of the archive.

        Args:
            cameras: by the ids of the streams of their images.
            frames: the static tree: parent_T_child (4, 4) in m by parent and child.
        """
        spec = self.archive.spec
        edges = [(parent, child, transform) for parent, kids in frames.items() for child, transform in kids.items()]
        self.archive.spec = replace(
            spec,
            cameras=cameras,
            streams=tuple(replace(each, camera=each.id if each.id in cameras else "") for each in spec.streams),
            extrinsics=tuple(Extrinsic.from_transform(*edge) for edge in edges),
            tree={parent: tuple(kids) for parent, kids in frames.items() if kids},
        )

    @classmethod
    def open(cls, root: Path, spec: DatasetSpec, parameters: Mapping[str, Any]) -> Archive:
        """Open an archive.

        Args:
            root: the folder or file.
            spec: the dataset's description.
            parameters: those of the dataset that differ from their defaults, by name.

        Returns:
            The archive, whose streams are in the order of the description. Closing it closes the files.

        Raises:
            ArchiveError: the files cannot be opened at all.
            UsageError: a parameter is unknown or has a value that it cannot have.
        """
        archive = Archive(root=root, spec=spec, parameters=chosen_parameters(spec, parameters))
        # What was opened is closed again if making the streams fails; afterwards the archive keeps it.
        with archive.on_close:
            streams = cls(archive).make_streams()
            archive.streams = {each.id: streams[each.id] for each in archive.spec.streams if each.id in streams}
            archive.on_close = archive.on_close.pop_all()
        return archive
