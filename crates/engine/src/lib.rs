//! Approximate nearest-neighbour search on a graph that lives on SSD.
