"""What is known of a log: scan.py goes through it, file_index.py is what it finds, blocks.py reads that again."""
