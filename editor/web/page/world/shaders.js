/**
 * Shaders of the world: light as MuJoCo's fixed-function OpenGL computes it, at corners; on planes, which have few of
 * them, at every pixel.
 */

/** As many as fixed-function OpenGL has. */
export const MOST_LIGHTS = 8;

const LIGHT = `
uniform int u_lights;
uniform vec4 u_at[${MOST_LIGHTS}];
uniform vec4 u_spot[${MOST_LIGHTS}];
uniform vec4 u_fade[${MOST_LIGHTS}];
uniform vec3 u_ambient[${MOST_LIGHTS}];
uniform vec3 u_diffuse[${MOST_LIGHTS}];
uniform vec3 u_specular[${MOST_LIGHTS}];
uniform int u_shadowOf[${MOST_LIGHTS}];
uniform float u_everywhere;
vec3 lightOf(int i, vec3 at, vec3 normal, vec3 colour, vec3 material) {
  vec3 to = u_at[i].xyz - at * u_at[i].w;
  float away = length(to);
  to /= max(away, 1e-10);
  float part = 1.0;
  if (u_at[i].w > 0.5) {
    part = 1.0 / max(u_fade[i].x + u_fade[i].y * away + u_fade[i].z * away * away, 1e-10);
    if (u_spot[i].w > -1.5) {
      float along = dot(-to, u_spot[i].xyz);
      part *= along < u_spot[i].w ? 0.0 : (u_fade[i].w == 0.0 ? 1.0 : pow(max(along, 0.0), u_fade[i].w));
    }
  }
  vec3 sum = u_ambient[i] * colour;
  float facing = dot(normal, to);
  if (facing > 0.0) {
    vec3 between = normalize(to + normalize(-at));
    float shine = max(dot(normal, between), 0.0);
    sum += facing * u_diffuse[i] * colour;
    sum += (material.z == 0.0 ? 1.0 : pow(shine, material.z)) * u_specular[i] * material.y;
  }
  return part * sum;
}
`;

/** How a corner of an instance comes to its place in the world. */
const PLACED = `
layout(location=0) in vec3 a_position;
layout(location=3) in vec4 i_right;
layout(location=4) in vec4 i_ahead;
layout(location=5) in vec4 i_above;
layout(location=6) in vec4 i_scale;
mat3 turn() { return mat3(i_right.xyz, i_ahead.xyz, i_above.xyz); }
vec4 placed() { return vec4(turn() * (a_position * i_scale.xyz) + vec3(i_right.w, i_ahead.w, i_above.w), 1.0); }
`;

const FOG = `
uniform vec4 u_fog;
uniform vec2 u_fogRange;
float seenThrough(float depth) {
  return u_fog.a > 0.0 ? clamp((u_fogRange.y - depth) / (u_fogRange.y - u_fogRange.x), 0.0, 1.0) : 1.0;
}
`;

const FIELDS = `
#if SHADOWS
  WAY vec4 v_shadow[SHADOWS];
#endif
#if PIXELS
  WAY vec3 v_normal;
  WAY vec3 v_material;
#else
  WAY vec3 v_base;
  #if SHADOWS
    WAY vec3 v_direct[SHADOWS];
  #endif
#endif
WAY vec3 v_at;
WAY vec4 v_colour;
WAY vec3 v_coords;
WAY float v_above;
`;

/** The sum of the lights that cast no shadow, and each that does: `base` and `direct`. */
const SUM = `
  vec3 base = v_colour.rgb * (material.x + u_everywhere);
  vec3 direct[SHADOWS + 1];
  for (int i = 0; i <= SHADOWS; i++) direct[i] = vec3(0.0);
  for (int i = 0; i < ${MOST_LIGHTS}; i++) {
    if (i >= u_lights) break;
    vec3 light = lightOf(i, v_at, normal, v_colour.rgb, material);
    int which = u_shadowOf[i];
    if (which < 0 || which >= SHADOWS) base += light;
    else direct[which] += light;
  }
  base = clamp(base, 0.0, 1.0);
`;

