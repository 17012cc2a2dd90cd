"""Peers: missing, half installed or broken, each is one sentence with the remedy."""

import sys

import pytest

from corners.baselines._peers import import_peer, peer_version
from corners.errors import UnavailableError


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A package of this source, importable for one test."""

    def make(name: str, source: str) -> str:
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        return name

    yield make
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_a_missing_peer_and_a_missing_dependency_of_it_are_told_apart(install):
    with pytest.raises(UnavailableError, match=r"^absent_peer is not installed; get it$"):
        import_peer("absent_peer", "get it")
    name = install("half_installed_peer", "import absent_dependency")
    with pytest.raises(UnavailableError, match=r"^absent_dependency, which half_installed_peer imports, is not inst"):
        import_peer(name, "get it")


def test_a_broken_peer_is_not_called_missing(install):
    name = install("broken_peer", "raise OSError('libgone.so: cannot open')")
    with pytest.raises(UnavailableError, match=r"installed but broken \(OSError: libgone.so: cannot open\); get it"):
        import_peer(name, "get it")


def test_torchs_cpu_build_beside_a_cuda_torchvision_is_named(install):
    """Acceptance case 19."""
    name = install("clashing_peer", "raise RuntimeError('operator torchvision::nms does not exist')")
    with pytest.raises(UnavailableError, match=r"CUDA build of torchvision.*CPU build of torch; pip uninstall"):
        import_peer(name, "get it")


def test_a_peers_own_warnings_are_not_the_users(install):
    name = install("old_peer", "import warnings\nwarnings.warn('deprecated', DeprecationWarning)\nvalue = 3")
    assert import_peer(name, "get it").value == 3


def test_a_version_that_is_not_known_is_said():
    assert peer_version("vbll") == "0.4.9"
    assert peer_version("no-such-distribution") == "of unknown version"
