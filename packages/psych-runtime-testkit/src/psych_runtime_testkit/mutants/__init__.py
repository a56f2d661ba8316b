"""Adapters that are wrong on purpose: each must be killed by the contract test that it names."""
