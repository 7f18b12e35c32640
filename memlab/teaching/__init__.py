"""What makes a notebook a lesson: checks, the builder of the solved notebooks, and the rules they keep."""
