"""A model by its name: what is missing is said, and what to do about it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import suture
from suture.models import Anthropic, OpenAIChat
from suture.models.scripted import ScriptedModel

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment in which nobody is signed in."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("openai:gpt-5", {}, "openai:gpt-5 needs a key: set OPENAI_API_KEY, or pass api_key=...."),
    ("anthropic:claude", {}, "anthropic:claude needs a key: set ANTHROPIC_API_KEY, or pass api_key=...."),
    ("gpt-5", {}, "'gpt-5' names no provider that suture knows. Say 'openai:<model>', 'anthropic:<model>' or 'scripted:<file>'"),
    ("openai:", {}, "'openai:' names no model. Say 'openai:<model>'."),
    ("openai: ", {}, "'openai: ' names no model."),
    ("google:gemini", {}, "google models are not there yet in this version."),
    ("openai:m", {"max_tokens": 5}, "'openai' models take no option 'max_tokens'; they take base_url, api_key, dialect, timeout, extra"),
    ("scripted:x", {"base_url": "u"}, "'scripted' models take no option 'base_url'; they take none."),
    ("scripted:nowhere.json", {}, "The script 'nowhere.json' cannot be read: "),
    ("anthropic:m", {"api_key": "k", "thinking": 100}, "thinking=100 is no number of tokens from 1,024 to below max_tokens=8192."),
    ("anthropic:m", {"api_key": "k", "thinking": 9000}, "thinking=9000 is no number of tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "text"), REFUSED)
def test_what_is_missing_is_said(name: str, options: dict[str, object], text: str) -> None:
    """Before anything is asked, with what to set, pass or install."""
    with pytest.raises(suture.ConfigurationError) as refused:
        suture.open_model(name, **options)
    assert text in str(refused.value)


def test_a_broken_profile_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the SDK says of its own configuration reaches the developer as one error of ours."""
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with pytest.raises(suture.ConfigurationError, match=r"anthropic:m cannot be set up: Config file not found"):
        suture.open_model("anthropic:m")


@pytest.mark.parametrize(
    "content", ["", "{", "{}", "[1]", '[{"txt": "x"}]', '[{"calls": 1}]', '[{"calls": [{"id": "c"}]}]']
)
def test_a_script_that_is_none_is_refused_before_it_is_asked(content: str, tmp_path: Path) -> None:
    """The whole file is read first, not its third turn in the middle of a conversation."""
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(suture.ConfigurationError, match=r"[Ss]cript"):
        suture.open_model(f"scripted:{path}")


def test_names_open_models(tmp_path: Path) -> None:
    """Each provider's name gives its adapter, and a script its turns."""
    assert isinstance(suture.open_model("openai:gpt-5", api_key="k"), OpenAIChat)
    assert isinstance(suture.open_model("anthropic:claude", api_key="k"), Anthropic)
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"text": "hello"}]))
    model = suture.open_model(f"scripted:{path}")
    assert isinstance(model, ScriptedModel)
    assert suture.Agent(f"scripted:{path}").run("hi").text == suture.Agent(model).run("hi").text == "hello"


DIALECTS = [
    (None, "", "openai"), ("https://mine.openai.azure.com/openai/v1/", "", "openai"),
    ("https://api.deepseek.com", "deepseek", "api.deepseek.com"), ("https://openrouter.ai/api/v1", "openrouter", "openrouter.ai"),
    ("http://127.0.0.1:8000/v1", "compatible", "127.0.0.1"), ("https://not-api.openai.com.evil.example/v1", "compatible", "not-api.openai.com.evil.example"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "dialect", "provider"), DIALECTS)
def test_a_server_is_known_by_its_address(url: str | None, dialect: str, provider: str) -> None:
    """What a copy of the API takes is told from where it is; only the end of a host's name counts."""
    model = OpenAIChat("m", base_url=url, api_key="k")
    assert (model.dialect, model.origin.provider) == (dialect, provider)
    assert OpenAIChat("m", base_url=url, api_key="k", dialect="vllm").dialect == "vllm"


def test_the_usual_environment_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Address and key as the vendors' SDKs read them; a server of one's own needs no key."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = suture.open_model("openai:m")
    assert isinstance(model, OpenAIChat)
    assert model.dialect == "compatible"
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "t")
    assert suture.open_model("anthropic:m").name == "anthropic:m"


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("openai:m", "openai", "openai"), ("anthropic:m", "anthropic", "anthropic")]
)
def test_a_missing_extra_says_how_to_install_it(name: str, module: str, extra: str) -> None:
    """In a process in which the SDK cannot be imported, the error is MissingExtra, and everything else works."""
    script = (
        f"import sys; sys.modules[{module!r}] = None\nimport suture\n"
        f"try:\n    suture.open_model({name!r}, api_key='k')\nexcept suture.MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert f"pip install 'suture[{extra}]'" in done.stdout
