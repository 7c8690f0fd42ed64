"""Model adapters, each held to the contract."""
