"""Board on the table: the geoms as solid pieces that an arm moves."""
