# SPDX-License-Identifier: Apache-2.0
"""What of Triton is another for as long as probes are put in: its assembler, its caches on the disk and in memory.

The key of a compiled kernel has the assembler's version in it, not its path, and rbwp-ptxas has the version of the real
one. So no cache may be shared with kernels without probes, neither way: the folder is a new one, caches that are
elsewhere are not asked, and each kernel's dictionary of what was compiled in this process is put aside."""

import collections
import contextlib
import gc
import os
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional

# Names in triton.knobs that stand before the environment, once a program has set them.
_KNOBS = {"cache": ("dir", "manager_class", "remote_manager_class"), "nvidia": ("ptxas", "ptxas_blackwell")}
_UNSET = ("TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND", "RBWP_PTX_ACTIVE")  # caches elsewhere; another's lists
_IN_MEMORY = ("device_caches", "cache")  # as versions of Triton call it


@contextlib.contextmanager
def environment(variables: Mapping[str, Optional[str]]) -> Iterator[None]:
    """These variables, None: not set, until the context ends."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, Optional[str]]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def real_ptxas() -> Optional[str]:
    """The assembler that Triton would take; None where rbwp-ptxas is to look for one itself."""
    knobs: Any = sys.modules.get("triton.knobs")
    with contextlib.suppress(Exception):  # it raises where there is none
        return str(knobs.nvidia.ptxas.path)
    named = os.environ.get("TRITON_PTXAS_PATH")
    if named:
        return named
    triton: Any = sys.modules.get("triton")
    if getattr(triton, "__file__", None):
        path = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "ptxas")
        if os.access(path, os.X_OK):
            return path
    return None


@contextlib.contextmanager
def _knobs_unset() -> Iterator[None]:
    """triton.knobs as the environment says."""
    groups: List[Any] = [getattr(sys.modules.get("triton.knobs"), name, None) for name in _KNOBS]
    before: "List[Dict[str, Any]]" = [{name: group.__dict__.pop(name) for name in names if name in group.__dict__}
                                      if group is not None else {} for group, names in zip(groups, _KNOBS.values())]
    try:
        yield
    finally:
        for group, names, values in zip(groups, _KNOBS.values(), before):
            if group is not None:
                for name in names:
                    group.__dict__.pop(name, None)
                group.__dict__.update(values)


def _caches() -> "Iterator[tuple[Any, str]]":
    """Each kernel that Triton knows in this process, and what its dictionary is called."""
    kind: Any = getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    if kind is None:
        return
    for found in gc.get_objects():
        if issubclass(type(found), kind):
            for name in _IN_MEMORY:
                if isinstance(found.__dict__.get(name), collections.defaultdict):
                    yield found, name


@contextlib.contextmanager
def _nothing_compiled() -> Iterator[None]:
    """Kernels are compiled again, and what they were compiled to is forgotten behind the context."""
    before = [(function, name, function.__dict__[name]) for function, name in _caches()]
    for function, name, cache in before:
        function.__dict__[name] = collections.defaultdict(cache.default_factory)
    try:
        yield
    finally:
        for function, name in _caches():
            cache = function.__dict__[name]
            function.__dict__[name] = collections.defaultdict(cache.default_factory)
        for function, name, cache in before:
            function.__dict__[name] = cache


@contextlib.contextmanager
def compiled_anew(assembler: str, cache: str, variables: Mapping[str, Optional[str]]) -> Iterator[None]:
    """Kernels of Triton are compiled by this assembler and kept in this folder; variables are its environment."""
    real = real_ptxas()
    wanted: Dict[str, Optional[str]] = dict.fromkeys(_UNSET)
    if real and os.path.basename(real) != "rbwp-ptxas":
        wanted["RBWP_PTXAS"] = real
    wanted.update(TRITON_CACHE_DIR=cache, TORCHINDUCTOR_CACHE_DIR=os.path.join(cache, "inductor"))
    wanted.update(TRITON_PTXAS_PATH=assembler, TRITON_PTXAS_BLACKWELL_PATH=assembler)
    wanted.update(variables)
    with environment(wanted), _knobs_unset(), _nothing_compiled():
        yield
