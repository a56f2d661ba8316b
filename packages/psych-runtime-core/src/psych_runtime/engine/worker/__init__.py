"""Workers: claiming Runs, executing Attempts, keeping the lease, watching the clock."""
