"""The processing steps (DFNs) of the Common Data Fusion Framework, without ROS: arrays in, arrays out.

`values.py` has the types of their ports, `step.py` the base class; ports are declared in `descriptors/dfns.yaml`. The
steps themselves are grouped by topic, each module with its parameters in a YAML file next to it.
"""
