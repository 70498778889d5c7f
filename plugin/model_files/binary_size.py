"""How large a compiled model becomes when MuJoCo loads it, by the sizes at its beginning.

MuJoCo makes room for what the header declares before it looks at the rest of the file.
"""

import os
import struct
from pathlib import Path

from mjrig.errors import PropertyError
from mjrig.model_files.model_size import IN_STATE, MAX_ELEMENTS, MAX_GENERATED

#: Bytes of a compiled model.
MAX_BINARY = 256_000_000
#: The version of MuJoCo whose files are these.
VERSION = 4_000_000
_TABLE = """
    nq 16 nv 164 nu 17 nactuator 399 nout 80 na 0 nbody 262 nbvh 16 nbvhstatic 48 nbvhdynamic 0
    noct 148 njnt 211 ntree 20 nM 0 nB 4 nC 12 nD 8 ngeom 454 nsite 121 ncam 248 nlight 218
    nflex 331 nflexnode 52 nflexvert 56 nflexedge 41 nflexelem 8 nflexelemdata 8
    nflexstiffness 8 nflexbending 8 nefm0dof 12 nefm0L 12 nefmCvert 4 nflexelemedge 4
    nflexshelldata 4 nflextexcoord 8 nJfe 4 nmesh 256 nmeshvert 20 nmeshnormal 12
    nmeshtexcoord 8 nmeshface 36 nmeshgraph 4 nmeshpoly 32 nmeshpolyvert 4 nmeshpolymap 4
    nskin 64 nskinvert 12 nskintexvert 8 nskinface 12 nskinbone 40 nskinbonevert 8 nhfield 52
    nhfielddata 4 ntex 40 ntexdata 1 nmat 93 npair 156 nexclude 8 neq 173 ntendon 334 nJten 4
    nwrap 16 nsensor 108 nnumeric 12 nnumericdata 8 ntext 12 ntextdata 1 ntuple 12 ntupledata 16
    nkey 12 nmocap 0 nplugin 20 npluginattr 1 nuser_body 0 nuser_jnt 0 nuser_geom 0 nuser_site 0
    nuser_cam 0 nuser_tendon 0 nuser_actuator 0 nuser_sensor 0 nnames 1 npaths 1 nplastic 0
    nnames_map 4 nJmom 0 ngravcomp 0 nemax 0 njmax 0 nconmax 0 npolygonmax 0 nmeshdegmax 0
    nuserdata 0 nsensordata 0 npluginstate 0 nhistory 0 narena 0 nbuffer 0
""".split()
#: Every size in the order of the header, and the bytes that the file has for one of them.
BYTES: dict[str, int] = dict(zip(_TABLE[::2], map(int, _TABLE[1::2]), strict=True))
#: What each element of a kind has besides, as two sizes.
PRODUCTS = (
    "nbody nuser_body", "njnt nuser_jnt", "ngeom nuser_geom", "nsite nuser_site", "ncam nuser_cam",
    "ntendon nuser_tendon", "nactuator nuser_actuator", "nsensor nuser_sensor", "nkey nq",
    "nkey nv", "nkey na", "nkey nu", "nkey nplastic",
)  # fmt: skip
_NUMBER = 8
_ELEMENTS = (
    "nbody", "njnt", "ngeom", "nsite", "ncam", "nlight", "nflex", "nmesh", "nskin", "nhfield",
    "ntex", "nmat", "npair", "nexclude", "neq", "ntendon", "nactuator", "nsensor", "nnumeric",
    "ntext", "ntuple", "nkey", "nplugin",
)  # fmt: skip
#: Numbers of the state and of what is computed from it; the file has nothing for most of them.
_STATE = (
    "nq", "nv", "nu", "nout", "na", "nbvhdynamic", "nM", "nmocap", "nplastic", "nJmom", "nuserdata",
    "nsensordata", "npluginstate", "nhistory",
)  # fmt: skip
#: Where -1 means that there is no limit.
_UNLIMITED = ("nemax", "njmax", "nconmax")
_HEAD = struct.Struct("<5i")
_IDENTIFIER = 54321


def check_binary_size(path: Path) -> None:
    """Refuse a compiled model that would become too large, before MuJoCo loads it.

    Args:
        path: the file; one of another version of MuJoCo is left to it, which says so.

    Raises:
        PropertyError: it is too large, or it declares more than it holds.
    """
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD.size + _NUMBER * len(BYTES))
    except OSError as error:
        raise PropertyError(f"{path.name!r} cannot be read: {error.strerror}") from error
    if found > MAX_BINARY:
        raise PropertyError(f"{path.name!r} has {found} bytes; at most {MAX_BINARY} are read")
    sizes = _sizes(head)
    if sizes is None:
        return
    negative = next((n for n, size in sizes.items() if size < 0 and n not in _UNLIMITED), None)
    if negative is not None:
        raise PropertyError(
            f"{path.name!r} is damaged: its {negative} is {sizes[negative]}; export it again"
        )
    if (needed := _needed(sizes)) > found:
        raise PropertyError(
            f"{path.name!r} is damaged or cut off: by its header it has at least {needed} bytes, "
            f"and it has {found}; export it again"
        )
    if (elements := sum(sizes[name] for name in _ELEMENTS)) > MAX_ELEMENTS:
        raise PropertyError(f"{path.name!r} has {elements} elements; at most {MAX_ELEMENTS}")
    if IN_STATE * sum(sizes[name] for name in _STATE) > MAX_GENERATED:
        raise PropertyError(
            f"{path.name!r} asks for more than {MAX_GENERATED // 10**6} MB for its state"
        )


def _sizes(head: bytes) -> dict[str, int] | None:
    """What the header declares; None: it is of another version, or no model at all."""
    if len(head) < _HEAD.size + _NUMBER * len(BYTES):
        return None
    identifier, _, count, version, _ = _HEAD.unpack_from(head)
    if (identifier, count, version) != (_IDENTIFIER, len(BYTES), VERSION):
        return None
    values = struct.unpack_from(f"<{len(BYTES)}q", head, _HEAD.size)
    return dict(zip(BYTES, values, strict=True))


def _needed(sizes: dict[str, int]) -> int:
    """The bytes of the arrays in the file, but for what is the same in every one."""
    each = sum(count * sizes[name] for name, count in BYTES.items())
    pairs = (pair.split() for pair in PRODUCTS)
    return each + _NUMBER * sum(sizes[one] * sizes[other] for one, other in pairs)
