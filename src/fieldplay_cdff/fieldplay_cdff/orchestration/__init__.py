"""The states of pipelines over time: a plan in YAML, the transitions that it needs, and fallbacks; without ROS.

`orchestration.py` reads plans, decides between two pipelines by their quality, and determines which
transitions the pipelines need next. `fieldplay_ros/orchestrator.py` requests these.
"""
