"""Existing programs of odometry and SLAM on archives and bags: each as it is, in its own environment, and evaluated.

`methods.py` is what a description in config/methods says, `sensors.py` which topics feed it and what of them its own
configuration may use, `environments.py` where it is installed, `processes.py` how it runs and what that costs,
`trial.py` one method on one archive, `results.py` what came of it as a table and as JSON.
"""
