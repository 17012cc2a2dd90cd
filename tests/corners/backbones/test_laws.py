"""The backbone laws over every registered backbone."""

import pytest

from corners.backbones import BACKBONES
from tests.support.laws import backbone_laws as laws


@pytest.fixture(params=BACKBONES.names())
def backbone(request):
    member = BACKBONES.get(request.param).example()
    assert member.name == request.param
    return member


LAWS = [name for name in dir(laws) if name.startswith("check_")]


@pytest.mark.parametrize("law", LAWS)
def test_law(backbone, law):
    getattr(laws, law)(backbone)
