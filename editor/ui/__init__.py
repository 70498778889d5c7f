"""What every panel uses: the panel base, colours, drag and drop, dialogs, number fields."""
