"""The processing steps (DFNs) of the Common Data Fusion Framework, without ROS: arrays in, arrays out.

`values.py` is what goes through their ports, `step.py` what a step is; ports stand in `descriptors/dfns.yaml`. The
steps themselves are grouped by topic, each module with its parameters in a YAML file next to it.
"""
