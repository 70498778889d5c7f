"""The scene description: the content of a scene file, without a MuJoCo model.

`Prop` is the base class of custom props; `Pose` places an actor."""
