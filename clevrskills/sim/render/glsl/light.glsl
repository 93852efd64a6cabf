  // matte bodies under directional lights, and light from all around that is weaker from below
  vec3 up = mat3(cameraBuffer.viewMatrixInverse) * normal;
  vec4 place = cameraBuffer.viewMatrixInverse * vec4(csPosition.xyz, 1);
  for (int i = 0; i < NUM_DIRECTIONAL_LIGHTS; ++i) {
    float facing = max(dot(up, -sceneBuffer.directionalLights[i].direction.xyz), 0);
    if (i < NUM_DIRECTIONAL_LIGHT_SHADOWS && facing > 0) {
      vec4 at = shadowBuffer.directionalLightBuffers[i].projectionMatrix *
                shadowBuffer.directionalLightBuffers[i].viewMatrix * place;
      facing *= lightThatArrives(samplerDirectionalLightDepths[i], vec3(at.xy * 0.5 + 0.5, at.z));
    }
    color += facing / 3.14159265 * albedo.rgb * sceneBuffer.directionalLights[i].emission.rgb;
  }
  color += sceneBuffer.ambientLight.rgb * albedo.rgb * (0.75 + 0.25 * up.z);
