"""A real server in this process: llama.cpp's, with the small model's weights as float32."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

KEY = "test-key-of-llamacpp"


def write_float32(source: Path, target: Path) -> None:
    """The same weights, dequantised: on the quantised file log-probabilities differ by tenths, and so do texts."""
    import gguf
    from gguf import quants

    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        item = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], item)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, quants.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def llamacpp(model: Path, *, parallel: int = 4) -> Iterator[str]:
    """Serve until the block ends; the address ends in /v1, the model is `smol`, and KEY is asked for."""
    server = start(model, port=0, parallel=parallel)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


@contextmanager
def llamacpp_process(model: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The same in a process of its own, which can be killed; killed at the latest when the block ends."""
    command = [sys.executable, "-m", "tests.backends.llamacpp", str(model), str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=Path(__file__).parents[2]) as process:
        try:
            yield process
        finally:
            process.kill()


def start(model: Path, *, port: int, parallel: int) -> Any:
    """A server that ends when the last reference to it does, and no request is under way."""
    import xllamacpp as xl

    params = xl.CommonParams()
    params.model.path, params.model_alias, params.port = str(model), {"smol"}, port
    params.n_ctx, params.n_parallel, params.api_keys, params.ui = 4096, parallel, [KEY], False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_type_k = params.cache_type_v = xl.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xl.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xl.Server(params)


if __name__ == "__main__":
    serving = start(Path(sys.argv[1]), port=int(sys.argv[2]), parallel=4)
    threading.Event().wait()
