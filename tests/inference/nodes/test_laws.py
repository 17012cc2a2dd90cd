"""Every letter that is registered, under the laws of letters."""

import pytest

from tests.support.laws import node_laws

LETTERS = node_laws.letters()


@pytest.mark.parametrize("letter", LETTERS)
def test_the_declaration_fits_together(letter):
    node_laws.check_declaration(letter)


@pytest.mark.parametrize("letter", LETTERS)
def test_every_rule_is_that_of_the_density(letter):
    node_laws.check_rules(letter)


@pytest.mark.parametrize("letter", LETTERS)
def test_its_builder_method_places_it(letter):
    node_laws.check_call(letter)


@pytest.mark.parametrize("letter", LETTERS)
def test_a_variable_of_another_type_is_refused_by_name(letter):
    node_laws.check_wrong_types(letter)


@pytest.mark.parametrize("letter", LETTERS)
def test_a_missing_input_is_named(letter):
    node_laws.check_missing_arguments(letter)


def test_the_alphabet_of_the_specification_is_there():
    assert {"softdot", "normal", "gamma", "exp", "prior", "mvnormal", "normal_gamma", "beta", "bernoulli"} <= set(
        LETTERS
    )
