"""Plugin discovery: what adapters declare, how they are found, how one is picked."""
