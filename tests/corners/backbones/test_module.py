"""A user's own torch module: copied, never changed, reproducible, refused where replicates would share state."""

import pytest
import torch
from torch import nn

from corners.backbones.module import Module
from corners.errors import SpecError
from tests.support.laws import backbone_laws as laws
from tests.support.problems import assert_close, generators, normal


def network(*extra: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 5), *extra, nn.Tanh(), nn.Linear(5, 3))


@pytest.mark.parametrize(
    "extra", [nn.LayerNorm(5), nn.GroupNorm(1, 5), nn.BatchNorm1d(5).eval(), nn.PReLU()], ids=lambda m: type(m).__name__
)
def test_normalised_networks_obey_the_laws(extra):
    module = network(extra).eval() if isinstance(extra, nn.BatchNorm1d) else network(extra)
    backbone = Module(module)
    for law in (
        "shapes_and_names",
        "same_seed_same_numbers",
        "replicates_are_apart",
        "rows_are_apart",
        "a_replicate_without_its_dimension",
    ):
        getattr(laws, f"check_{law}")(backbone)


def test_features_are_those_of_the_module_itself():
    module = network().double()
    backbone = Module(module, reset=False)
    params, inputs = backbone.init(2, generators(1, 2), torch.float64), normal(3, 2, 6, 2)
    assert_close(backbone.features(params, inputs), module(inputs).detach())


def test_the_users_module_is_never_changed():
    module = network()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    backbone = Module(module)
    params = backbone.init(2, generators(1, 2), torch.float64)
    backbone.features(params, normal(3, 2, 6, 2))
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert module[0].weight.dtype == torch.float32


def test_reset_starts_every_seed_afresh_and_reset_false_from_the_present_weights():
    module = network()
    fresh = Module(module).init(2, generators(1, 2), torch.float64)["backbone.0.weight"]
    kept = Module(module, reset=False).init(2, generators(1, 2), torch.float64)["backbone.0.weight"]
    assert not torch.equal(fresh[0], fresh[1])
    assert torch.equal(kept[0], module[0].weight.double()) and torch.equal(kept[0], kept[1])


def test_trained_false_keeps_the_module_as_it_is():
    """A pretrained network whose last layer alone is wanted: its weights are the ones that were given."""
    module = network()
    backbone = Module(module, trained=False)
    params = backbone.init(2, generators(1, 2), torch.float64)
    assert backbone.frozen == set(params)
    assert torch.equal(params["backbone.0.weight"][0], module[0].weight.double())


def test_what_the_module_itself_does_not_train_stays_as_it_is():
    module = network()
    module[0].requires_grad_(False)
    backbone = Module(module, reset=False)
    assert backbone.frozen == {"backbone.0.weight", "backbone.0.bias"}


def test_the_penalty_is_of_weights_and_not_of_biases_or_scales():
    module = network(nn.LayerNorm(5))
    backbone = Module(module, reset=False)
    params = backbone.init(2, generators(1), torch.float64)
    expected = module[0].weight.double().square().sum() + module[3].weight.double().square().sum()
    assert_close(torch.as_tensor(backbone.penalty(params))[0], expected)


def test_active_dropout_is_refused_or_reproducible():
    """Dropout draws from the global generator: one seed would give many results, and predictions would be noisy."""
    torch.manual_seed(0)
    try:
        backbone = Module(network(nn.Dropout(0.5)))
    except SpecError as refusal:
        assert "eval()" in str(refusal)
        return
    laws.check_same_seed_same_numbers(backbone)
    laws.check_global_generator_is_left_alone(backbone)
    params, inputs = laws.start(backbone), laws.inputs()
    assert torch.equal(backbone.features(params, inputs), backbone.features(params, inputs))


def test_dropout_in_evaluation_mode_is_no_dropout():
    backbone = Module(network(nn.Dropout(0.5)).eval())
    laws.check_same_seed_same_numbers(backbone)
    laws.check_replicates_are_apart(backbone)


def test_batch_normalisation_that_updates_is_refused_with_the_remedy():
    with pytest.raises(SpecError, match=r"submodules 1 update running statistics.*module\.eval\(\).*LayerNorm"):
        Module(network(nn.BatchNorm1d(5)))


def test_a_batch_normalisation_that_alone_is_in_training_mode_is_refused_too():
    module = network(nn.BatchNorm1d(5)).eval()
    module[1].train()
    with pytest.raises(SpecError, match="running statistics"):
        Module(module)


def test_wrong_columns_are_refused_with_their_number():
    with pytest.raises(SpecError, match="does not accept inputs with 7 columns"):
        Module(network()).init(7, generators(1), torch.float64)


@pytest.mark.parametrize("error", [RuntimeError, ValueError, TypeError, AssertionError, IndexError])
def test_whatever_a_module_raises_becomes_one_sentence(error):
    class Broken(nn.Module):
        def forward(self, inputs):
            raise error("it wants images")

    with pytest.raises(SpecError, match="does not accept inputs with 2 columns: it wants images"):
        Module(Broken()).init(2, generators(1), torch.float64)


def test_what_is_no_module_is_refused():
    with pytest.raises((SpecError, TypeError), match="Module"):
        Module(lambda inputs: inputs)  # type: ignore[arg-type]


def test_a_module_without_parameters():
    backbone = Module(nn.Tanh())
    params = backbone.init(2, generators(1, 2), torch.float64)
    assert params == {} and backbone.penalty(params) == 0.0
    assert_close(backbone.features(params, laws.inputs()), laws.inputs().tanh())
