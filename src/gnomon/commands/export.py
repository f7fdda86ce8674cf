"""gnomon export: the facts of a release for a registry of deployments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.output import new_file
from gnomon.commands.terminal import facts, say

NAME = "export"


def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    registry: Annotated[
        Path, typer.Option("--registry", metavar="FILE", help="Where to write the entry: a new .yaml file.")
    ],
) -> None:
    """Write the entry of a release for a registry of differential privacy deployments.

    The entry has the fields of the OpenDP deployments registry. What the certificate cannot know, such as who you are, is
    left empty for you to fill in.

    [bold]Example[/]: gnomon export ward-release --registry ward.yaml
    """
    from gnomon.release.registry import OPEN, registry_text
    from gnomon.release.verify import open_release

    opened = open_release(folder, replay=False)
    with new_file(registry) as file:
        text = registry_text(opened.certificate, opened.schema, synthetic=opened.synthetic)
        file.write_text(text, encoding="utf-8")
    facts(out=registry, open=list(OPEN))
    say(f"Wrote {registry}. Fill in: {', '.join(OPEN)}.")
