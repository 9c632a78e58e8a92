import inspect

from mizuoto.mizuoto_runtime.memory.host import MemoryHost
from mizuoto.mizuoto_runtime.memory.manager import MemoryManager


def test_the_manager_is_a_host():
    members = {name: value for name, value in vars(MemoryHost).items() if inspect.isfunction(value) and name[0] != "_"}
    placing = {"register", "place", "enter", "make_room", "release"}
    assert set(members) == {*placing, "vram_mode", "kept_ram_bytes", "out_of_memory"}
    for name, member in members.items():
        assert inspect.signature(getattr(MemoryManager, name)) == inspect.signature(member), name
