"""Published names of the tables, and ours."""

ALIASES = {
    "blood": "blood_transfusion",
    "blood_transfusion_service_center": "blood_transfusion",
    "banknote_authentication": "banknote",
    "boston_housing": "boston",
    "bostonhousing": "boston",
    "housing": "boston",
    "breast_cancer_wisconsin": "breast_cancer",
    "wdbc": "breast_cancer",
    "california_housing": "california",
    "casp": "protein",
    "physicochemical_protein": "protein",
    "protein_tertiary_structure": "protein",
    "ccpp": "power",
    "combined_cycle_power_plant": "power",
    "power_plant": "power",
    "concrete_compressive_strength": "concrete",
    "credit": "credit_g",
    "creditg": "credit_g",
    "german": "credit_g",
    "german_credit": "credit_g",
    "energy_efficiency": "energy",
    "heart": "heart_statlog",
    "statlog_heart": "heart_statlog",
    "magic_gamma_telescope": "magic",
    "magictelescope": "magic",
    "naval_propulsion_plant": "naval",
    "pima_indians_diabetes": "pima",
    "sick": "sick_minilm",
    "australian_credit_approval": "australian",
    "wine": "wine_red",
    "red_wine": "wine_red",
    "wine_quality_red": "wine_red",
    "winequality_red": "wine_red",
    "white_wine": "wine_white",
    "wine_quality_white": "wine_white",
    "winequality_white": "wine_white",
    "yacht_hydrodynamics": "yacht",
}


def canonical_name(name: str) -> str:
    """Our name for a published one; capitals and hyphens do not matter, and an unknown name is only put into that form.

    Example
    -------
    >>> canonical_name("wine"), canonical_name("credit-g"), canonical_name("bostonHousing"), canonical_name("yacht")
    ('wine_red', 'credit_g', 'boston', 'yacht')
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    return ALIASES.get(plain, plain)
