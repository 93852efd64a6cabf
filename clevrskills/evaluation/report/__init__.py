"""Reports on evaluations: tables, comparisons of two policies, pages."""
