#version 450
// Finish of an image: smooth edges, and darkness where bodies meet.
//
// The depth buffer holds an affine function of 1 / depth, which is affine in pixels on every plane.
// So a second difference that is not zero is an edge or a bend, whatever the texture; and where
// pixels on opposite sides are nearer on average than the one in the middle, there is a hollow.

layout(set = 0, binding = 0) uniform sampler2D samplerColorRaw;
layout(set = 0, binding = 1) uniform sampler2D samplerGbufferDepth;

layout(set = 1, binding = 0) uniform CameraBuffer {
  mat4 viewMatrix;
  mat4 projectionMatrix;
  mat4 viewMatrixInverse;
  mat4 projectionMatrixInverse;
  float width;
  float height;
} cameraBuffer;

layout(location = 0) in vec2 inUV;

layout(location = 0) out vec4 outColor;

const vec3 BRIGHTNESS = vec3(0.3, 0.6, 0.1);
const float EDGE_PIXELS = 0.4;  // bend over a pixel, in widths of the pixel, that is an edge
const float HOLLOW_M = 0.025;   // how far around a hollow is looked for
const float HOLLOW_DARK = 0.14; // light that each of 4 pairs takes, at the most half of it
const float FAR_M = 3.0;        // beyond, hollows are smaller than pixels

float depthAt(ivec2 pixel) {
  ivec2 last = textureSize(samplerGbufferDepth, 0) - 1;
  return texelFetch(samplerGbufferDepth, clamp(pixel, ivec2(0), last), 0).x;
}

vec4 colorAt(vec2 pixel) {
  return texture(samplerColorRaw, pixel / vec2(textureSize(samplerColorRaw, 0)));
}

float brightnessAt(vec2 pixel) {
  return dot(colorAt(pixel).rgb, BRIGHTNESS);
}

// The mean along the edge that crosses a pixel; the long one unless it reaches another edge.
vec4 alongTheEdge(vec2 pixel, vec4 color) {
  float a = brightnessAt(pixel + vec2(-1, -1)), b = brightnessAt(pixel + vec2(1, -1));
  float c = brightnessAt(pixel + vec2(-1, 1)), d = brightnessAt(pixel + vec2(1, 1));
  vec2 way = vec2(c + d - a - b, a + c - b - d);
  way = clamp(way / (min(abs(way.x), abs(way.y)) + 0.02), -6, 6);
  vec4 near = 0.5 * (colorAt(pixel - way / 6) + colorAt(pixel + way / 6));
  vec4 mean = 0.5 * near + 0.25 * (colorAt(pixel - way / 2) + colorAt(pixel + way / 2));
  float here = dot(color.rgb, BRIGHTNESS), found = dot(mean.rgb, BRIGHTNESS);
  float least = min(here, min(min(a, b), min(c, d)));
  float most = max(here, max(max(a, b), max(c, d)));
  return found < least || found > most ? near : mean;
}

void main() {
  ivec2 pixel = ivec2(gl_FragCoord.xy);
  outColor = texelFetch(samplerColorRaw, pixel, 0);
  // differences to all sides: two within a block of 2 x 2 pixels, two to its neighbors
  ivec2 place = pixel & 1, outward = 2 * place - 1;
  vec4 block = textureGather(samplerGbufferDepth, (gl_FragCoord.xy + 0.5 * outward) /
                             textureSize(samplerGbufferDepth, 0));
  block = place.x == 0 ? block : block.yxwz;
  block = place.y == 0 ? block : block.wzyx;
  float depth = block.y;
  vec2 bend = abs(block.xz - depth - outward * vec2(dFdxFine(depth), dFdyFine(depth)));
  // distance, and pixels of a meter there
  float awayM = cameraBuffer.projectionMatrix[3][2] / (depth + cameraBuffer.projectionMatrix[2][2]);
  float pixels = abs(0.5 * cameraBuffer.projectionMatrix[1][1]) * cameraBuffer.height / awayM;
  float toM = awayM * awayM / abs(cameraBuffer.projectionMatrix[3][2]);

  if (max(bend.x, bend.y) * toM * pixels > EDGE_PIXELS) {
    outColor = alongTheEdge(gl_FragCoord.xy, outColor);
  }

  // each pixel of a block of 2 x 2 looks in one of 4 directions; what they find is added
  vec3 around = place.x == 0 ? vec3(1 - place.y, place.y, 1) : vec3(0.5 - place.y, 0.5, 1.4);
  ivec2 way = ivec2(round(around.xy * (HOLLOW_M * pixels)));
  float mean = 0.5 * (depthAt(pixel + way) + depthAt(pixel - way));
  float hollow = (depth - mean) * toM * around.z / HOLLOW_M;
  // what is much nearer stands in front, and does not touch
  float dark = awayM < FAR_M ? clamp(hollow - 0.05, 0, 0.5) * clamp(2.5 - hollow, 0, 1) : 0;
  dark = 2 * dark - outward.x * dFdxFine(dark);
  dark = 2 * dark - outward.y * dFdyFine(dark);
  outColor.rgb *= 1 - HOLLOW_DARK * dark;
}
