"""Pages: each answer is put into words here, and nowhere else."""
