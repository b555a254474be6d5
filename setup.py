# SPDX-License-Identifier: Apache-2.0
"""The version stands once, in the header that programs see; all else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

header = (Path(__file__).parent / "format/include/rbwp_format.h").read_text()
setup(version=re.search(r'RBWP_VERSION_STRING "(.+)"', header)[1])
