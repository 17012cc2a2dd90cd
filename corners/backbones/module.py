"""A user's own torch module as the backbone, its replicates batched by vmap."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from corners.backbones import BACKBONES
from corners.backbones._base import PREFIX, Backbone, Params
from corners.errors import SpecError

DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


@BACKBONES.register("module")
@dataclass(frozen=True)
class Module(Backbone):
    """Features from any ``nn.Module`` that maps ``(N, D)`` to ``(N, H)``.

    The module sees inputs standardised column by column on the training part, as every backbone does. One that was
    pretrained on other inputs must be given those it knows: let its first layer undo the standardisation, or pretrain
    it on standardised columns.

    Parameters
    ----------
    module : the network without its last linear layer. It is copied, never changed.
    reset : start every seed from fresh weights by calling ``reset_parameters`` of each submodule that has it;
        ``False`` starts every seed from the module's present weights. By default fresh where the module is trained,
        present where it is not.
    trained : ``False`` keeps the module as it is and trains the last layer alone.

    Raises
    ------
    SpecError : parts of the module are random or change their buffers while training (dropout, batch normalisation),
        or its output is not ``(N, H)``.

    Example
    -------
    >>> from torch import nn
    >>> Module(nn.Sequential(nn.Linear(3, 8), nn.Tanh())).trained
    True
    """

    module: nn.Module = field(default_factory=nn.Identity)
    reset: bool | None = None
    trained: bool = True
    name: ClassVar[str] = "module"

    def __post_init__(self) -> None:
        if not isinstance(self.module, nn.Module):
            raise SpecError(f"module must be a torch.nn.Module; got {type(self.module).__name__}")
        parts = [(name, part) for name, part in self.module.named_modules() if part.training]
        noisy = [name for name, part in parts if isinstance(part, DROPOUTS) and part.p > 0.0]
        if noisy:
            raise SpecError(
                f"submodules {', '.join(noisy)} drop units at random, so that one seed would not give one result and "
                "predictions would be noisy; call module.eval() first, or remove them"
            )
        changing = [name for name, part in parts if getattr(part, "track_running_stats", False)]
        if changing:
            raise SpecError(
                f"submodules {', '.join(changing)} update running statistics while training, which replicates cannot "
                "share; "
                "call module.eval() first, or replace them by nn.LayerNorm or nn.GroupNorm"
            )

    @classmethod
    def example(cls) -> "Module":
        """A member for the law suite: two inputs, three features."""
        return cls(nn.Sequential(nn.Linear(2, 5), nn.Tanh(), nn.Linear(5, 3), nn.Tanh()))

    @property
    def frozen(self) -> frozenset[str]:
        """Everything where the module is not trained; else what the module itself does not train."""
        return frozenset(
            PREFIX + name
            for name, value in self.module.named_parameters()
            if not (self.trained and value.requires_grad)
        )

    def init(self, columns: int, generators: list[torch.Generator], dtype: torch.dtype) -> Params:
        """The module's parameters, one copy a replicate; checks that ``columns`` inputs pass through it."""
        copies = [self._fresh(generator) for generator in generators]
        states = [{name: value.detach().to(dtype) for name, value in each.named_parameters()} for each in copies]
        params = {PREFIX + name: torch.stack([state[name] for state in states]) for name in states[0]}
        self._check(params, columns, dtype)
        return params

    def features(self, params: Params, inputs: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N H"]:
        """The module applied to every replicate with that replicate's parameters."""
        own = {name.removeprefix(PREFIX): value for name, value in params.items() if name.startswith(PREFIX)}
        apply = self._call(inputs.dtype)
        if inputs.dim() == 2:
            return apply(own, inputs)
        if not own:
            return torch.stack([apply({}, each) for each in inputs])
        return torch.vmap(apply, randomness="different")(own, inputs)

    def penalty(self, params: Params) -> Float[Tensor, "*B"] | float:
        """Squared norm of every parameter with two or more dimensions (weights, not biases)."""
        weights = [
            value.square().flatten(1).sum(1)
            for name, value in params.items()
            if name.startswith(PREFIX) and value.dim() >= 3 and name not in self.frozen
        ]
        return torch.stack(weights).sum(0) if weights else 0.0

    def _call(self, dtype: torch.dtype) -> Callable[[dict[str, Tensor], Tensor], Tensor]:
        buffers = {
            name: value.to(dtype) if value.is_floating_point() else value for name, value in self.module.named_buffers()
        }
        return lambda own, inputs: torch.func.functional_call(self.module, own | buffers, (inputs,))

    def _fresh(self, generator: torch.Generator) -> nn.Module:
        module = copy.deepcopy(self.module)
        if not (self.trained if self.reset is None else self.reset):
            return module
        # ``reset_parameters`` draws from the global generator: fork it, so that the user's stream is left alone.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
            for part in module.modules():
                reset = getattr(part, "reset_parameters", None)
                if callable(reset):
                    reset()
        return module

    def _check(self, params: Params, columns: int, dtype: torch.dtype) -> None:
        replicates = next(iter(params.values())).shape[0] if params else 1
        probe = torch.zeros(replicates, 2, columns, dtype=dtype)
        try:
            with torch.no_grad():
                output = self.features(params, probe)
        except Exception as error:  # a user's module can raise anything, and its words are the best there are
            raise SpecError(f"the module does not accept inputs with {columns} columns: {error}") from error
        if output.dim() != 3 or output.shape[1] != 2:
            raise SpecError(
                "the module must map (N, D) to (N, H); "
                f"for inputs of shape (2, {columns}) it gave {tuple(output.shape[1:])}"
            )
