import contextlib
import io
import textwrap
import uuid

import pytest
from psych_runtime_testkit.contract import contract_tests
from psych_runtime_testkit.store.listing import ListingContract

HEAD = """
import pytest
from psych_runtime.store.memory import InMemoryStore
from psych_runtime_testkit.services import require_service
from psych_runtime_testkit.store.listing import ListingContract
"""

PASSING = """
class TestGood(ListingContract):
    @pytest.fixture
    async def store(self):
        return InMemoryStore()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a test module in a pytest session of its own, in this process."""

    def run(source, *arguments, require=""):
        monkeypatch.setenv("PSYCH_REQUIRE_SERVICES", require)
        (tmp_path / "pytest.ini").write_text(
            "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        )
        # A name of its own: this process keeps what it imported.
        module = tmp_path / f"test_{uuid.uuid4().hex}.py"
        module.write_text(textwrap.dedent(HEAD + source))
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = pytest.main(
                [
                    "-p",
                    "no:cacheprovider",
                    "--import-mode=importlib",
                    f"--rootdir={tmp_path}",
                    f"--config-file={tmp_path / 'pytest.ini'}",
                    str(module),
                    *arguments,
                ]
            )
        return code, output.getvalue()

    return run


def test_suite_with_a_fixture_runs(run):
    code, output = run(PASSING)
    assert code == 0, output
    assert f"{len(contract_tests(ListingContract))} passed" in output


def test_redefined_contract_test_is_refused(run):
    code, output = run(PASSING + "    async def test_newest_first(self): pass\n")
    assert code != 0
    assert "TestGood.test_newest_first redefines a contract test of ListingContract" in output


def test_contract_test_set_to_none_is_refused(run):
    code, output = run(PASSING + "    test_newest_first = None\n")
    assert code != 0
    assert "redefines a contract test" in output


def test_redefinition_in_a_mixin_is_refused(run):
    mixin = "class Mixin:\n    def test_newest_first(self): pass\n"
    code, output = run(mixin + PASSING.replace("(ListingContract)", "(Mixin, ListingContract)"))
    assert code != 0
    assert "Mixin.test_newest_first redefines" in output


def test_known_failure_is_expected_and_listed(run):
    source = PASSING.replace(
        "    @pytest.fixture",
        "    known_failures = {'test_newest_first': 'no order'}\n    @pytest.fixture",
    ).replace(
        "return InMemoryStore()",
        "return Unordered()",
    )
    wrong = """
class Unordered(InMemoryStore):
    async def list_runs(self, *args, **more):
        page = await super().list_runs(*args, **more)
        return type(page)(tuple(sorted(page.headers, key=lambda h: h.created_at)), page.cursor)
"""
    code, output = run(wrong + source, "-k", "newest_first")
    assert code == 0, output
    assert "1 xfailed" in output
    assert "contract: known failures" in output
    assert "no order" in output


def test_known_failure_that_passes_fails(run):
    source = PASSING + "    known_failures = {'test_newest_first': 'no order'}\n"
    code, output = run(source)
    assert code == 1
    assert "1 failed" in output


@pytest.mark.parametrize("wrong", ["{'test_nothing': 'x'}", "{'test_newest_first': ' '}"])
def test_known_failures_are_checked(run, wrong):
    code, output = run(PASSING + f"    known_failures = {wrong}\n")
    assert code != 0
    assert "known_failures" in output


def test_absent_service_skips_locally_and_fails_where_required(run):
    source = PASSING.replace(
        "return InMemoryStore()",
        "require_service('Redis', reachable=False, hint='set REDIS_URL')",
    )
    code, output = run(source)
    assert code == 0, output
    assert "skipped" in output
    code, output = run(source, require="1")
    assert code == 1
    assert "Redis is not reachable: set REDIS_URL" in output
    assert "skipped" not in output


def test_any_skip_fails_where_services_are_required(run):
    source = PASSING.replace("return InMemoryStore()", "pytest.skip('not today')")
    code, output = run(source, require="1")
    assert code == 1
    assert "may not be skipped while PSYCH_REQUIRE_SERVICES is 1" in output


@pytest.mark.parametrize(
    "hidden",
    [PASSING.replace("TestGood", "Good"), PASSING + "    __test__ = False\n"],
)
def test_contract_class_without_collected_tests_fails_the_run(run, hidden):
    code, output = run(hidden + "\n\ndef test_other(): pass\n")
    assert code != 0
    assert "no contract test of" in output


def test_suite_without_a_store_fixture_says_so(run):
    code, output = run("class TestNone(ListingContract): pass\n")
    assert code == 1
    assert "TestNone defines no fixture `store`" in output
