"""What each lesson checks and shows, a module a notebook."""
