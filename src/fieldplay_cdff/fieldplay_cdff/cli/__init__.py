"""The commands fuse, products and cdff; fieldplay finds them by the entry point of this table."""

from collections.abc import Mapping

COMMANDS: Mapping[str, tuple[str, str]] = {
    "fuse": (
        "fieldplay_cdff.cli.fuse_command",
        "run a fusion pipeline: stereo, reconstruction, visual odometry",
    ),
    "products": ("fieldplay_cdff.cli.products_command", "list, show, get and delete the products that pipelines kept"),
    "cdff": ("fieldplay_cdff.cli.cdff_command", "tools for logs and descriptions of CDFF (InFuse)"),
}
