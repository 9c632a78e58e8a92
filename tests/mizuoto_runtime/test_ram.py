import os
import sys

import pytest
from mizuoto.mizuoto_runtime.ram import ram_bytes


@pytest.fixture
def no_psutil(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)


def test_with_psutil():
    total, free = ram_bytes()
    assert 0 < free < total


def test_the_system_is_asked_without_psutil(no_psutil):
    total, free = ram_bytes()
    assert 0 < free < total


@pytest.mark.parametrize(
    ("missing", "told"), [("SC_AVPHYS_PAGES", (4096 * 100, None)), ("SC_PHYS_PAGES", (None, None))]
)
def test_what_the_system_does_not_tell(no_psutil, monkeypatch, missing, told):
    def sysconf(name):
        if name == missing:
            raise ValueError("unrecognized configuration name")
        return {"SC_PAGE_SIZE": 4096}.get(name, 100)

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert ram_bytes() == told


def test_a_system_without_sysconf(no_psutil, monkeypatch):  # Windows
    monkeypatch.delattr(os, "sysconf")
    assert ram_bytes() == (None, None)
