"""What pip is told to install for a module that Python cannot import."""

from __future__ import annotations

import re

# Import name -> name of the distribution, where the two differ, of what optional packages depend on.
_DISTRIBUTIONS = {
    "attr": "attrs",
    "dateutil": "python-dateutil",
    "rpds": "rpds-py",
    "typing_extensions": "typing-extensions",
}
_MISSING = re.compile(r"No module named '([A-Za-z0-9_]+)")


def distribution_of(module: str) -> str:
    """What pip calls the package of `module`."""
    top = module.split(".")[0]
    return _DISTRIBUTIONS.get(top, top)


def missing_module(failure: str) -> str:
    """The package that a failed import could not find, by its import name; empty where that was not the reason."""
    found = _MISSING.search(failure)
    return found[1] if found else ""


def install_arguments(name: str, install: str, failure: str) -> str:
    """What follows `pip install` to mend the import of `name`.

    Args:
        name: Import name of the package.
        install: What installs it where it is not there; "" for its name alone.
        failure: Why it cannot be imported.
    """
    missing = missing_module(failure)
    if missing and missing != name:
        # With the package where pip follows what it depends on, since more of that may be missing.
        others = [install] if install and not install.startswith("-") else []
        return " ".join([*others, distribution_of(missing)])
    return install or f"--no-deps {name}"  # so that pip cannot replace torch or numpy for it