const VERTEX = `
precision highp float;
precision highp int;
${PLACED}
layout(location=1) in vec3 a_normal;
layout(location=2) in vec2 a_coords;
layout(location=7) in vec4 i_colour;
layout(location=8) in vec4 i_material;
layout(location=9) in vec4 i_texture;
uniform mat4 u_view;
uniform mat4 u_projection;
uniform vec4 u_clip;
uniform vec3 u_dim;
${FIELDS.replaceAll("WAY", "out")}
${LIGHT}
#if SHADOWS
  uniform mat4 u_shadow[SHADOWS];
#endif
void main() {
  vec4 world = placed();
  vec4 eye = u_view * world;
  gl_Position = u_projection * eye;
  v_at = eye.xyz;
  v_above = dot(u_clip, world);
  v_colour = vec4(i_colour.rgb * u_dim, i_colour.a);
  vec3 normal = normalize(mat3(u_view) * (turn() * (a_normal / i_scale.xyz))), material = i_material.xyz;
  if (i_scale.w < 0.5) v_coords = vec3(a_coords * i_texture.xy + i_texture.zw, 0.0);
  else if (i_scale.w < 1.5) v_coords = vec3(a_position.xy * i_texture.xy + i_texture.zw, 0.0);
  else v_coords = a_position * i_texture.xyz;
#if SHADOWS
  for (int i = 0; i < SHADOWS; i++) v_shadow[i] = u_shadow[i] * world;
#endif
#if PIXELS
  v_normal = normal;
  v_material = material;
#else
  ${SUM}
  v_base = base;
  #if SHADOWS
    for (int i = 0; i < SHADOWS; i++) v_direct[i] = clamp(direct[i], 0.0, 1.0);
  #endif
#endif
}`;

/** A sampler of an array is chosen by a constant: one line per map. @param {number} shadows */
const fragment = (shadows) => `
precision highp float;
precision highp int;
precision highp sampler2DShadow;
${FIELDS.replaceAll("WAY", "in")}
${LIGHT}
${FOG}
uniform int u_kind;
uniform int u_plain;
uniform sampler2D u_flat;
uniform samplerCube u_cube;
#if SHADOWS
  uniform sampler2DShadow u_map[SHADOWS];
#endif
out vec4 o_colour;
float litBy(sampler2DShadow map, vec4 at) {
  vec3 place = at.xyz / at.w * 0.5 + 0.5;
  if (at.w <= 0.0 || any(lessThan(place, vec3(0.0))) || any(greaterThan(place, vec3(1.0)))) return 1.0;
  return texture(map, place);
}
void main() {
  if (v_above < 0.0) discard;
  if (u_plain == 1) { o_colour = v_colour; return; }
  if (u_plain == 2) { o_colour = vec4(vec3(1.0 - gl_FragCoord.z), 1.0); return; }
  vec4 texel = vec4(1.0);
  if (u_kind == 1) texel = texture(u_flat, v_coords.xy);
  else if (u_kind == 2) texel = texture(u_cube, v_coords);
#if PIXELS
  vec3 normal = normalize(v_normal), material = v_material;
  ${SUM}
#else
  vec3 base = v_base;
#endif
  vec3 lit = vec3(0.0);
${Array.from({ length: shadows }, (_, k) => `  lit += clamp(DIRECT[${k}], 0.0, 1.0) * litBy(u_map[${k}], v_shadow[${k}]);`).join("\n")}
  float clear = seenThrough(-v_at.z);
  o_colour = vec4(mix(u_fog.rgb, base * texel.rgb, clear) + lit * texel.rgb * clear, v_colour.a * texel.a);
}`;

export const UNIFORMS = [
  "u_view", "u_projection", "u_clip", "u_dim", "u_shadow", "u_lights", "u_at", "u_spot", "u_fade", "u_ambient",
  "u_diffuse", "u_specular", "u_shadowOf", "u_everywhere", "u_kind", "u_plain", "u_flat", "u_cube", "u_map", "u_fog",
  "u_fogRange",
];

