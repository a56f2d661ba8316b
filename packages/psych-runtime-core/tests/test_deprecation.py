import asyncio
import inspect
import linecache
import warnings

import pytest
from psych_runtime.deprecation import deprecated, warn_deprecated


@deprecated(since="0.3", removal="0.5", replacement="new()")
def old(value: int) -> int:
    """Doubles."""
    return value * 2


@deprecated(since="0.3", removal="0.5")
async def old_async() -> str:
    return "done"


@deprecated(since="0.3", removal="0.5", replacement="New")
class Old:
    def __init__(self, value: int) -> None:
        self.value = value


class Child(Old):
    pass


def test_a_function_warns_with_release_removal_and_replacement_and_still_works() -> None:
    with pytest.warns(DeprecationWarning, match="since 0") as caught:
        assert old(3) == 6
    assert str(caught[0].message) == (
        f"{__name__}.old is deprecated since 0.3 and will be removed in 0.5; use new() instead"
    )
    assert caught[0].filename == __file__
    assert old.__doc__ == "Doubles."


def test_a_coroutine_function_stays_one() -> None:
    assert inspect.iscoroutinefunction(old_async)
    with pytest.warns(DeprecationWarning, match=r"removed in 0\.5$"):
        assert asyncio.run(old_async()) == "done"


@pytest.mark.parametrize("kind", [Old, Child])
def test_a_class_warns_when_instantiated(kind: type[Old]) -> None:
    with pytest.warns(DeprecationWarning, match="use New instead") as caught:
        assert kind(5).value == 5
    assert caught[0].filename == __file__
    assert inspect.isclass(Old)


def test_a_class_does_not_warn_when_only_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert issubclass(Child, Old)


def test_a_module_attribute_warns_at_the_line_that_uses_it() -> None:
    def __getattr__(name: str) -> str:
        warn_deprecated(f"mod.{name}", since="0.3", removal="0.4", replacement="mod.b")
        return name

    with pytest.warns(DeprecationWarning, match=r"mod\.a is deprecated since 0\.3") as caught:
        __getattr__("a")
    assert linecache.getline(caught[0].filename, caught[0].lineno).strip() == '__getattr__("a")'
