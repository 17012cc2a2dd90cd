"""Which likelihood a table gets: by its task, by the number of its classes, by name, with options."""

import numpy as np
import pytest

from corners.data.dataset import Dataset
from corners.data.split import Part, Split
from corners.errors import ImpossibleCellError, SpecError, UnknownNameError
from corners.likelihoods import LIKELIHOODS
from corners.likelihoods.one_vs_all import OneVsAll
from corners.likelihoods.ordinal import Ordinal
from corners.study import make_method, method_names
from corners.study.heads import Head, Target, default_head, heads_for, make_likelihood
from corners.study.methods import require_task, tasks_of

NUMBERS, TWO, THREE, COUNTS = Target(), Target("classification", 2), Target("classification", 3), Target("count")


@pytest.mark.parametrize(
    ("target", "default", "allowed"),
    [
        (NUMBERS, "gaussian", {"gaussian", "student_t"}),
        (TWO, "probit", {"probit", "logistic", "ordinal", "one_vs_all"}),
        (THREE, "one_vs_all", {"ordinal", "one_vs_all"}),
        (COUNTS, "poisson", {"poisson", "negative_binomial"}),
    ],
)
def test_heads_of_every_target(target, default, allowed):
    assert default_head(target) == default
    assert set(heads_for(target)) == allowed
    for name in LIKELIHOODS.names():
        if name in allowed:
            made = make_likelihood(Head(name), target)
            assert made is None if name == "gaussian" else made.name == name
        else:
            with pytest.raises(SpecError, match=f"not for {target.task}.*{default}"):
                make_likelihood(Head(name), target)


def test_the_number_of_classes_is_that_of_the_table_not_of_a_part():
    labels = [0, 1, 0, 1, 2, 0]
    table = Dataset(np.arange(6.0), labels, task="classification")
    assert Target.of(table) == THREE
    parts = [Part(np.arange(2.0), labels[k : k + 2]) for k in (0, 2, 4)]
    split = Split(*parts, task="classification")
    assert Target.of(split) == THREE and Target.of([split, split]) == THREE
    assert make_likelihood(Head("ordinal"), Target.of(split)) == Ordinal(classes=3)
    assert make_method("scroll_none", table=split).corner.likelihood == OneVsAll(classes=3)


def test_splits_of_several_tasks_are_refused():
    part = Part(np.arange(2.0), [0, 1])
    both = [Split(part, part, part), Split(part, part, part, task="count")]
    with pytest.raises(SpecError, match=r"several tasks \(count, regression\)"):
        Target.of(both)


def test_options_reach_the_likelihood_and_wrong_ones_are_named():
    assert make_likelihood(Head("student_t", {"df": 7}), NUMBERS).df == 7.0
    gaussian = make_method("scroll_dense", head=Head("gaussian", {"noise_scale": 0.5, "learned": False}))
    assert gaussian.corner.likelihood.noise_scale == 0.5 and not gaussian.corner.likelihood.learned
    assert gaussian.corner.likelihood.hyperprior == make_method("scroll_dense").corner.likelihood.hyperprior
    with pytest.raises(SpecError, match=r"head_options: no option of head 'student_t' is called 'nu'.*df"):
        make_likelihood(Head("student_t", {"nu": 4}), NUMBERS)
    with pytest.raises(SpecError, match="needs the number of classes"):
        make_method("scroll_none", head="one_vs_all")


def test_a_likelihood_is_a_head_and_other_things_are_not():
    assert make_method("scroll_none", head=Ordinal(classes=4)).corner.likelihood.classes == 4
    assert Head.of(Ordinal(classes=4)).target == Target("classification", 4)
    with pytest.raises(SpecError, match="a head is the name of a likelihood or a likelihood; got a float"):
        Head.of(1.0)
    with pytest.raises(UnknownNameError, match=r"no head is called 'probitt'.*Did you mean 'probit'"):
        Head.of("probitt")


def test_shared_precision_is_for_several_latent_functions():
    assert make_method("scroll_dense", head=Head("one_vs_all", shared_precision=True), table=THREE).corner.prior.shared
    with pytest.raises(SpecError, match="one here"):
        make_method("scroll_dense", head=Head("probit", shared_precision=True), table=TWO)


@pytest.mark.parametrize("head", ["student_t", "probit", "poisson"])
@pytest.mark.parametrize("cell", ["sequential", "leave_one_out", "shared_closed", "mean_closed_dense"])
def test_cells_that_bind_their_belief_refuse_other_heads(cell, head):
    with pytest.raises(ImpossibleCellError, match=f"^{cell}: .*likelihood '{head}' has none"):
        make_method(cell, head=head)


def test_methods_are_those_of_the_task_and_head():
    free = [name for name in method_names() if name.startswith("scroll_")]
    for target in (TWO, THREE, COUNTS):
        names = method_names(target)
        assert names[: len(free)] == free and not {"sequential", "map", "ridge_cv"} & set(names)
        assert all(target.task in tasks_of(make_method(name, table=target)) for name in names)
    assert "sequential" in method_names(NUMBERS) and "softmax" not in method_names(NUMBERS)
    assert "sequential" not in method_names(NUMBERS, "student_t") and "map" in method_names(NUMBERS, "student_t")


def test_a_method_of_another_task_is_refused_with_those_for_it():
    with pytest.raises(SpecError, match=r"'map' is for regression tables, and this one is a count table.*count_map"):
        make_method("map", table=COUNTS)
    with pytest.raises(SpecError, match=r"'scroll_none' is for count tables.*classification.*softmax"):
        require_task(make_method("scroll_none", head="poisson"), TWO)


def test_combined_stopping_needs_gaussian_noise():
    from corners.protocols import get_protocol, with_options

    combined = with_options(get_protocol("default"), stopping="combined")
    assert make_method("scroll_none", protocol=combined).schedule.stopping == "combined"
    with pytest.raises(SpecError, match="likelihood 'probit' has none"):
        make_method("scroll_none", protocol=combined, head="probit")
