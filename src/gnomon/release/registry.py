"""The facts of a release as an entry for a registry of deployments.

Field names follow the template of the OpenDP deployments registry (https://registry.opendp.org,
https://github.com/opendp/deployments-registry-data), whose authors align their terms with the draft of NIST SP 800-226,
"Guidelines for Evaluating Differential Privacy Guarantees". The texts are ours. What a certificate cannot know, such as who
the curator is, stays empty for the publisher to fill in.
"""

from __future__ import annotations

from typing import Any

import yaml

from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Adjacency, Unit
from gnomon.table.schema import Schema

OPEN = ("data_curators", "description", "intended_use", "data_product_region", "data_product_sector")
HEAD = f"""# Entry for a registry of differential privacy deployments, made by gnomon from a release's certificate.
# Field names: OpenDP deployments registry, https://github.com/opendp/deployments-registry-data
# Terms: aligned by the registry with the draft of NIST SP 800-226, https://doi.org/10.6028/NIST.SP.800-226
# To be filled in by the publisher: {", ".join(OPEN)}, registry_authors.
"""
_UNITS = {
    Unit.ROW: "one row of the table, its label included",
    Unit.ATTRIBUTE: "one attribute of one row",
    Unit.PERSON: "one person, with all their rows",
}


def entry(certificate: Certificate, schema: Schema, *, synthetic: bool) -> dict[str, Any]:
    """The entry as plain values, in the order of the registry's template."""
    privacy, guarantee = certificate.privacy, certificate.guarantee
    return {
        "url_slug": "".join(c if c.isascii() and c.isalnum() else "_" for c in schema.name.lower()).strip(
            "_"
        ),
        "deployment": {
            "basic": {
                "name": schema.name,
                "data_curators": [{"data_curator_name": "", "data_curator_type": ""}],
                "description": "",
                "intended_use": "",
                "data_product_type": "Synthetic data" if synthetic else "Dataset",
                "data_product_region": "",
                "data_product_sector": "",
                "publication_date": certificate.made or "",
            },
            "dp_variant": {
                "variant_name": "Pure DP" if privacy.delta == 0 else "Approximate DP",
                "data_domain": _domain(schema),
                "unprotected_quantities": "; ".join(certificate.public),
            },
            "privacy_loss": {
                "privacy_unit": _UNITS[guarantee.unit],
                "privacy_unit_details": _unit_details(certificate),
                "number_of_privacy_units": "" if certificate.rows is None else certificate.rows,
                "privacy_parameters": {"epsilon": privacy.epsilon}
                | ({"delta": privacy.delta} if privacy.delta else {}),
                "privacy_parameters_details": certificate.statement,
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": privacy.trust,
                "trust_assumptions": "The custodian and the machine that makes the release are trusted; readers are not.",
                "actors": "custodian (holds the table), readers (see this release only)",
                "release_type": "One release",
                "release_type_details": "Further releases of the same table add to the loss; the custodian's ledger counts "
                "those that are made with it.",
                "data_source_type": "Static",
                "data_source_type_details": "",
                "access_type": "Non-interactive",
                "access_type_details": "a folder of files",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Cells are encoded and clipped by the declared schema alone; "
                "nothing is tuned on the rows unless an event below pays for it.",
                "mechanisms": "; ".join(map(_mechanism, certificate.events)),
                "composition": certificate.composition,
                "post_processing": "; ".join(certificate.post_processing),
                "justification": _justification(certificate),
                "utility": "report.html shows the released columns and the noise of every statistic",
                "additional_information": f"noise: {certificate.noise.source}",
            },
            "administrative": {
                "evidence_sources": {
                    name: {"evidence_source_type": "Release file", "sha256": digest}
                    for name, digest in certificate.files.items()
                },
                "status": "Draft",
                "registry_authors": [""],
                "tier": _tier(certificate),
            },
        },
        "nist_sp_800_226": _pyramid(certificate),
    }


def registry_text(certificate: Certificate, schema: Schema, *, synthetic: bool) -> str:
    body = yaml.safe_dump(
        entry(certificate, schema, synthetic=synthetic), sort_keys=False, allow_unicode=True, width=100
    )
    return HEAD + body


def _domain(schema: Schema) -> str:
    kinds = [f"{column.name} ({column.kind})" for column in schema.released]
    return f"{len(kinds)} columns with declared bounds or categories: " + ", ".join(kinds)


def _unit_details(certificate: Certificate) -> str:
    privacy = certificate.privacy
    if privacy.adjacency is Adjacency.REPLACE_ONE:
        change = "neighbouring tables differ in replacing it by any other; the number of rows is public"
    else:
        change = "neighbouring tables differ in adding or removing it; the number of rows is private"
    rows = f"; at most {privacy.rows} rows of a person are used" if privacy.unit is Unit.PERSON else ""
    return f"{privacy.adjacency.value}: {change}{rows}"


def _mechanism(event: Any) -> str:
    spent = ", ".join(f"{name} = {amount:.6g}" for name, amount in event.loss.items())
    noise = f"{event.norm} sensitivity {event.sensitivity:.6g}, scale {event.scale:.6g}"
    return f"{event.statistic}: {event.mechanism} ({noise}; {spent})"


def _justification(certificate: Certificate) -> str:
    if not certificate.holds:
        return f"Does NOT hold. {certificate.statement}"
    return (
        "Sensitivities are proved and searched for counterexamples, sums are exact integers, noise is exact and cannot be "
        "seeded, and the folder replays from its noisy measurements without the table."
    )


def _tier(certificate: Certificate) -> int:
    """How much of the guarantee is backed by evidence: proofs and a replay where it holds, a bare claim where not."""
    return 3 if certificate.holds else 1


def _pyramid(certificate: Certificate) -> dict[str, Any]:
    """The layers of the document's pyramid, from the top: what a certificate answers and what the publisher must."""
    return {
        "tier": _tier(certificate),
        "privacy parameters and unit": f"{certificate.privacy.definition}; see privacy_loss",
        "algorithms and correctness": "mechanisms with sensitivity, scale and composition; see implementation",
        "trust model": certificate.privacy.trust,
        "utility and bias": "see report.html",
        "security, access control and collection of the data": "",
    }
