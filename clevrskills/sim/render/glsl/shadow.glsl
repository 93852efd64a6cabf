// Share of a directional light that arrives: the mean of two places of a depth map, each
// interpolated between 4 texels.
const vec2 PLACES[2] = vec2[](vec2(0.8, 0.4), vec2(-0.8, -0.4)); // in texels
const float BIAS = 0.001; // of the depth of the map, lest bodies shade themselves

float lightThatArrives(sampler2D depths, vec3 at) {
  if (any(greaterThan(abs(at.xy - 0.5), vec2(0.495)))) {
    return 1;  // beyond the map lies light
  }
  vec2 size = textureSize(depths, 0);
  float sum = 0;
  for (int i = 0; i < 2; ++i) {
    vec2 texel = at.xy * size - 0.5 + PLACES[i];
    vec2 part = fract(texel), rest = 1 - part;
    vec4 lit = step(at.z - BIAS, textureGather(depths, (floor(texel) + 1) / size));
    sum += (lit.w * rest.x + lit.z * part.x) * rest.y + (lit.x * rest.x + lit.y * part.x) * part.y;
  }
  return sum / 2;
}
