"""Every node of fieldplay, and nothing else."""
