"""One module per dataset: `open_archive(root, spec, parameters)` gives its open archive."""
