"""How a robot moves: a plan of speeds and curvatures, the path that follows from it, and the ride over the terrain."""
