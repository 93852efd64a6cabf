"""Reports on evaluations: tables, paired comparisons, HTML pages."""
