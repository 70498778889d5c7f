"""Building blocks of reports: text tables, JSON values, plots and HTML pages."""
