"""What compiler attributes would make a model compile that MuJoCo refuses."""

from typing import Any

from mjrig.errors import PropertyError
from mjrig.model_files.model_source import given_compiler, is_binary, load
from mjrig.scene.actor import ActorDescription

#: Words of MuJoCo's message, and the attributes that help.
_HELP: dict[str, dict[str, Any]] = {
    "balanceinertia": {"balanceinertia": "true"},
    "mjMINVAL": {"boundmass": 0.001, "boundinertia": 1e-06},
}


def remedy(actor: ActorDescription) -> str:
    """The line for the scene that makes an actor's model compile, tried out; empty: there is none.

    Attributes that the scene gives already are part of the line.
    """
    if actor.model is None or is_binary(actor):
        return ""
    compiler = given_compiler(actor)
    tried: set[str] = set()
    while True:
        try:
            load(actor, compiler=compiler).compile()
        except PropertyError:
            return ""
        except Exception as error:  # MuJoCo raises ValueError, mujoco.FatalError and others
            words = next((w for w in _HELP if w in str(error) and w not in tried), None)
            if words is None:
                return ""
            tried.add(words)
            compiler |= _HELP[words]
        else:
            break
    if not tried:
        return ""
    line = ", ".join(f"{name}: {_text(value)}" for name, value in compiler.items())
    return f"it compiles with the actor's `compiler: {{{line}}}`"


def _text(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
