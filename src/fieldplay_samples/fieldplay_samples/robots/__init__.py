"""What the robots are made of: wheels, arms, sensors' places, and what each joint does while the robot drives."""
