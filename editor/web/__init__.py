"""The editor in a browser: draw lists and scenes go out over one WebSocket, input comes back."""
