"""The five kinds of file: plans of releases, plans of queries on tables, priors, worlds, budgets; and any of them."""
