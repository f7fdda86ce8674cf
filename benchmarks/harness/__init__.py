"""The parts of benchmarks/utility.py: tables, released and real rows as arrays, learners, likeness, floors."""
