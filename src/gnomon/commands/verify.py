"""gnomon verify: is a release folder what its certificate says?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.terminal import Watch, facts, say

NAME = "verify"


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The public key (PEM) of whoever should have signed it."),
    ] = None,
) -> None:
    """Check a release folder: hashes, signature, schema, ranges of cells, composition of the losses, and replay.

    Replay makes the folder again from its noisy measurements, without the table: with the same versions, byte for byte.
    Whatever does not fit is one sentence and exit code 1.

    A signer makes a key with [bold]openssl genpkey -algorithm ed25519 -out key.pem[/] and gives away what
    [bold]openssl pkey -in key.pem -pubout -out public.pem[/] writes.

    [bold]Example[/]: gnomon verify ward-release --key public.pem
    """
    from gnomon.release.verify import verify

    with Watch(passes=1) as watch:
        found = verify(folder, key=key, progress=watch)
    certificate, signature = found.release.certificate, found.signature
    facts(
        folder=folder,
        files=list(certificate.files),
        replayed=found.replayed,
        signed_by=None if signature is None else signature.fingerprint,
        holds=certificate.holds,
        notes=list(found.notes),
    )
    say(
        f"{folder} is what its certificate says: {len(certificate.files)} files, hashes, schema, ranges and losses agree."
    )
    if found.replayed:
        say("Made again from its measurements, without the table, every byte is the same.")
    if signature is None:
        say("It is not signed.")
    else:
        checked = "the key that was given" if key is not None else "give --key to check whose it is"
        say(f"Signed by the key {signature.fingerprint} ({checked}).")
    for note in found.notes:
        say(note)
    if not certificate.holds:
        say(f"NOT PRIVATE as declared. {certificate.statement}")
