"""What learners are given: the clock, the embedder, the records, the store."""
