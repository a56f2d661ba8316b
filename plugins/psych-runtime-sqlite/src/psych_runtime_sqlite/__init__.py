"""An embedded durable store for Psych Runtime on SQLite; see `psych_runtime_sqlite.store`."""
