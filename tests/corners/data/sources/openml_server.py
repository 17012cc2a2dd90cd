"""A server on this machine that answers as OpenML does, for one made-up table."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


@dataclass
class Served:
    """Columns of numbers or of text (nominal), the last one or those named being the targets."""

    data_id: int
    columns: dict[str, list[Any]]
    targets: list[str]
    md5: str | None = None
    status: int = 200
    asked: list[str] = field(default_factory=list)

    def arff(self) -> bytes:
        lines = ["@RELATION made_up"]
        for name, values in self.columns.items():
            kind = "{" + ",".join(sorted(set(values))) + "}" if isinstance(values[0], str) else "NUMERIC"
            lines.append(f"@ATTRIBUTE {name} {kind}")
        rows = zip(*self.columns.values(), strict=True)
        return "\n".join([*lines, "@DATA", *(",".join(str(v) for v in row) for row in rows), ""]).encode()

    def answers(self, port: int) -> dict[str, bytes]:
        download = f"/data/v1/download/{self.data_id}/made_up.arff"
        description = {
            "id": str(self.data_id),
            "name": "made_up",
            "version": "1",
            "description": "made up",
            "format": "ARFF",
            "status": "active",
            "url": f"http://127.0.0.1:{port}{download}",
            "md5_checksum": self.md5 or hashlib.md5(self.arff()).hexdigest(),
        }
        features = [
            {
                "index": str(k),
                "name": name,
                "data_type": "nominal" if isinstance(values[0], str) else "numeric",
                "is_target": str(name in self.targets).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for k, (name, values) in enumerate(self.columns.items())
        ]
        rows = str(len(next(iter(self.columns.values()))))
        qualities = [{"name": "NumberOfInstances", "value": rows}]
        return {
            f"/json/{self.data_id}": json.dumps({"data_set_description": description}).encode(),
            f"/json/features/{self.data_id}": json.dumps({"data_features": {"feature": features}}).encode(),
            f"/json/qualities/{self.data_id}": json.dumps({"data_qualities": {"quality": qualities}}).encode(),
            download: self.arff(),
        }


@contextmanager
def serving(table: Served) -> Iterator[int]:
    """Answers on a free port of 127.0.0.1 until the block ends; yields the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            table.asked.append(self.path)
            body = table.answers(self.server.server_port).get(self.path) if table.status == 200 else b""  # type: ignore[attr-defined]
            self.send_response(404 if body is None else table.status)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def numbers(n: int, d: int, seed: int = 0) -> dict[str, list[Any]]:
    """``d`` columns of ``n`` made-up numbers with three decimals."""
    values = np.random.default_rng(seed).standard_normal((d, n)).round(3)
    return {f"v{k}": row.tolist() for k, row in enumerate(values)}


def with_mean(n: int, mean: float) -> list[float]:
    """``n`` numbers around ``mean``, on average just that."""
    return [mean + (0.25 if k % 2 else -0.25) for k in range(n - n % 2)] + [mean] * (n % 2)
