"""What the answers lean on and no exercise asks for."""
