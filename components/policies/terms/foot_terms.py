"""Foot terms: what touches the ground, and where feet are."""

from typing import ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.terms.kinds import Names
from mjrig.components.policies.terms.term import ObservationTerm
from mjrig.components.policies.terms.view import View
from mjrig.errors import BindingError
from mjrig.properties.scalar_kinds import Float


class ContactTerm(ObservationTerm):
    """1 for each body or geom that touches something outside the robot, else 0.

    It is of the geometry at this tick. A force is a touch sensor, seen by a `SensorTerm`.
    """

    bodies = Names(doc="Bodies, in order; each with all its geoms.")
    geoms = Names(doc="Geoms, in order, after the bodies.")
    gap = Float(0.0, unit="m", doc="Largest distance that counts as touching; negative: depth.")

    needs_position_stage: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        model = self._model = view.model
        self._data = view.data
        count = len(self.bodies) + len(self.geoms)
        if not count:
            raise BindingError(f"{self.label}: needs bodies or geoms")
        places = np.full(model.ngeom, -1, dtype=np.intp)
        for i, name in enumerate(self.bodies):
            places[model.geom_bodyid == view.body_id(name, self)] = i
        for i, name in enumerate(self.geoms, len(self.bodies)):
            geom = view.geom_id(name, self)
            if places[geom] >= 0:
                body = self.bodies[places[geom]]
                raise BindingError(
                    f"{self.label}: the geom {name!r} is of the body {body!r} already"
                )
            places[geom] = i
        self._places = places
        self._roots = model.body_rootid[model.geom_bodyid]
        return count

    def measure(self, out: FloatArray) -> None:
        out[:] = 0.0
        pairs = self._data.contact.geom
        if not len(pairs):
            return
        # A flex has no geom: −1 reads the last one here, and is put right below.
        roots = np.where(pairs >= 0, self._roots[pairs], -1)
        apart = (self._data.contact.dist <= self.gap) & (roots[:, 0] != roots[:, 1])
        touched = pairs[apart].reshape(-1)
        places = self._places[touched[touched >= 0]]
        out[places[places >= 0]] = 1.0


class FootPositions(ObservationTerm):
    """Positions of bodies and sites in the frame of the base: x, y, z of each [m]."""

    bodies = Names(doc="Bodies, in order.")
    sites = Names(doc="Sites, in order, after the bodies.")

    needs_position_stage: ClassVar[bool] = True
    over_worlds: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        if not self.bodies and not self.sites:
            raise BindingError(f"{self.label}: needs bodies or sites")
        self._view = view
        base = view.base_body(self.label)
        data = view.data
        self._place, self._turned = data.xpos[..., base, :], data.xmat[..., base, :]
        self._body_places, self._site_places = data.xpos, data.site_xpos
        self._bodies = [view.body_id(name, self) for name in self.bodies]
        self._sites = [view.site_id(name, self) for name in self.sites]
        return 3 * (len(self._bodies) + len(self._sites))

    def measure(self, out: FloatArray) -> None:
        bodies, sites = self._body_places, self._site_places
        places = np.concatenate([bodies[..., self._bodies, :], sites[..., self._sites, :]], axis=-2)
        places -= self._place[..., None, :]
        turned = self._turned.reshape(*self._turned.shape[:-1], 3, 3)
        out[...] = self._view.seen((places @ turned).reshape(out.shape))
