"""Options of an import that replace values of the files, or guesses; nothing heavy."""

from mjrig.cli.command_options import Options, TextOption


class ReplacementOptions(Options):
    """Options of `mjrig import` and fields of the editor's dialog, as texts; empty: not given."""

    heading = "instead of what the files say, or what is guessed"

    robot = TextOption(
        "", "robot the model is; names of folders and files then decide nothing", "NAME"
    )
    joints = TextOption("", "joints the policy moves, in its order", "A,B,…")
    scale = TextOption("", "action scale: one number, or one per joint", "X[,X…]")
    default = TextOption("", "default pose: a keyframe, or one number per joint", "NAME|X,X…")
    height = TextOption("", "initial base height [m] (of the files, or standing on its feet)", "M")
    keyframe = TextOption("", "keyframe a run starts in; none: the model's own pose", "NAME|none")
    order = TextOption(
        "", "joint order of an Isaac Lab run that no file names", "breadth|sorted|depth"
    )
    actuators = TextOption("", "what actuators of unknown classes are taken for", "dc|pd|implicit")
    rate = TextOption("", "ticks of the policy per second [Hz]", "HZ")


#: The options by name.
FLAGS = {o.name: o for o in ReplacementOptions.declared() if o.owner is ReplacementOptions}
