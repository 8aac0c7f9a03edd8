"""The Common Data Fusion Framework: logs, processing steps, pipelines, products, orchestration."""
