"""What DPRP's Tables 2 and 3 print (Gondara, Wang, UAI 2020): accuracy and AUPRC."""

from __future__ import annotations

Pair = tuple[float, float]

EPSILONS = (8, 6, 4, 2, 1)
KEPT = (40, 60, 80, 100)  # per cent of d that k2 is in Table 3

NAMES = {
    "breast_cancer_coimbra": "Coimbra",
    "breast_cancer_wisconsin_diagnostic": "Wisconsin",
    "indian_liver_patient": "Indian Liver",
    "dermatology": "Dermatology",
    "cervical_cancer_risk": "Cervical",
    "caesarian": "Caesarian",
    "hcc_survival": "HCC",
}

# Table 2, at epsilon 8, 6, 4, 2, 1
DPRP: dict[str, tuple[Pair, ...]] = {
    "breast_cancer_coimbra": ((0.56, 0.63), (0.54, 0.62), (0.52, 0.59), (0.51, 0.59), (0.51, 0.56)),
    "breast_cancer_wisconsin_diagnostic": ((0.71, 0.74), (0.69, 0.68), (0.68, 0.65), (0.63, 0.61), (0.58, 0.62)),
    "indian_liver_patient": ((0.79, 0.70), (0.79, 0.66), (0.77, 0.66), (0.75, 0.65), (0.72, 0.66)),
    "dermatology": ((0.35, 0.31), (0.35, 0.31), (0.32, 0.30), (0.27, 0.29), (0.28, 0.29)),
    "cervical_cancer_risk": ((0.97, 0.93), (0.97, 0.93), (0.96, 0.92), (0.95, 0.91), (0.95, 0.91)),
    "caesarian": ((0.56, 0.71), (0.56, 0.69), (0.55, 0.66), (0.55, 0.64), (0.54, 0.59)),
    "hcc_survival": ((0.76, 0.67), (0.76, 0.65), (0.72, 0.62), (0.66, 0.60), (0.64, 0.58)),
}  # fmt: skip
DPGAN: dict[str, tuple[Pair, ...]] = {
    "breast_cancer_coimbra": ((0.52, 0.53), (0.50, 0.54), (0.50, 0.54), (0.48, 0.53), (0.46, 0.53)),
    "breast_cancer_wisconsin_diagnostic": ((0.53, 0.60), (0.49, 0.60), (0.48, 0.59), (0.45, 0.58), (0.45, 0.58)),
    "indian_liver_patient": ((0.55, 0.59), (0.53, 0.60), (0.51, 0.59), (0.49, 0.57), (0.46, 0.54)),
    "dermatology": ((0.20, 0.23), (0.19, 0.23), (0.19, 0.22), (0.19, 0.22), (0.19, 0.21)),
    "cervical_cancer_risk": ((0.37, 0.87), (0.33, 0.87), (0.29, 0.85), (0.24, 0.83), (0.21, 0.82)),
    "caesarian": ((0.53, 0.51), (0.49, 0.51), (0.49, 0.51), (0.49, 0.50), (0.49, 0.49)),
    "hcc_survival": ((0.52, 0.57), (0.51, 0.53), (0.48, 0.51), (0.46, 0.51), (0.45, 0.49)),
}  # fmt: skip
DP_CGAN: dict[str, tuple[Pair, ...]] = {
    "breast_cancer_coimbra": ((0.51, 0.51), (0.51, 0.50), (0.49, 0.50), (0.45, 0.49), (0.44, 0.46)),
    "breast_cancer_wisconsin_diagnostic": ((0.55, 0.63), (0.53, 0.61), (0.48, 0.57), (0.43, 0.57), (0.42, 0.55)),
    "indian_liver_patient": ((0.54, 0.60), (0.52, 0.59), (0.50, 0.54), (0.47, 0.52), (0.45, 0.51)),
    "dermatology": ((0.22, 0.25), (0.21, 0.23), (0.21, 0.22), (0.20, 0.20), (0.20, 0.19)),
    "cervical_cancer_risk": ((0.39, 0.90), (0.37, 0.89), (0.33, 0.86), (0.27, 0.85), (0.23, 0.85)),
    "caesarian": ((0.49, 0.48), (0.48, 0.48), (0.46, 0.47), (0.44, 0.47), (0.42, 0.45)),
    "hcc_survival": ((0.54, 0.59), (0.53, 0.56), (0.50, 0.54), (0.47, 0.52), (0.45, 0.49)),
}  # fmt: skip
NO_PRIVACY: dict[str, Pair] = {
    "breast_cancer_coimbra": (0.94, 0.69),
    "breast_cancer_wisconsin_diagnostic": (0.98, 0.98),
    "indian_liver_patient": (0.83, 0.74),
    "dermatology": (0.95, 0.99),
    "cervical_cancer_risk": (0.98, 0.99),
    "caesarian": (0.78, 0.96),
    "hcc_survival": (0.79, 0.72),
}

# Table 3, at epsilon 4 and k2 of 40, 60, 80, 100% of d
BY_K2: dict[str, tuple[Pair, ...]] = {
    "breast_cancer_coimbra": ((0.46, 0.59), (0.52, 0.59), (0.49, 0.61), (0.56, 0.62)),
    "breast_cancer_wisconsin_diagnostic": ((0.57, 0.61), (0.68, 0.65), (0.65, 0.68), (0.71, 0.64)),
    "indian_liver_patient": ((0.57, 0.65), (0.77, 0.66), (0.75, 0.67), (0.61, 0.64)),
    "dermatology": ((0.32, 0.29), (0.32, 0.30), (0.33, 0.28), (0.29, 0.31)),
    "cervical_cancer_risk": ((0.95, 0.90), (0.96, 0.92), (0.95, 0.91), (0.97, 0.94)),
    "caesarian": ((0.49, 0.63), (0.55, 0.66), (0.59, 0.69), (0.63, 0.64)),
    "hcc_survival": ((0.67, 0.62), (0.72, 0.62), (0.72, 0.62), (0.74, 0.65)),
}
