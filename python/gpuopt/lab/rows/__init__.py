"""Result rows: schema, files, groups, ratios."""
