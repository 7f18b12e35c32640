"""The instructor's and the maintainer's tools."""
