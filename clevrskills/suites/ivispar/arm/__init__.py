"""iVISPAR on the table: pieces that an arm moves."""
