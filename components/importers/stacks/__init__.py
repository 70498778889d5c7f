"""One module per training stack whose policies can be imported."""
