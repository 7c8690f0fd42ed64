"""Sessions in a PostgreSQL database: `store` over a `server` (connections to it), its `schema`, and the `news` it sends.

`transactions` is what is written, `rows` what is read, `heads` where sessions stood last.
"""
