"""A PyMC model's log density and gradient as one function of one vector, compiled once and reused for other data."""

from typing import Any

import numpy as np

from inference.errors import SpecError
from inference.truth import stacks
from inference.types import Array, Float


class CompiledDensity:
    """Log density of ``model`` on its unconstrained coordinates, Jacobians of PyMC's transforms included.

    The vector holds the scalar value variables first, in the order of their declaration, then the one vector-valued
    variable if there is one; its length is free, so data of another shape need no new compilation. The object is what
    ``pymc.NUTS`` accepts as ``logp_dlogp_func``: the underscored attributes are that class's side of the contract.

    Example
    -------
    >>> pm = stacks.pymc()
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0.0, 2.0)
    >>> log_density = CompiledDensity(model)
    >>> value, gradient = log_density(np.array([4.0]))
    >>> float(gradient[0]), round(float(value - log_density(np.zeros(1))[0]), 12)
    (-1.0, -2.0)
    """

    dtype = "float64"
    _raveled_inputs = True

    def __init__(self, model: Any) -> None:
        pytensor = stacks.load("pytensor")
        variables = model.value_vars
        self.scalars = sum(variable.ndim == 0 for variable in variables)
        if any(variable.ndim == 0 for variable in variables[self.scalars :]):
            raise SpecError("a model for this sampler declares its scalar variables before the vector-valued one")
        self.names = tuple(variable.name for variable in variables)
        self._has_vector = len(variables) > self.scalars
        self._extra_vars_shared: dict[Any, Any] = {}
        log_density = model.logp()
        # Separate scalar inputs halve the compile time of one joined vector (no split, no join of the gradient).
        outputs = [log_density, *pytensor.grad(log_density, variables)]
        with stacks.expected_notices():
            self._function = pytensor.function(variables, outputs, **stacks.compile_kwargs())
        self._function.trust_input = True

    def __call__(self, position: Float[Array, " P"]) -> tuple[Any, Float[Array, " P"]]:
        """The log density (a 0-d array) and its gradient at ``position``."""
        value, gradient = self._pytensor_function(position)
        return value, gradient

    def _pytensor_function(self, position: Any) -> Any:
        # Called at every leapfrog step: shapes are checked at the door, not here.
        if not self.scalars:
            return self._function(position)
        parts = [position[i : i + 1].reshape(()) for i in range(self.scalars)]
        if self._has_vector:
            parts.append(position[self.scalars :])
        value, *gradients = self._function(*parts)
        return value, np.concatenate([part.reshape(-1) for part in gradients])

    def point(self, position: Float[Array, " P"]) -> dict[str, Array]:
        """``position`` as PyMC's dictionary of value variables."""
        parts = {self.names[i]: np.array(position[i]) for i in range(self.scalars)}
        if self._has_vector:
            parts[self.names[-1]] = position[self.scalars :].copy()
        return parts

    def position(self, point: dict[str, Array]) -> Float[Array, " P"]:
        """The vector of a dictionary of value variables; the inverse of ``point``."""
        return np.concatenate([np.atleast_1d(point[name]) for name in self.names])

    def batch(self, positions: Float[Array, "S P"]) -> Float[Array, " S"]:
        """The log density at every row."""
        return np.array([float(self._pytensor_function(row)[0]) for row in np.ascontiguousarray(positions)])
