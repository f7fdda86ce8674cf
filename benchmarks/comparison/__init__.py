"""What `benchmarks/compare.py` is made of: tables, bins, one run in its own process, scores, the page."""
