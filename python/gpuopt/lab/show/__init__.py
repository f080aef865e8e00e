"""How rows are shown: tables, sentences, pictures."""
