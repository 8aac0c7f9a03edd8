"""The processing steps (DFNs) of the Common Data Fusion Framework, without ROS: arrays in, arrays out.

`values.py` is what goes through their ports, `step.py` what a step is; ports stand in `descriptors/dfns.yaml`. The
steps themselves are grouped by what they work on, each module with what can be set in a YAML file beside it.
"""
