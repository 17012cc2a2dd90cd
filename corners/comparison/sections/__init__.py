"""The five questions of a report, one file each: every section answers in words, then shows tables and figures."""
