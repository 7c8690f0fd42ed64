"""A real small model on this machine's CPU, asked through the adapter; run by `make live-local` only."""
