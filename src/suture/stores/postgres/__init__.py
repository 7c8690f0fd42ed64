"""Sessions in a PostgreSQL database: `store` over `server` (connections to it), `schema` (its tables) and `news`."""
