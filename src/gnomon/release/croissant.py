"""`croissant.json`: a release described in Croissant 1.1, so that dataset search and loaders understand it.

Fields: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html, with provenance in PROV-O as that document
advises and the responsible-AI terms of https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html, among them
`rai:hasSyntheticData`. What only a publisher knows (licence, address, creator) is theirs to add.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gnomon.privacy.certificate import Certificate
from gnomon.table.column import Column
from gnomon.table.schema import Schema

FILE = "croissant.json"
RECORDS = "rows"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "conformsTo": "dct:conformsTo",
}
CONTEXT |= {
    name: f"cr:{name}"
    for name in """
        annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field fileProperty fileObject
        fileSet format includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex
        readLines repeated replace samplingRate sdVersion separator source subField transform unArchive value
    """.split()  # noqa: SIM905 - a list of words, read as one
}
_FORMATS = {
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".toml": "application/toml",
    ".npz": "application/zip",
}


def croissant(
    certificate: Certificate, schema: Schema, sizes: Mapping[str, int], *, data: str, synthetic: bool
) -> str:
    """The text of `croissant.json`: files with their hashes, columns with their types, and where the rows come from."""
    name = schema.name
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": f"A differentially private release of the table {name!r}, made by {certificate.method}. "
        + certificate.statement,
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "version": "1.0.0",
        "citeAs": f"{name}, a differentially private release made with gnomon {certificate.versions.get('gnomon', '')}",
        **(
            {}
            if certificate.made is None
            else {"datePublished": certificate.made, "dateCreated": certificate.made}
        ),
        "isLiveDataset": False,
        "prov:wasDerivedFrom": {
            "@type": "prov:Entity",
            "prov:label": f"the private table {name!r}, which is not published",
        },
        "prov:wasGeneratedBy": _activity(certificate),
        "rai:hasSyntheticData": synthetic,
        "rai:personalSensitiveInformation": certificate.statement,
        "rai:dataManipulationProtocol": [
            *(f"{event.statistic}: noise by {event.mechanism}" for event in certificate.events),
            *certificate.post_processing,
        ],
        "rai:dataLimitations": [
            "Rows are synthetic or blurred: do not count rare cases or read single rows as if they were people.",
            *certificate.weak,
            *certificate.caveats,
        ],
        "distribution": [_file(name, digest, sizes[name]) for name, digest in certificate.files.items()],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": RECORDS,
                "name": RECORDS,
                "field": [_field(column, data) for column in schema.released],
            }
        ],
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _activity(certificate: Certificate) -> dict[str, Any]:
    return {
        "@type": "prov:Activity",
        "prov:label": f"differentially private release by {certificate.method}",
        "description": f"{certificate.composition}. Details: certificate.yaml.",
        "prov:wasAssociatedWith": {
            "@type": "prov:SoftwareAgent",
            "prov:label": f"gnomon {certificate.versions.get('gnomon', '')}",
        },
    }


def _file(name: str, digest: str, size: int) -> dict[str, Any]:
    ending = name[name.rindex(".") :]
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{size} B",
        "encodingFormat": _FORMATS.get(ending, "application/octet-stream"),
        "sha256": digest,
    }


def _field(column: Column, data: str) -> dict[str, Any]:
    kinds = [_kind(column), *(["cr:Label"] if column.role == "target" else [])]
    bounds = "" if column.low is None else f", from {column.low} to {column.high} as declared"
    unit = f" in {column.unit}" if column.unit else ""
    return {
        "@type": "cr:Field",
        "@id": f"{RECORDS}/{column.name}",
        "name": column.name,
        "description": f"a {column.kind}{unit}{bounds}",
        "dataType": kinds if len(kinds) > 1 else kinds[0],
        "source": {"fileObject": {"@id": data}, "extract": {"column": column.name}},
    }


def _kind(column: Column) -> str:
    if column.kind == "number":
        return "sc:Integer" if column.integer else "sc:Float"
    if column.kind == "date":
        return "sc:DateTime" if isinstance(column.low, datetime) else "sc:Date"
    if column.kind == "boolean":
        return "sc:Boolean"
    numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in column.values)
    return "sc:Integer" if column.values and numbers else "sc:Text"
