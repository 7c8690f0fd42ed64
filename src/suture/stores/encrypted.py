"""Bodies that only holders of a key can read, in any store.

What is encrypted: the body of every entry, with AES-256-GCM, under a fresh nonce. Bound to it, so that a body that
is moved elsewhere cannot be read there: the id of its session, the id and the kind of its entry.

What stays readable, since stores and operators work with it: ids, kinds, times, sizes, marks, claims, and the meta
of sessions. Put nothing secret there. Whoever can write to the store cannot read or forge a body, but can remove
entries from the end or put back an older state; the chain's key is against that, not these.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from suture.canonical import canonical
from suture.entries import Draft, Entry
from suture.errors import ConfigurationError, Corrupt, MissingExtra, StoreError
from suture.stores.base import Append, Claim, Meta, SessionInfo, Status, Store, Together, key_of
from suture.stores.given import require_store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_SIZE = 32

# A sealed body: this byte, the length of the key id, the key id, the nonce, the ciphertext with its tag.
_FORM = b"\x01"
_NONCE = 12
_TAG = 16
_LONGEST_ID = 255


def is_sealed(body: bytes) -> bool:
    """Whether a body is encrypted; JSON never begins like that."""
    return body.startswith(_FORM)


class EncryptedStore:
    """The sessions of `inner`, their bodies encrypted.

    `keys` holds keys of 32 bytes by their ids, of 255 bytes at most. New bodies are written with the first; every
    one of them can read. To rotate, put a new one in front and keep the old ones for as long as bodies under them
    are wanted. An id is stored beside each body; a key serves for 4,000 million bodies.

    Raises:
        ConfigurationError: there is no key, or one of another size.
        MissingExtra: the package cryptography is not installed.
    """

    def __init__(self, inner: Store, keys: Mapping[str, bytes]) -> None:
        require_store(inner)
        if not isinstance(keys, Mapping):  # never shown: it may be a key
            raise ConfigurationError("keys holds keys by their ids. Give them so: EncryptedStore(inner, {'2026': key}).")
        self.inner = inner
        self._ciphers = {_key_id(id): _cipher(id, key) for id, key in keys.items()}
        if not self._ciphers:
            raise ConfigurationError("There is no key to write with. Give one: EncryptedStore(inner, {'2026': key}).")
        self._writing = next(iter(self._ciphers))
        if isinstance(inner, Together):
            self.append_each = partial(self._append_each, inner)

    @property
    def key(self) -> bytes | None:
        """The key under which the store inside keeps its chains; None for none."""
        return key_of(self.inner)

    def append(
        self,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expect: int | None = None,
        epoch: int | None = None,
        meta: Meta | None = None,
    ) -> int:
        """Encrypt the bodies and append the batch, as `Store.append` says."""
        sealed = self._sealed(session_id, drafts)
        return self.inner.append(session_id, sealed, expect=expect, epoch=epoch, meta=meta)

    def _append_each(self, inner: Together, appends: Sequence[Append]) -> list[int | Exception]:
        """What the store has as `append_each` where the one inside commits many appends at once."""
        sealed = [self._attempt(one) for one in appends]
        answers = iter(inner.append_each([one for one in sealed if isinstance(one, Append)]))
        return [next(answers) if isinstance(one, Append) else one for one in sealed]

    def _attempt(self, wanted: Append) -> Append | Exception:
        try:
            return wanted._replace(drafts=self._sealed(wanted.session_id, wanted.drafts))
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
            return error

    def _sealed(self, session_id: str, drafts: Sequence[Draft]) -> list[Draft]:
        return [msgspec.structs.replace(draft, body=self._seal(session_id, draft)) for draft in drafts]

    def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Entry]:
        """The entries behind `after`, decrypted. `sealed` of each is the hash of what is stored.

        Raises:
            StoreError: a body is under a key that was not given.
            Corrupt: a body cannot be decrypted: it was changed or moved, never was encrypted, or the key is another.
        """
        return [self._opened(session_id, entry) for entry in self.inner.read(session_id, after, limit)]

    def info(self, session_id: str) -> SessionInfo | None:
        """What is known of the session; None when there is none."""
        return self.inner.info(session_id)

    def sessions(
        self,
        *,
        status: Status | None = None,
        meta: Meta | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """Sessions by id behind the id `after`, as `Store.sessions` says."""
        return self.inner.sessions(status=status, meta=meta, after=after, limit=limit)

    def claim(self, session_id: str, owner: str, ttl: float) -> Claim:
        """Claim a session under a new epoch, as `Store.claim` says."""
        return self.inner.claim(session_id, owner, ttl)

    def renew(self, claim: Claim, ttl: float) -> None:
        """Extend the lease, as `Store.renew` says."""
        self.inner.renew(claim, ttl)

    def release(self, claim: Claim) -> None:
        """Give the claim back; nothing happens when it is not in force any more."""
        self.inner.release(claim)

    def erase(self, session_id: str, entry_id: str) -> None:
        """Replace an entry's body by nothing, as `Store.erase` says."""
        self.inner.erase(session_id, entry_id)

    def news(self, session_id: str | None, after: int, timeout: float) -> bool:
        """Wait until something stands behind `after`, as `Store.news` says."""
        return self.inner.news(session_id, after, timeout)

    def delete(self, session_id: str) -> None:
        """Remove a session and all its entries; nothing happens when there is none."""
        self.inner.delete(session_id)

    def close(self) -> None:
        """Close the store inside. A repeat does nothing."""
        self.inner.close()

    # One body ---------------------------------------------------------------------------------

    def _seal(self, session_id: str, draft: Draft) -> bytes:
        nonce = os.urandom(_NONCE)
        head = _FORM + bytes([len(self._writing)]) + self._writing + nonce
        return head + self._ciphers[self._writing].encrypt(nonce, draft.body, _bound_to(session_id, draft.id, draft.kind))

    def _opened(self, session_id: str, entry: Entry) -> Entry:
        if entry.erased:
            return entry
        where = f"session {session_id!r}, entry {entry.seq}"
        id, nonce, text = _parts(entry.body, where)
        cipher = self._ciphers.get(id)
        if cipher is None:
            raise StoreError(
                f"{where}: the body is under the key {_shown(id)}, which was not given; "
                f"there are {', '.join(map(_shown, self._ciphers))}. Give that one too."
            )
        from cryptography.exceptions import InvalidTag

        try:
            body = cipher.decrypt(nonce, text, _bound_to(session_id, entry.id, entry.kind))
        except InvalidTag as error:
            raise Corrupt(
                f"{where}: the body cannot be decrypted with the key {_shown(id)}. Either the key given under that id is "
                "another one, or the entry was changed or comes from elsewhere. Check the key first, then `suture verify`."
            ) from error
        return msgspec.structs.replace(entry, body=body, sealed=hashlib.sha256(entry.body).digest())


