"""Many records of one person: covering the cells that they can touch, by certified integer programs."""
