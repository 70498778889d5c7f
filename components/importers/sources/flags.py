"""Options of an import that replace what the files say or what is guessed; nothing heavy."""

#: Option of `mjrig import` and field of the editor's dialog → the form of its value, and meaning.
FLAGS = {
    "robot": ("NAME", "robot the model is; names of folders and files then decide nothing"),
    "joints": ("A,B,…", "joints the policy moves, in its order"),
    "scale": ("X[,X…]", "action scale: one number, or one per joint"),
    "default": ("NAME|X,X…", "default pose: a keyframe, or one number per joint"),
    "height": ("M", "initial base height [m] (of the files, or standing on its feet)"),
    "keyframe": ("NAME|none", "keyframe a run starts in; none: the model's own pose"),
    "order": ("breadth|sorted|depth", "joint order of an Isaac Lab run that no file names"),
    "actuators": ("dc|pd|implicit", "what actuators of unknown classes are taken for"),
    "rate": ("HZ", "ticks of the policy per second [Hz]"),
}
