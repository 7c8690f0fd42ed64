"""`suture chat`: a conversation at the terminal, kept in a store and picked up again where it was."""

from __future__ import annotations

import sys

import click

from suture.cli.console import as_json
from suture.cli.stores import in_store


@click.command()
@click.option(
    "--model",
    required=True,
    metavar="NAME",
    envvar="SUTURE_MODEL",
    help="Who answers, such as openai:gpt-5.2, or scripted:FILE without a key; $SUTURE_MODEL when left out.",
)
@in_store
@click.option("--session", "id", metavar="ID", help="The conversation to pick up; a new one when left out.")
@click.option("--tools", multiple=True, metavar="MODULE:ATTR", help="What the model may call; may be repeated.")
@click.option("--system", metavar="TEXT", help="Instructions that lead every request. They are not stored.")
@click.option("--base-url", metavar="URL", help="Where the model is, if not where its provider is.")
@as_json
def chat(
    model: str,
    url: str,
    id: str | None,
    tools: tuple[str, ...],
    system: str | None,
    base_url: str | None,
    as_json: bool,
) -> int:
    """Talk with a model, and pick the conversation up again.

    Each call is shown beside its result, and calls that need a person are asked about here. A line typed while the
    model works is left for it; Ctrl-C stops it; Ctrl-D leaves. When stdin is no terminal, or with --json, each line is
    a prompt, and the exit status is 1 when the last run did not complete.
    """
    from suture.cli.chat.setup import Setup

    if sys.stdin is None:
        raise click.UsageError("There is no input. Give it a terminal, or lines in a pipe.")
    setup = Setup(model, url, id, tools, system, base_url)
    if as_json or not sys.stdin.isatty():
        from suture.cli.chat.piped import answer_lines

        return answer_lines(setup, as_json=as_json)
    from suture.cli.chat.conversation import converse

    return converse(setup)
