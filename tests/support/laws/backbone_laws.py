"""What every backbone must satisfy: shapes, seeds, replicates that do not touch each other, gradients."""

import pytest
import torch

from corners.backbones._base import PREFIX, Backbone, Params
from corners.errors import CornersError
from tests.support.problems import assert_close, generators, normal

SEEDS, ROWS, COLUMNS = (5, 6, 7), 6, 2


def start(backbone: Backbone, *seeds: int, dtype: torch.dtype = torch.float64) -> Params:
    """Parameters of one replicate a seed."""
    return backbone.init(COLUMNS, generators(*(seeds or SEEDS)), dtype)


def inputs(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Different inputs for every replicate."""
    return normal(41, len(SEEDS), ROWS, COLUMNS, dtype=dtype)


def row(params: Params, k: int) -> Params:
    """The parameters of replicate k, with a leading dimension of one."""
    return {name: value[k : k + 1] for name, value in params.items()}


def check_shapes_and_names(backbone: Backbone) -> None:
    """(B, N, D) to (B, N, H); every parameter has the prefix and one replicate a generator; frozen names exist."""
    params = start(backbone)
    features = backbone.features(params, inputs())
    assert features.shape[:2] == (len(SEEDS), ROWS) and features.dtype == torch.float64
    assert all(name.startswith(PREFIX) and value.shape[0] == len(SEEDS) for name, value in params.items())
    assert backbone.frozen <= set(params)
    assert bool(features.isfinite().all())


def check_same_seed_same_numbers(backbone: Backbone) -> None:
    """Twice the same seeds: the same parameters and features to the last bit, whatever the global generator did."""
    torch.manual_seed(1)
    one = start(backbone)
    first = backbone.features(one, inputs())
    torch.manual_seed(2)
    other = start(backbone)
    assert all(torch.equal(one[name], value) for name, value in other.items())
    assert torch.equal(backbone.features(other, inputs()), first)


def check_global_generator_is_left_alone(backbone: Backbone) -> None:
    """Starting and applying a backbone does not move the user's own stream of random numbers."""
    torch.manual_seed(3)
    before = torch.get_rng_state()
    backbone.features(start(backbone), inputs())
    assert torch.equal(torch.get_rng_state(), before)


def check_seeds_differ_where_there_is_chance(backbone: Backbone) -> None:
    """Two seeds give two networks, if a seed plays any part."""
    params = start(backbone)
    if any(not torch.equal(value[0], value[1]) for value in params.values()):
        same = inputs()[:1].expand(len(SEEDS), -1, -1)
        features = backbone.features(params, same)
        assert not torch.allclose(features[0], features[1])


def check_replicates_are_apart(backbone: Backbone) -> None:
    """Replicate k of a batch is that seed alone: same start to the last bit, same features to rounding."""
    params, penalty = start(backbone), backbone.penalty(start(backbone))
    together = backbone.features(params, inputs())
    for k, seed in enumerate(SEEDS):
        alone = start(backbone, seed)
        assert all(torch.equal(alone[name][0], value[k]) for name, value in params.items())
        assert_close(backbone.features(alone, inputs()[k : k + 1])[0], together[k])
        if isinstance(penalty, torch.Tensor):
            assert_close(torch.as_tensor(backbone.penalty(alone))[0], penalty[k])


def check_a_replicate_without_its_dimension(backbone: Backbone) -> None:
    """One fitted replicate predicts: (N, D) to (N, H) with its own parameters."""
    params = start(backbone)
    together = backbone.features(params, inputs())
    for k in range(len(SEEDS)):
        own = {name: value[k] for name, value in params.items()}
        assert_close(backbone.features(own, inputs()[k]), together[k])


def check_rows_are_apart(backbone: Backbone) -> None:
    """The features of a row do not depend on which other rows are there, nor on their order."""
    params, whole = start(backbone), inputs()
    together = backbone.features(params, whole)
    order = torch.tensor([3, 0, 4])
    assert_close(backbone.features(params, whole[:, order]), together[:, order])


def check_gradients(backbone: Backbone) -> None:
    """Autograd agrees with finite differences in every trained parameter, and reaches only its own replicate."""
    params = start(backbone)
    trained = [name for name in params if name not in backbone.frozen]
    if not trained:
        return

    def features(*leaves: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        own = params | dict(zip(trained, leaves, strict=True))
        penalty = backbone.penalty(own)
        return backbone.features(own, inputs()[:, :2]), torch.as_tensor(penalty) + 0.0 * leaves[0].sum()

    leaves = [params[name].clone().requires_grad_() for name in trained]
    assert torch.autograd.gradcheck(features, leaves)
    slopes = torch.autograd.grad(features(*leaves)[0][1].sum(), leaves, allow_unused=True)
    assert all(slope is None or not slope[[0, 2]].any() for slope in slopes)


def check_penalty_is_of_the_weights(backbone: Backbone) -> None:
    """The penalty is quadratic, at least zero, one number a replicate, and blind to what is frozen."""
    params = start(backbone)
    penalty = torch.as_tensor(backbone.penalty(params)).double().expand(len(SEEDS))
    assert bool((penalty >= 0.0).all())
    doubled = {name: 2.0 * value for name, value in params.items()}
    assert_close(torch.as_tensor(backbone.penalty(doubled)).double().expand(len(SEEDS)), 4.0 * penalty)
    frozen = {name: (2.0 * value if name in backbone.frozen else value) for name, value in params.items()}
    assert_close(torch.as_tensor(backbone.penalty(frozen)).double().expand(len(SEEDS)), penalty)


def check_float32(backbone: Backbone) -> None:
    """Single precision in, single precision out, from the same network up to rounding."""
    single, double = start(backbone, dtype=torch.float32), start(backbone)
    assert all(value.dtype == torch.float32 for value in single.values())
    features = backbone.features(single, inputs(torch.float32))
    assert features.dtype == torch.float32
    expected = backbone.features(double, inputs(torch.float32).double())
    assert_close(features.double(), expected, rel=1e-3, abs_=1e-4)


def check_wrong_columns_are_refused_or_free(backbone: Backbone) -> None:
    """Seven columns: either the backbone takes any number, or it names the number it was given."""
    try:
        params = backbone.init(7, generators(5), torch.float64)
    except CornersError as error:
        assert "7 columns" in str(error)
        return
    assert backbone.features(params, normal(1, 1, 4, 7)).shape[:2] == (1, 4)


def check_specification_is_frozen(backbone: Backbone) -> None:
    """A specification cannot be changed after it was made."""
    with pytest.raises(AttributeError):
        backbone.anything = 1  # type: ignore[attr-defined]
