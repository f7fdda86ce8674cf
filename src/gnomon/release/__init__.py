"""The release folder: written whole or not at all, read back without trust."""
