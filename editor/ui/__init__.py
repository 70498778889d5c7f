"""Building blocks of panels: base class, colours, drag and drop, dialogs, number fields."""
