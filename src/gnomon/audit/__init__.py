"""Attack a guarantee: many runs of the real mechanism on two neighbouring tables, and what they prove about epsilon."""

from gnomon.audit.attack import Attack, Finding, audit
from gnomon.audit.catalogue import attacks_on

__all__ = ["Attack", "Finding", "attacks_on", "audit"]
