"""Tables, drawings and widgets."""
