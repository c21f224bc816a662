"""Being called when a module has been imported changes nothing in the import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.probe_job import FOLDER

_BEGIN = """
import sys
sys.path[:0] = {folders!r}
from inprocess.after_import import after_import
seen = []
after_import("late", lambda: seen.append(sys.modules["late"].value))
"""


def run(tmp_path: Path, module: str, code: str) -> None:
    (tmp_path / "late.py").write_text(module)
    begin = _BEGIN.format(folders=[str(FOLDER), str(tmp_path)])
    subprocess.run([sys.executable, "-c", begin + code], check=True, timeout=60)


@pytest.mark.parametrize("how", ["import late", "from late import value", "__import__('late')"])
def test_called_once_when_the_module_is_whole(tmp_path: Path, how: str) -> None:
    run(tmp_path, "value = 7", f"assert not seen\n{how}\n{how}\nassert seen == [7]")


def test_all_that_wait_for_it_are_called(tmp_path: Path) -> None:
    code = """
after_import("late", lambda: seen.append("again"))
import importlib.util
importlib.util.find_spec("late")
import late
assert sorted(map(str, seen)) == ["7", "again"]
assert "exec_module" not in vars(late.__loader__)
"""
    run(tmp_path, "value = 7", code)


def test_called_now_when_the_module_is_there(tmp_path: Path) -> None:
    code = "import late\nafter_import('late', lambda: seen.append('again'))\nassert seen == [7, 'again']"
    run(tmp_path, "value = 7", code)


def test_a_module_in_the_middle_of_its_import_is_waited_for(tmp_path: Path) -> None:
    module = """
from inprocess.after_import import after_import
import __main__
after_import("late", lambda: __main__.seen.append(value + 1))
value = 7
"""
    run(tmp_path, module, "import late\nassert 7 in seen")


def test_the_module_looks_as_if_nobody_had_waited(tmp_path: Path) -> None:
    code = """
import importlib, inspect, pickle, pkgutil
import late
assert type(late.__loader__).__name__ == type(late.__spec__.loader).__name__ == 'SourceFileLoader'
assert late.__file__.endswith('late.py')
assert 'value = 7' in inspect.getsource(late)
assert not [f for f in sys.meta_path if type(f).__module__.startswith('inprocess')]
importlib.reload(late)
assert seen == [7]
"""
    run(tmp_path, "value = 7", code)


def test_a_module_that_is_not_there_is_still_not_there(tmp_path: Path) -> None:
    code = """
import importlib.util
after_import("nowhere", lambda: seen.append(1))
assert importlib.util.find_spec("nowhere") is None
try: import nowhere
except ModuleNotFoundError as error: assert error.name == "nowhere"
else: raise AssertionError
assert not seen
"""
    run(tmp_path, "value = 7", code)


def test_looking_for_it_is_not_importing_it(tmp_path: Path) -> None:
    code = """
import importlib.util
assert importlib.util.find_spec("late").origin.endswith("late.py")
assert not seen
import late
assert seen == [7]
"""
    run(tmp_path, "value = 7", code)


def test_its_own_error_passes_through(tmp_path: Path) -> None:
    code = """
for _ in range(2):
    try: import late
    except ValueError as error: assert str(error) == "broken"
    else: raise AssertionError
assert not seen
"""
    run(tmp_path, "raise ValueError('broken')", code)


def test_a_loader_with_no_place_for_it_is_left_alone(tmp_path: Path) -> None:
    code = """
import importlib.util
from importlib.machinery import ModuleSpec
class Loader:
    __slots__ = ()
    def create_module(self, spec): return None
    def exec_module(self, module): module.value = 7
class Finder:
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, Loader()) if name == "late" else None
sys.meta_path.insert(1, Finder())
import late
assert late.value == 7
assert not seen
"""
    run(tmp_path, "raise ValueError('the other one')", code)
