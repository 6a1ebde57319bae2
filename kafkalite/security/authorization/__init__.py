"""Authorization: what each API asks of whom. The table is in `table.py`."""
