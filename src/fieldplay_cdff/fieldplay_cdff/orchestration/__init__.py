"""Which pipelines run when: a plan in YAML, what follows of it, and how it goes over to another; without ROS.

`plan.py` reads plans, `preference.py` decides between two pipelines by their quality, `orchestration.py` says which
transitions the pipelines need next. `fieldplay_ros/orchestrator.py` asks for these.
"""
