/** Skins and flexes: they have new corners in every scene. */

import { GEOM, HEAD, LIGHT } from "../messages.js";
import { Solid } from "./solids.js";

/** @typedef {import("../messages.js").SceneWords} SceneWords */
/** @typedef {import("./solids.js").ModelSolids} ModelSolids */
/** @typedef {import("./solids.js").ModelText} ModelText */

/** The corners of skins and flexes, which follow the geoms of a scene. @param {SceneWords} words @param {ModelText} model */
export function softBodies(words, model) {
  let at = HEAD + LIGHT * words.lights + GEOM * words.geoms;
  const take = (/** @type {number} */ count) => words.floats.subarray(at, at += count);
  const skinned = 3 * model.skins.reduce((sum, skin) => sum + skin.count, 0);
  const vertices = model.flexes.reduce((sum, flex) => sum + flex.vertices[1], 0);
  const faces = model.flexes.reduce((sum, flex) => sum + flex.faces[1], 0);
  return {
    skinVertices: take(skinned), skinNormals: take(skinned), faceUsed: take(model.flexes.length),
    flexVertices: take(3 * vertices), flexFaces: take(9 * faces), flexNormals: take(9 * faces), flexCoords: take(6 * faces),
  };
}

/**
 * Give the solids of skins and flexes the corners of a scene.
 * @param {WebGL2RenderingContext} gl @param {SceneWords} words @param {ModelSolids} solids
 */
export function moveSoftBodies(gl, words, solids) {
  const { skins, flexes } = solids.model;
  if (!skins.length && !flexes.length) {
    return;
  }
  const soft = softBodies(words, solids.model);
  skins.forEach((skin, i) => {
    const [start, end] = [3 * skin.start, 3 * (skin.start + skin.count)];
    solids.meshes.get(`skin ${i}`)?.move(soft.skinVertices.subarray(start, end), soft.skinNormals.subarray(start, end));
  });
  flexes.forEach((flex, i) => {
    const used = soft.faceUsed[i], start = flex.faces[0];
    solids.meshes.get(`flex ${i}`)?.free();
    solids.meshes.set(`flex ${i}`, new Solid(gl, {
      positions: soft.flexFaces.slice(9 * start, 9 * (start + used)), normals: soft.flexNormals.slice(9 * start, 9 * (start + used)),
      coords: soft.flexCoords.slice(6 * start, 6 * (start + used)), triangles: Uint32Array.from({ length: 3 * used }, (_, k) => k),
      edges: null,
    }));
  });
}
