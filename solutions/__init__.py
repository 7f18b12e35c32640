"""What learners build: the reference answers, one module for each notebook from 03 on."""
