"""Those who listen to nodes and feed them."""
