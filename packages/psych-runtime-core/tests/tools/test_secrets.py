from psych_runtime.ports.secrets import (
    InMemorySecretResolver,
    SecretResolver,
    stable_credential_identity,
)
from psych_runtime.scope import Scope
from pydantic import SecretStr

ACME = Scope(tenant="acme")


def test_the_identity_depends_on_every_part_and_hides_it() -> None:
    identities = [
        stable_credential_identity(scope, name, value)
        for scope, name, value in [
            (ACME, "a", "bc"),
            (ACME, "ab", "c"),
            (Scope(tenant="acme", principal=""), "a", "bc"),
            (Scope(tenant="acme", principal="a"), "", "bc"),
            (Scope(tenant="acmea"), "", "bc"),
        ]
    ]
    assert len(set(identities)) == 5
    assert stable_credential_identity(ACME, "a", "bc") == identities[0]
    labelled = Scope(tenant="acme", labels={"a": "b"})
    assert stable_credential_identity(labelled, "a", "bc") == identities[0]
    assert "acme" not in identities[0]


async def test_secrets_belong_to_a_tenant_and_principal() -> None:
    secrets = InMemorySecretResolver()
    assert isinstance(secrets, SecretResolver)
    secrets.set(ACME, "crm", "one")
    secrets.set(Scope(tenant="acme", principal="p"), "crm", SecretStr("two"))
    found = await secrets.resolve(Scope(tenant="acme", labels={"x": "y"}), "crm")
    assert found is not None
    assert found.secret.get_secret_value() == "one"
    assert found.identity == stable_credential_identity(ACME, "crm", "one")
    assert "one" not in repr(found)
    other = await secrets.resolve(Scope(tenant="acme", principal="p"), "crm")
    assert other is not None
    assert other.secret.get_secret_value() == "two"
    assert await secrets.resolve(Scope(tenant="acme", principal="q"), "crm") is None
    secrets.clear(ACME, "crm")
    secrets.clear(ACME, "crm")
    assert await secrets.resolve(ACME, "crm") is None
