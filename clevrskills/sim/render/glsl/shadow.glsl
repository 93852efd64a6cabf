// Share of a directional light that arrives: a tent two texels wide over a depth map, 4 gathers.
float lightThatArrives(sampler2D depths, vec3 at) {
  if (any(greaterThan(abs(at.xy - 0.5), vec2(0.495)))) {
    return 1;  // beyond the map lies light
  }
  float size = textureSize(depths, 0).x;
  vec2 texel = at.xy * size - 0.5;
  vec2 part = fract(texel);
  vec2 corner = (floor(texel) + 0.5) / size;
  float sum = 0;
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 2; ++i) {
      vec4 lit = step(at.z, textureGather(depths, corner + (2 * vec2(i, j) - 0.5) / size));
      vec2 near = vec2(i == 0 ? 1 - part.x : 1, j == 0 ? 1 - part.y : 1);
      vec2 far = vec2(i == 0 ? 1 : part.x, j == 0 ? 1 : part.y);
      sum += (lit.w * near.x + lit.z * far.x) * near.y + (lit.x * near.x + lit.y * far.x) * far.y;
    }
  }
  return sum / 9;
}
