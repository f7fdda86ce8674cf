"""Signatures of certificates: Ed25519 (RFC 8032) over the bytes of `certificate.yaml`, which holds the hashes of all files.

A certificate says what a release promises, a signature says who promises it. Keys are PEM files, as openssl makes them.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from gnomon.errors import ParameterError, VerificationError

FILE = "certificate.sig"
LARGEST = 10_000  # bytes of a key or a signature
MAKE_PRIVATE = "openssl genpkey -algorithm ed25519 -out key.pem"
MAKE_PUBLIC = "openssl pkey -in key.pem -pubout -out public.pem"
_FORM = """# Ed25519 signature of certificate.yaml. This file may be published.
public_key: {}
signature: {}
"""
_PATTERN = re.compile(re.escape(_FORM).replace(re.escape("{}"), "([A-Za-z0-9+/=]{40,100})"))


@dataclass(frozen=True)
class Signature:
    """A signature, and the public key that its maker says is theirs."""

    key: bytes
    signature: bytes

    def text(self) -> str:
        return _FORM.format(*(base64.b64encode(part).decode() for part in (self.key, self.signature)))

    @property
    def fingerprint(self) -> str:
        """By which people compare keys."""
        return hashlib.sha256(self.key).hexdigest()[:32]


def private_key(path: Path) -> Ed25519PrivateKey:
    """The key that signs; refused in one sentence, which never quotes it."""
    try:
        found = load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise ParameterError(
            f"The file {str(path)!r} is no unencrypted Ed25519 private key in PEM; make one with '{MAKE_PRIVATE}'."
        )
    return found


def public_key(path: Path) -> Ed25519PublicKey:
    """The key of whoever is expected to have signed."""
    try:
        found = load_pem_public_key(_read(path))
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise ParameterError(
            f"The file {str(path)!r} is no Ed25519 public key in PEM; the signer makes one with '{MAKE_PUBLIC}'."
        )
    return found


def sign(content: bytes, key: Ed25519PrivateKey) -> Signature:
    return Signature(key.public_key().public_bytes_raw(), key.sign(content))


def check_signature(text: str, content: bytes, expected: Ed25519PublicKey | None) -> Signature:
    """The signature of `content` in the text of a `certificate.sig`, by the expected key where one is given."""
    found = _PATTERN.fullmatch(text)
    try:
        parts = [base64.b64decode(part, validate=True) for part in found.groups()] if found else []
        signature = Signature(*parts)
        if signature.text() != text:
            raise ValueError
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.signature, content)
    except (ValueError, TypeError, InvalidSignature):
        raise VerificationError(f"The file {FILE} is no signature of this certificate.") from None
    if expected is not None and expected.public_bytes_raw() != signature.key:
        raise VerificationError("The certificate was signed by another key than the one that was given.")
    return signature


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST)
    except OSError as problem:
        raise ParameterError(f"The key {str(path)!r} cannot be read ({problem.strerror}).") from None
