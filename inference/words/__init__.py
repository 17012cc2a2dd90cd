"""Words: reusable subgraphs as plain functions of the builder, and the models built from them (message_passing 4).

A word takes the builder ``m`` and variables or data, and returns a variable that the next word may take: words stack.
The models are ready for :func:`inference.infer`; they are also examples of how to write one.

Example
-------
>>> from inference import words
>>> words.precision_gated.arguments[:3]
('phi', 'yhat', 'y')
"""

# Imported at once, not lazily: some functions carry the name of their module, and this binds the function last.
from inference.words.decision_tree import TreeWeights, decision_tree, gated_value, tree_experts, tree_to_weights
from inference.words.noisy_experts import noisy_experts
from inference.words.parameter_counts import dense_layer_count, parameter_count
from inference.words.precision_gated import precision_gated, published_constraints, published_priors
from inference.words.precision_word import precision_word
from inference.words.router import combined, route, routed_experts, router, router_limit, xor_weights
from inference.words.static_ensemble import static_ensemble

__all__ = [
    "TreeWeights",
    "combined",
    "decision_tree",
    "dense_layer_count",
    "gated_value",
    "noisy_experts",
    "parameter_count",
    "precision_gated",
    "precision_word",
    "published_constraints",
    "published_priors",
    "route",
    "routed_experts",
    "router",
    "router_limit",
    "static_ensemble",
    "tree_experts",
    "tree_to_weights",
    "xor_weights",
]
