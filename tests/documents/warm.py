"""A Python server with PyTorch and ExecuTorch already imported, which runs `etprof export` for documents.

An export of a small model takes 11 s of processor time, of which imports and one-time work of ExecuTorch take 8 s, and
documents export thirty times. So a server does this work once, and forks for each command. $ETPROF_PYTHON names its client,
which sends its arguments, folder, environment, and streams, and ends with the exit code of the command. The client runs
all other modules in the real Python. python/tests/export/test_export.py and tests/wheel test exports in a new Python.

`warm.py SOCKET` is the server. The client is a copy of this file that starts with REAL and SOCKET (`client`).
"""

import importlib
import json
import os
import socket
import sys
from pathlib import Path

MODULE = "etprof.export"
# Modules that etprof.export imports, and those that do work once: the graphs that XNNPACK's passes look for.
THIRD_PARTY = (
    "torch",
    "torchao.quantization.pt2e.quantize_pt2e",
    "executorch.exir",
    "executorch.devtools",
    "executorch.backends.xnnpack.partition.xnnpack_partitioner",
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer",
    "executorch.backends.xnnpack.xnnpack_preprocess",
)


def client(real: Path, place: Path) -> str:
    """Returns the text of a program that replaces the Python `real`."""
    text = Path(__file__).read_text(encoding="utf-8")
    return f"#!{real.resolve()} -IS\nREAL, SOCKET = {str(real)!r}, {str(place)!r}\n{text}"


def forward_to_server(real: str, place: str) -> int:
    """Runs the arguments of this program in the server, and returns the exit code."""
    arguments = sys.argv[1:]
    if arguments[:2] != ["-m", MODULE]:
        os.execv(real, [real, *arguments])  # noqa: S606
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        socket.send_fds(connection, [b"!"], [0, 1, 2])
        request = {"arguments": arguments[2:], "folder": str(Path.cwd()), "environment": dict(os.environ)}
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        return int(connection.recv(16) or b"70")


def run(connection: socket.socket) -> None:
    """Runs the command of a client in a separate process."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
    process = os.fork()
    if process == 0:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        run_module(request)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall(str(code if code >= 0 else 128 - code).encode())


def run_module(request: dict) -> None:
    """Runs the module as `python -m` does, and ends the process."""
    import atexit
    import runpy
    import traceback

    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0:0] = [request["folder"], *filter(None, request["environment"].get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [MODULE, *request["arguments"]]
    code: object = 0
    try:
        runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:  # the interpreter does the same
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def lower_small_module() -> None:
    """Lowers a small module, for imports and work that happen only then. One thread, because a pool does not survive a fork."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    program = torch.export.export(torch.nn.Linear(4, 4).eval(), (torch.zeros(1, 4),), strict=True)
    to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    torch.set_num_threads(threads)


def serve(place: str) -> None:
    """Serves clients as long as the parent process lives. Clients can connect before the imports are done."""
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{place}.new")
        server.listen()
        Path(f"{place}.new").rename(place)  # if the file exists, clients can connect
        for name in THIRD_PARTY:
            importlib.import_module(name)
        lower_small_module()
        server.settimeout(2)
        while os.getppid() == parent:
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.setblocking(True)
            if os.fork() == 0:
                server.close()
                run(connection)
                os._exit(0)
            connection.close()


if __name__ == "__main__":
    if "REAL" in globals():
        sys.exit(forward_to_server(globals()["REAL"], globals()["SOCKET"]))
    serve(sys.argv[1])
