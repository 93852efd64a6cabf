  // matte bodies under directional lights, and light from all around that is weaker from below
  for (int i = 0; i < NUM_DIRECTIONAL_LIGHTS; ++i) {
    float facing = max(dot(inUp, -sceneBuffer.directionalLights[i].direction.xyz), 0);
    if (i == 0 && NUM_DIRECTIONAL_LIGHT_SHADOWS > 0 && facing > 0) {
      facing *= lightThatArrives(samplerDirectionalLightDepths[0], inLit);
    }
    color += facing / 3.14159265 * albedo.rgb * sceneBuffer.directionalLights[i].emission.rgb;
  }
  color += sceneBuffer.ambientLight.rgb * albedo.rgb * (0.75 + 0.25 * inUp.z);
