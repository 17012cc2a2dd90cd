"""What ensembles of networks share, whatever their head: where members start, and what the penalty is chosen by."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from corners.baselines._network_fit import derived_seed
from corners.baselines._network_problem import MapProblem
from corners.baselines._networks import NetworkMethod
from corners.errors import SpecError
from corners.optimise import Outcome
from corners.types import Array


@dataclass(frozen=True)
class EnsembleMethod(NetworkMethod):
    """``members`` networks, each stopped on its own; one penalty for all of them, by the NLL of the mixture."""

    members: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members < 1:
            raise SpecError(f"an ensemble has at least 1 member; got members={self.members}")

    def _member_seeds(self, seed: int) -> list[int]:
        return [seed, *(derived_seed(seed, member) for member in range(1, self.members))]

    def _scores(self, problem: MapProblem, outcome: Outcome, count: int) -> Float[Array, "C K"]:
        """Validation NLL of every candidate's mixture, in the units trained in: a replicate's are all shifted alike.

        Infinite where a member never reached a finite state.
        """
        with torch.no_grad():
            log_prob = problem.log_prob(outcome.params, problem.data.validation).double()
        shape = (len(self.candidates), self.members, count)
        mixed = log_prob.unflatten(0, shape).logsumexp(1) - float(np.log(self.members))
        nll = (-mixed.mean(-1)).numpy()
        reached = np.isfinite(outcome.best_validation).reshape(shape).all(axis=1)
        return np.where(reached & np.isfinite(nll), nll, np.inf)
