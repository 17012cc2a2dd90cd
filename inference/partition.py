"""Which latent variables share one marginal: what constraints say, and what is joined where an exact rule exists."""

from dataclasses import dataclass, field

from inference.blocks.tree import find_tree, inner_factors
from inference.constraints import Reading, images_of
from inference.errors import LoopyBP, NoRule
from inference.nodes.normal_gamma import NormalGamma
from inference.structure import Factor, FactorGraph, Variable

DENSE_LIMIT = 2000


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found while planning: remarks for the plan, and warnings."""

    notes: list[str] = field(default_factory=list)
    doubts: list[Warning] = field(default_factory=list)


def partition(graph: FactorGraph, reading: Reading, findings: Findings) -> list[frozenset[str]]:
    """The latent variables in clusters, one marginal each; the image of an exp link goes where its z goes.

    Raises
    ------
    NoRule : a constraint asks for a cluster that no rule computes.

    Example
    -------
    >>> partition(FactorGraph("empty", {}, {}, ()), Reading(), Findings())
    []
    """
    images = images_of(graph)
    part = {v: frozenset({v}) for v in graph.variables if v not in images}
    for factor in graph.factors:
        if isinstance(factor.node, NormalGamma):
            _merge(part, frozenset(factor.variables))
    for cluster in reading.clusters:
        wanted = cluster - frozenset(images)
        _merge(part, wanted)
        _demand_rules(graph, part[next(iter(wanted))])
    asked = set(part.values())
    if not reading.all_apart:
        _join_where_exact(graph, reading, part)
    clusters = list(dict.fromkeys(part[v] for v in graph.variables if v in part))
    joined = [", ".join(v for v in graph.variables if v in c) for c in clusters if c not in asked]
    findings.notes.extend(
        f"{names} are joined by default, as an exact rule exists; q(..)q(..) splits them" for names in joined
    )
    return [c for cluster in clusters for c in _split_if_loopy(graph, cluster, reading, findings)]


def _merge(part: dict[str, frozenset[str]], together: frozenset[str]) -> None:
    merged = frozenset().union(*(part[v] for v in together))
    for v in merged:
        part[v] = merged


def _join_where_exact(graph: FactorGraph, reading: Reading, part: dict[str, frozenset[str]]) -> None:
    """Join Gaussian variables along every factor that has a rule for it, unless a constraint speaks of them."""
    bound = reading.apart | frozenset(reading.fixed) | {v for v, form in reading.forms.items() if form != "gaussian"}
    bound |= {v for cluster in reading.clusters for v in cluster}
    for factor in graph.factors:
        for ports in factor.node.couples:
            names = frozenset(h.name for p in ports if isinstance(h := factor.ports[p], Variable))
            if len(names) != 2 or names & bound or any(graph.variables[v].type != "real" for v in names):
                continue
            merged = frozenset().union(*(part[v] for v in names))
            if _has_rules(graph, merged):
                _merge(part, names)


def _ports_in(graph: FactorGraph, cluster: frozenset[str]) -> list[tuple[Factor, frozenset[str]]]:
    return [(f, frozenset(p for v in cluster for p in f.holding(v))) for f in inner_factors(graph, cluster)]


def _has_rules(graph: FactorGraph, cluster: frozenset[str]) -> bool:
    return all(ports in factor.node.couples for factor, ports in _ports_in(graph, cluster))


def _demand_rules(graph: FactorGraph, cluster: frozenset[str]) -> None:
    for factor, ports in _ports_in(graph, cluster):
        if ports not in factor.node.couples:
            raise factor.node.no_rule(f"the joint of {sorted(ports)}", f"the cluster q({', '.join(sorted(cluster))})")
    if not _connected(graph, cluster):
        raise NoRule(
            f"no factor joins the variables of q({', '.join(sorted(cluster))}); a cluster is made of variables that "
            "share factors: leave out the one that does not belong, or write q(a)q(b)"
        )


def _connected(graph: FactorGraph, cluster: frozenset[str]) -> bool:
    reached = {next(iter(cluster))}
    for _ in cluster:
        for factor in inner_factors(graph, cluster):
            names = factor.variables_in(cluster)
            reached |= names if names & reached else frozenset()
    return reached == cluster


def _split_if_loopy(
    graph: FactorGraph, cluster: frozenset[str], reading: Reading, findings: Findings
) -> list[frozenset[str]]:
    if len(cluster) == 1 or any(graph.variables[v].type != "real" for v in cluster):
        return [cluster]
    if find_tree(graph, cluster) is not None:
        return [cluster]
    named, size = ", ".join(sorted(cluster)), sum(graph.variables[v].size for v in cluster)
    if reading.tree_demanded:
        raise NoRule(
            f"the linear factors among {named} make loops, and BeliefPropagation() is exact on trees only; leave it "
            "out to have them solved as one dense Gaussian, or keep them apart with MeanField()"
        )
    if size <= DENSE_LIMIT:
        findings.notes.append(f"q({named}) has loops and is solved exactly as one dense Gaussian of {size} dimensions")
        return [cluster]
    text = (
        f"q({named}) has loops and {size} dimensions, more than {DENSE_LIMIT}; its variables are kept apart, so that "
        "the free energy stays a bound"
    )
    findings.doubts.append(LoopyBP(text))
    findings.notes.append(text)
    return [frozenset({v}) for v in graph.variables if v in cluster]
