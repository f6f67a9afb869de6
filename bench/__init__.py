"""Benchmarks of Headrace against its peers; start with run.py."""
