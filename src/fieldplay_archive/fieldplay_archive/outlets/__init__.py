"""What an open archive lets out: a feed for each topic, the frames, and what is computed of its streams."""
