"""The 3D view: drawing, cameras, picking, the gizmo."""
