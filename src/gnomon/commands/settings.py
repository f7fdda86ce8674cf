"""--set NAME=VALUE: any input of a method that has no option of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.errors import ParameterError

if TYPE_CHECKING:
    from gnomon.methods.base import Release

OPTIONS = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "schema": "--schema",
    "target": "--target",
    "task": "--task",
    "n_components": "--components",
    "calibration": "--calibration",
    "adjacency": "--adjacency",
    "unit": "--unit",
    "random_state": "--seed",
    "not_private": "--not-private",
    "strict": "--strict",
}
PRINTED = {  # what the papers call them
    "k": "--components",
    "k2": "--components",
    "p": "--components",
    "alpha": "--set pca_share=VALUE",
}
ARRAYS = ("bounds", "classes", "target_bounds")  # of arrays, which have no schema


def set_inputs(method: Release, settings: Sequence[str]) -> None:
    """Give a method the inputs that were set by name; what it does not take is refused with what it does."""
    known = [name for name in method._get_param_names() if name not in OPTIONS and name not in ARRAYS]
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"The option --set needs NAME=VALUE. Got {setting!r} instead.")
        if name in OPTIONS:
            raise ParameterError(f"The input {name!r} has an option of its own; use {OPTIONS[name]}.")
        if name in PRINTED and name not in known:
            raise ParameterError(f"What the paper calls {name} is given by {PRINTED[name]}.")
        if name not in known:
            raise ParameterError(
                f"The method {method.name} has no input {name!r}; --set knows {', '.join(sorted(known))}."
            )
        given[name] = value_of(text)
    method.set_params(**given)


def value_of(text: str) -> Any:
    """A number, true, false, null or a JSON list or object; any other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text
