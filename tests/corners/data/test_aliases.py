import pytest

from corners.data.aliases import ALIASES, canonical_name
from corners.data.catalogue import CATALOGUE

PUBLISHED = (
    "boston concrete energy kin8nm naval power wine yacht "
    "australian banknote blood breast_cancer credit-g heart ionosphere iris magic pima sonar spambase"
)


@pytest.mark.parametrize("name", PUBLISHED.split())
def test_every_name_of_the_published_tables_is_one_of_ours(name):
    assert canonical_name(name) in CATALOGUE


def test_aliases_lead_to_known_tables_and_hide_none():
    assert set(ALIASES.values()) <= set(CATALOGUE)
    assert not set(ALIASES) & set(CATALOGUE)
    assert all(canonical_name(alias) == name for alias, name in ALIASES.items())


def test_capitals_hyphens_and_unknown_names():
    assert canonical_name(" Winequality-Red ") == "wine_red"
    assert canonical_name("My-Table") == "my_table"
