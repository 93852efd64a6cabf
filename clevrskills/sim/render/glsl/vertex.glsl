  // normal in the world, and place in the map of shadows: right, down and depth from 0 to 1
  outUp = mat3(cameraBuffer.viewMatrixInverse) * normalize(normalMatrix * normal);
  vec4 at = shadowBuffer.directionalLightBuffers[0].projectionMatrix *
            shadowBuffer.directionalLightBuffers[0].viewMatrix *
            objectTransformBuffer.modelMatrix * vec4(position, 1);
  outLit = vec3(at.xy * 0.5 + 0.5, at.z);
