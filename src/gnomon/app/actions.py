"""Actions of the page: plain functions of a workspace and named arguments, checked by their annotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from gnomon.errors import ParameterError

Function = Callable[..., Any]


@dataclass(frozen=True)
class Action:
    """A function that the page may call, and the form of its arguments."""

    function: Function
    arguments: type[BaseModel]

    def __call__(self, workspace: Any, given: Any) -> Any:
        try:
            read = self.arguments.model_validate(given)
        except ValidationError as problem:
            where = ".".join(map(str, problem.errors()[0]["loc"])) or "the request"
            raise ParameterError(f"The entry {where!r} cannot be used; correct it.") from None
        return self.function(workspace, **{name: getattr(read, name) for name in type(read).model_fields})


ACTIONS: dict[str, Action] = {}


def action(function: Function) -> Function:
    """Let the page call the function by its name."""
    hints = get_type_hints(function)
    named = [one for one in signature(function).parameters.values() if one.kind is Parameter.KEYWORD_ONLY]
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is Parameter.empty else one.default) for one in named
    }
    model = create_model(
        function.__name__, __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False), **fields
    )
    ACTIONS[function.__name__] = Action(function, model)
    return function
