"""What a picture, a document or a sound needs before anybody can be asked to look at it."""

from __future__ import annotations

from collections.abc import Iterable

from suture.messages import Audio, File, Image, Opaque, Text


def trouble_with(part: object) -> str | None:
    """Why a user's message or a result may not hold the part; None when it may."""
    if isinstance(part, Text | Opaque):
        return None
    if not isinstance(part, Image | File | Audio):
        return f"a {type(part).__name__} is no part of it; pass suture.Text, Image, File or Audio"
    kind = type(part).__name__
    sources = [name for name in ("data", "url", "file_id") if getattr(part, name) is not None]
    if len(sources) != 1:
        given = " and ".join(sources) or "nothing"
        return f"{kind}({given}): give it one of data (base64), url and file_id"
    if not isinstance(getattr(part, sources[0]), str):
        how = "; base64.b64encode(...).decode() makes it one" if sources[0] == "data" else ""
        return f"{kind}: its {sources[0]} is no text{how}"
    return None


def trouble_among(parts: Iterable[object]) -> str | None:
    """The first trouble with any of the parts; None when there is none."""
    return next((trouble for part in parts if (trouble := trouble_with(part)) is not None), None)
