"""Sessions in one SQLite file: `store` over a `database` (its connections, commits and forks).

`schema` is its tables, `transactions` what is written to them, `rows` what is read; `refusals` are the words of its errors.
"""
