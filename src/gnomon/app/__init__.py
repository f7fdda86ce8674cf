"""The journey in a local page: a server on loopback whose every action is one library call."""