def _parts(sealed: bytes, where: str) -> tuple[bytes, bytes, bytes]:
    """The key id, the nonce and the ciphertext.

    Raises:
        Corrupt: this is no sealed body.
    """
    behind_id = 2 + sealed[1] if len(sealed) > 1 else 2
    if not sealed.startswith(_FORM) or len(sealed) < behind_id + _NONCE + _TAG:
        raise Corrupt(
            f"{where}: the body is not encrypted, or was cut off. A store that was begun without encryption is read "
            "without it; copy its sessions into an encrypted one."
        )
    return sealed[2:behind_id], sealed[behind_id : behind_id + _NONCE], sealed[behind_id + _NONCE :]


def _bound_to(session_id: str, entry_id: str, kind: str) -> bytes:
    return canonical([session_id, entry_id, kind])


def _key_id(id: str) -> bytes:
    encoded = id.encode("utf-8", "surrogatepass")
    if not 0 < len(encoded) <= _LONGEST_ID:
        raise ConfigurationError(f"The key id {id!r} has {len(encoded)} bytes. Give it 1 to {_LONGEST_ID}.")
    return encoded


def _shown(id: bytes) -> str:
    return repr(id.decode("utf-8", "backslashreplace"))


def _cipher(id: str, key: object) -> AESGCM:
    if not isinstance(key, bytes) or len(key) != KEY_SIZE:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise ConfigurationError(
            f"The key {id!r} is {size}; it must be {KEY_SIZE} bytes. Make one: os.urandom({KEY_SIZE})."
        )
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(
            "Encrypted stores need the package cryptography. Install it with: pip install 'suture[encryption]'"
        ) from error
    return AESGCM(key)
