"""Privacy filters and odometers: budgets for releases that are chosen adaptively."""
