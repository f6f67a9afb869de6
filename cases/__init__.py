"""Programs with inputs that tests and benchmarks share.

Scripts find this package and `bench` from wherever they lie, because `./dev` names the repository's root
in .venv; pytest, because pyproject.toml does. A kit for a GPU machine carries the modules that it needs.
"""
