"""An inbox as the engine would hand it to a rule, from marginals and known values without plates."""

from typing import Any

import numpy as np

from inference.distributions import Distribution, NormalGamma
from inference.inbox import Inbox, Pair, read
from inference.nodes._base import Node
from inference.structure import Factor, Held, Known, Variable


def inbox(
    node: Node,
    *,
    pair: Pair | None = None,
    joint: NormalGamma | None = None,
    without: tuple[str, ...] = (),
    **given: Any,
) -> Inbox:
    """``given``: for each port a distribution, or an array of its event."""
    types, ports = node.port_types(), {}
    marginals: dict[str, Distribution] = {}
    for port, value in given.items():
        held: Held
        if isinstance(value, Distribution):
            event = () if isinstance(value, NormalGamma) and value.event_shape == (1,) else tuple(value.event_shape)
            held = Variable(port, types[port], (), event)
            marginals[port] = value
        else:
            array = np.asarray(value, dtype=np.float64)
            held = Known(port, array, (), array.shape, types[port])
        ports[port] = held
    factor = Factor("tested", node, ports, ())
    return read(factor, marginals, {port: {} for port in ports}, pair, joint, without)
