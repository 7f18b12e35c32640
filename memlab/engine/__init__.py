"""The engine room, not for reading: the file, the ranking blocks, recorded vectors."""
