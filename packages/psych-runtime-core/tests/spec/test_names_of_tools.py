from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psych_runtime.spec.narrowing import matches_pattern, narrow, tenant_permitted
from psych_runtime.spec.remote_names import a2a_tool_name, mcp_tool_name, qualified_owner

OWNERS = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,127}", fullmatch=True)


class TestRemoteNames:
    def test_a_good_name_stays_readable(self) -> None:
        assert mcp_tool_name("crm", "find") == "crm__find"
        assert a2a_tool_name("bot", "ask") == "bot__ask"

    def test_names_that_would_be_the_same_stay_apart(self) -> None:
        names = {mcp_tool_name("crm", tool) for tool in ("a.b", "a b", "a_b", "a/b", "ä_b")}
        assert len(names) == 5

    def test_the_digest_is_that_of_the_original(self) -> None:
        assert mcp_tool_name("s", "x.y") == "s__x_y_4684c6b5e8"

    @given(OWNERS, st.text(min_size=1, max_size=200))
    def test_every_name_is_valid_and_leads_back(self, owner: str, tool: str) -> None:
        for mint in (mcp_tool_name, a2a_tool_name):
            name = mint(owner, tool)
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
            assert qualified_owner(name, [owner]) == owner
            assert mint(owner, tool) == name

    def test_the_longest_owner_wins(self) -> None:
        assert qualified_owner("a__b__c", ["a", "a__b", "z"]) == "a__b"
        assert qualified_owner("a__b__c", ["a__b", "a"]) == "a__b"

    def test_no_owner(self) -> None:
        assert qualified_owner("find", ["crm"]) is None
        assert qualified_owner("crm__", ["crm"]) is None
        assert qualified_owner("crm_find", ["crm"]) is None
        assert qualified_owner("x" * 64, ["x" * 100]) is None


class TestNarrowing:
    @pytest.mark.parametrize(
        ("name", "pattern", "matches"),
        [
            ("read", "*", True),
            ("read", "read", True),
            ("read_all", "read*", True),
            ("read", "read*", True),
            ("read_all", "read", False),
            ("a.b", "a?b", False),
            ("axb", "a*b", False),
            ("a*b", "a*b", True),
            ("Read", "read", False),
        ],
    )
    def test_patterns(self, name: str, pattern: str, matches: bool) -> None:
        assert matches_pattern(name, pattern) is matches

    def test_nothing_said_nothing_taken(self) -> None:
        assert narrow(["b", "a"]) == ["b", "a"]
        assert tenant_permitted(["b", "a"]) == ["b", "a"]

    def test_everyone_can_only_take_away(self) -> None:
        offers = ["d", "a", "b", "c"]
        assert narrow(offers, ["a", "b", "d"], ["a", "b", "c"], {"b", "c", "x"}) == ["b"]
        assert narrow(offers, ["d", "a"]) == ["d", "a"]
        assert tenant_permitted(offers, ["x*"]) == []

    def test_nothing_callable_is_not_no_restriction(self) -> None:
        assert narrow(["a"], callable_now=set()) == []

    @given(
        st.lists(st.sampled_from("abc")),
        st.lists(st.sampled_from(["a", "b*", "*"])),
        st.lists(st.sampled_from(["a", "b*", "*"])),
        st.none() | st.sets(st.sampled_from("abc")),
    )
    def test_never_more_than_was_offered_and_in_order(
        self, offers: list[str], tenant: list[str], spec: list[str], now: set[str] | None
    ) -> None:
        kept = narrow(offers, tenant, spec, now)
        rest = iter(offers)
        assert all(name in rest for name in kept)
        assert narrow(kept, tenant, spec, now) == kept
