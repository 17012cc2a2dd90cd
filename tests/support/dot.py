"""A small reader of Graphviz's language, strict about its grammar: what it reads, ``dot`` reads."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z_][A-Za-z_0-9]*|\d+)|(?P<mark>--|[{}\[\];,=]))', re.S
)


@dataclass
class Box:
    """A graph or subgraph: its own vertices with their attributes, the boxes inside it, and all edges in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    vertices: dict[str, dict[str, str]] = field(default_factory=dict)
    boxes: list["Box"] = field(default_factory=list)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def everything(self) -> dict[str, dict[str, str]]:
        """The vertices of this box and of those inside it."""
        out = dict(self.vertices)
        for box in self.boxes:
            out |= box.everything()
        return out

    def box(self, name: str) -> "Box":
        """The box of that name, however deep."""
        found = [self] if self.name == name else [b for inner in self.boxes for b in inner.find(name)]
        assert len(found) == 1, f"{len(found)} boxes {name!r}"
        return found[0]

    def find(self, name: str) -> list["Box"]:
        """All boxes of that name."""
        return [self] * (self.name == name) + [b for inner in self.boxes for b in inner.find(name)]


class Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            assert match is not None, f"no token at {text[at : at + 30]!r}"
            self.tokens.append(match.group().strip())
            at = match.end()

    def take(self, wanted: str | None = None) -> str:
        assert self.tokens, "the text ends too early"
        token = self.tokens.pop(0)
        assert wanted is None or token == wanted, f"expected {wanted!r}, found {token!r}"
        return token

    def next(self) -> str:
        assert self.tokens, "the text ends too early"
        return self.tokens[0]

    def name(self) -> str:
        token = self.take()
        if token.startswith('"'):
            return re.sub(r'\\(["\\])', r"\1", token[1:-1])
        assert re.fullmatch(r"\w+", token), f"{token!r} is no name"
        return token

    def attributes(self) -> dict[str, str]:
        out: dict[str, str] = {}
        if not self.tokens or self.tokens[0] != "[":
            return out
        self.take("[")
        while self.next() != "]":
            key = self.name()
            self.take("=")
            out[key] = self.name()
            if self.next() == ",":
                self.take(",")
        self.take("]")
        return out

    def body(self, box: Box) -> Box:
        self.take("{")
        while self.next() != "}":
            self.statement(box)
        self.take("}")
        return box

    def statement(self, box: Box) -> None:
        if self.next() == "subgraph":
            self.take()
            box.boxes.append(self.body(Box(self.name())))
            if self.next() == ";":
                self.take(";")
            return
        quoted = self.next().startswith('"')
        name = self.name()
        if self.next() == "=":
            self.take("=")
            box.attributes[name] = self.name()
        elif self.next() == "--":
            self.take("--")
            other = self.name()
            box.edges.append((name, other, self.attributes()))
        elif not quoted and name in ("node", "edge", "graph"):
            self.attributes()
        else:
            assert name not in box.vertices, f"{name!r} is drawn twice"
            box.vertices[name] = self.attributes()
        self.take(";")


def read(text: str) -> Box:
    """The one undirected graph of a text; AssertionError where it is none."""
    reader = Reader(text)
    reader.take("graph")
    box = reader.body(Box(reader.name()))
    assert not reader.tokens, f"more follows: {reader.tokens[:3]}"
    return box
