"""The world the robots drive in: ground, solids, light; ENU metres, z up."""
