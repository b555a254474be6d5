# SPDX-License-Identifier: Apache-2.0
"""`pip install .` without a network: a pure wheel, and the library and the command that it then finds."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from rbwp.native import ABI

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
FOUND = "import rbwp; print(rbwp.native.library()._name, rbwp.native.command())"
READ = f"{FOUND}; print(len(rbwp.spans({os.path.join(HERE, '..', 'golden', 'multi_thread.bin')!r})), rbwp.__file__)"


def missing():
    return [name for name in ("pip", "setuptools", "wheel", "venv") if not importlib.util.find_spec(name)]


@unittest.skipIf(missing(), f"Debian: python3-pip, python3-setuptools, python3-wheel; not here: {missing()}")
class InstalledByPip(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        source = os.path.join(cls.folder, "source")  # setuptools writes beside it
        for name in ("python/rbwp", "pyproject.toml", "setup.py", "docs/python.md", "format/include/rbwp_format.h"):
            os.makedirs(os.path.dirname(os.path.join(source, name)), exist_ok=True)
            copy = shutil.copytree if os.path.isdir(os.path.join(ROOT, name)) else shutil.copy
            copy(os.path.join(ROOT, name), os.path.join(source, name))
        cls.venv = os.path.join(cls.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", cls.venv], check=True)
        subprocess.run([os.path.join(cls.venv, "bin/python"), "-m", "pip", "-q", "install", "--disable-pip-version-check",
                        "--no-build-isolation", "--no-index", "--no-compile", "--root-user-action=ignore", source],
                       check=True, env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
        cls.packages, = (os.path.join(where, "site-packages") for where, folders, _ in os.walk(os.path.join(cls.venv, "lib"))
                         if "site-packages" in folders)

    def printed(self, program, **environment):
        """By a program of the venv, which has this of ours in its environment."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("RBWP_", "PYTHON", "LD_", "PKG_"))}
        own["PKG_CONFIG_LIBDIR"] = self.folder
        return subprocess.run([os.path.join(self.venv, "bin/python"), "-c", program], check=True, text=True, cwd=self.folder,
                              stdout=subprocess.PIPE, env={**own, **environment}).stdout.split()

    def test_it_reads_a_recording(self):
        named = {name: os.environ[name] for name in ("RBWP_LIBRARY", "RBWP_COMMAND")}
        self.assertEqual(self.printed(READ, **named), [*named.values(), "820", os.path.join(self.packages, "rbwp", "__init__.py")])

    def test_the_wheel_is_pure(self):
        with open(os.path.join(ROOT, "format/include/rbwp_format.h"), encoding="utf-8") as header:
            version, = (line.split('"')[1] for line in header if "define RBWP_VERSION_STRING" in line)
        with open(os.path.join(self.packages, f"rbwp-{version}.dist-info", "WHEEL"), encoding="utf-8") as wheel:
            self.assertIn("Root-Is-Purelib: true\nTag: py3-none-any\n", wheel.read())
        installed = sorted(os.listdir(os.path.join(self.packages, "rbwp")))
        wanted = sorted(name for name in os.listdir(os.path.join(ROOT, "python/rbwp")) if name.endswith((".py", ".typed")))
        self.assertEqual([name for name in installed if name != "__pycache__"], wanted)

    def test_where_the_library_is_found(self):
        prefix = os.path.join(self.folder, "prefix")
        for name, target in (("lib/librbwp.so", "RBWP_LIBRARY"), ("bin/rbwp", "RBWP_COMMAND"),
                             (f"loader/librbwp.so.{ABI}", "RBWP_LIBRARY")):
            os.makedirs(os.path.dirname(os.path.join(prefix, name)), exist_ok=True)
            os.symlink(os.environ[target], os.path.join(prefix, name))
        os.mkdir(os.path.join(prefix, "lib/pkgconfig"))
        with open(os.path.join(prefix, "lib/pkgconfig/rbwp.pc"), "w", encoding="utf-8") as file:
            file.write("prefix=${pcfiledir}/../..\nName: rbwp\nDescription: rbwp\nVersion: 0\n")
        library, command = os.path.join(prefix, "lib/librbwp.so"), os.path.join(prefix, "bin/rbwp")
        path = f"{os.path.dirname(command)}:{os.environ['PATH']}"
        self.assertEqual(self.printed(FOUND, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig"), [library, command])
        self.assertEqual(self.printed(FOUND, LD_LIBRARY_PATH=f"{prefix}/loader", PATH=path), [f"librbwp.so.{ABI}", command])
