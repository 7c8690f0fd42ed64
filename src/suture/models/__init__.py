"""Models: what one is (`base`), and the adapters, each loaded on use."""

from suture.models.base import Model, Request

__all__ = ["Model", "Request"]
