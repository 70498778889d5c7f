"""What every command shares: tables, progress bars, scene options."""
