"""The worst neighbouring step for a plan: which vectors of distances two neighbouring tables can have."""