/** @param {number} shadows @param {boolean} pixels @returns {[string, string]} */
export function worldShaders(shadows, pixels) {
  const head = `#version 300 es\n#define SHADOWS ${shadows}\n#define PIXELS ${pixels ? 1 : 0}\n`;
  return [head + VERTEX, `${head}#define DIRECT ${pixels ? "direct" : "v_direct"}\n${fragment(shadows)}`];
}

/** What casts shadows: only how far it is from the light. */
export const CASTING = [`#version 300 es
precision highp float;
${PLACED}
uniform mat4 u_shadow;
void main() { gl_Position = u_shadow * placed(); }`, `#version 300 es
precision mediump float;
void main() {}`];

/** Lines that are wider than a pixel: two triangles each, widened on the screen. */
export const LINES = [`#version 300 es
precision highp float;
layout(location=0) in vec2 a_corner;
layout(location=3) in vec3 i_from;
layout(location=4) in vec4 i_to;
layout(location=5) in vec4 i_colour;
uniform mat4 u_view;
uniform mat4 u_projection;
uniform vec2 u_size;
uniform vec3 u_dim;
out vec4 v_colour;
out float v_depth;
void main() {
  vec4 eyes[2] = vec4[2](u_view * vec4(i_from, 1.0), u_view * vec4(i_to.xyz, 1.0));
  vec4 a = u_projection * eyes[0], b = u_projection * eyes[1];
  // Cut off what cannot be seen: a corner far outside would make depths coarse.
  float from = 0.0, to = 1.0;
  vec4 sides[5] = vec4[5](vec4(0.0, 0.0, 1.0, 1.0), vec4(1.0, 0.0, 0.0, 1.1), vec4(-1.0, 0.0, 0.0, 1.1),
    vec4(0.0, 1.0, 0.0, 1.1), vec4(0.0, -1.0, 0.0, 1.1));
  for (int i = 0; i < 5; i++) {
    float here = dot(sides[i], a), there = dot(sides[i], b);
    if (here <= 0.0 && there <= 0.0) to = -1.0;
    else if (here < 0.0) from = max(from, here / (here - there));
    else if (there < 0.0) to = min(to, here / (here - there));
  }
  if (from >= to) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  vec4 ends[2] = vec4[2](mix(a, b, from), mix(a, b, to));
  a = ends[0];
  b = ends[1];
  vec2 way = (b.xy / b.w - a.xy / a.w) * u_size;
  vec2 side = length(way) < 1e-6 ? vec2(0.0) : normalize(vec2(-way.y, way.x));
  vec4 at = a_corner.x < 0.5 ? a : b;
  at.xy += a_corner.y * side * i_to.w / u_size * at.w;
  gl_Position = at;
  v_depth = -mix(eyes[0], eyes[1], a_corner.x < 0.5 ? from : to).z;
  v_colour = vec4(i_colour.rgb * u_dim, i_colour.a);
}`, `#version 300 es
precision highp float;
in vec4 v_colour;
in float v_depth;
${FOG}
out vec4 o_colour;
void main() { o_colour = vec4(mix(u_fog.rgb, v_colour.rgb, seenThrough(v_depth)), v_colour.a); }`];

/** The sky, and the haze before it. */
export const SKY = [`#version 300 es
precision highp float;
layout(location=0) in vec3 a_position;
layout(location=1) in float a_opaque;
uniform mat4 u_place;
uniform mat4 u_view;
uniform mat4 u_projection;
out vec3 v_way;
out float v_opaque;
out float v_depth;
void main() {
  vec4 eye = u_view * u_place * vec4(a_position, 1.0);
  gl_Position = u_projection * eye;
  v_way = a_position;
  v_opaque = a_opaque;
  v_depth = -eye.z;
}`, `#version 300 es
precision highp float;
in vec3 v_way;
in float v_opaque;
in float v_depth;
uniform samplerCube u_cube;
uniform vec4 u_haze;
${FOG}
out vec4 o_colour;
void main() {
  vec4 colour = u_haze.a > 0.5 ? vec4(u_haze.rgb, v_opaque) : vec4(texture(u_cube, vec3(v_way.x, v_way.z, -v_way.y)).rgb, 1.0);
  o_colour = vec4(mix(u_fog.rgb, colour.rgb, seenThrough(v_depth)), colour.a);
}`];
