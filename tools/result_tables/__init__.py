"""The tables of docs/results, a module a page: which rows and which columns each table shows."""
