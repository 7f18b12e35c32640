"""What makes a notebook a lesson: checks, pictures, and the tools of the desk."""
