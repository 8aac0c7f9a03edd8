"""Files of an archive, wherever they lie: folders, zips, names."""
