"""Versions."""

from __future__ import annotations

from psych_runtime.ids import VersionHash

from psych_runtime_testkit.store.base import StoreSuite
from psych_runtime_testkit.store.lab import StoreLab
from psych_runtime_testkit.store.samples import sample_version


class VersionContract(StoreSuite):
    """`Store.put_version` and `Store.get_version`."""

    async def test_version_comes_back_whole(self, lab: StoreLab) -> None:
        version = sample_version("support")
        await lab.store.put_version(version)
        found = await lab.store.get_version(version.hash)
        assert found is not None
        assert found.hash == version.hash
        assert found.export_json() == version.export_json()

    async def test_unknown_hash_is_none(self, lab: StoreLab) -> None:
        assert await lab.store.get_version(VersionHash("0" * 64)) is None

    async def test_storing_a_version_again_changes_nothing(self, lab: StoreLab) -> None:
        version = sample_version("support")
        other = sample_version("sales")
        for stored in (version, other, version):
            await lab.store.put_version(stored)
        for stored in (version, other):
            found = await lab.store.get_version(stored.hash)
            assert found is not None
            assert found.name == stored.name

    async def test_version_with_difficult_text(self, lab: StoreLab) -> None:
        version = sample_version("support", instructions="\u05e9 \U0001f680 \\ \" ' % \u0928\u092e")
        await lab.store.put_version(version)
        found = await lab.store.get_version(version.hash)
        assert found is not None
        assert found.export_json() == version.export_json()
