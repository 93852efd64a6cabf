"""Shader packs, made by editing SAPIEN's shaders.

On the CPU, SAPIEN's "minimal" shader pack spends about ten CPU-seconds on the first image of each
process, for a lookup table of environment lighting, which these scenes do not use. The packs are
edited copies of it:

``flat``: without environment lighting, its blending pass, and specular highlights at grazing
angles. Images differ by less than two gray levels of 255 on average, and cost at most two thirds.

``soft``: with soft shadows (2 lookups instead of 25), antialiased edges and ambient occlusion by
the shaders in ``glsl/``, without normal maps and flat shading.

``stock``: SAPIEN's shaders, unchanged.

The edits match the files of one version of SAPIEN; with other versions, only ``stock`` is
supported. The digest of the shaders is recorded in datasets and results.
"""

import dataclasses
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any

import sapien
import torch

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.cache import cached_directory

PACK_NAME = "clevrskills"
"""Prefix of the names of the packs in ManiSkill."""
STOCK_PACK = "minimal"
KNOWN_SHADERS = "abc23236bf79827a"
"""Digest of the shaders of SAPIEN 3.0.3, for which the edits are written."""
GLSL = Path(__file__).parent / "glsl"
PICTURE_FORMATS = {
    "Color": "r8g8b8a8unorm",
    "ColorRaw": "r8g8b8a8unorm",
    "PositionSegmentation": "r16g16b16a16sint",
    "Number": "r32sfloat",
}

# (pattern, replacement): each must match exactly once in the installed file
_Edits = Mapping[str, Sequence[tuple[str, str]]]
_COMMON_EDITS = (
    (r"layout\(set = \d+, binding = \d+\) uniform sampler2D samplerBRDFLUT;\n", ""),
    (r"layout\(set = \d+, binding = \d+\) uniform samplerCube samplerEnvironment;\n", ""),
    (r"vec3 getBackgroundColor\(vec3 texcoord\) \{[^}]*\}\n", ""),
    (r"vec3 diffuseIBL\([^)]*\) \{[^}]*\}\n", ""),
    # all bodies are opaque; without `discard`, hidden fragments are rejected before shading
    (r" *if \(albedo\.a == 0\) \{\s*discard;\s*\}\n", ""),
)
_SPECULAR = r"vec3 specularIBL\([^)]*\) \{[^}]*\}\n"
_FLAT_EDITS: _Edits = {
    "minimal/gbuffer.frag": (
        *_COMMON_EDITS,
        (_SPECULAR, ""),
        (r"[^\n]*\n *color \+= diffuseIBL\([^;]*;\n *color \+= specularIBL\([^;]*;\n", ""),
        # metals, which have only specular light, would be black
        (r"albedo\.rgb \* \(1 - metallic\)", "albedo.rgb"),
        (r"out vec4 outColorRaw;", "out vec4 outColor;"),
        (r"outColorRaw = ", "outColor = "),
    ),
    "common/lights.glsl": (
        (r"(vec3 computeDirectionalLight\([^}]*\n) *color \+= emission \* ggx\([^;]*;\n", r"\1"),
    ),
}


def _soft_edits(files: Mapping[str, str]) -> _Edits:
    """Return the edits of the installed files that insert the shaders of ``glsl/``."""
    shadow, light, vertex = (
        (GLSL / f"{name}.glsl").read_text("utf-8") for name in ("shadow", "light", "vertex")
    )
    blocks = r"layout\(set = 3, binding = 0\).*?(?=layout\(set = 3, binding = 2\))"
    (scene,) = re.findall(blocks, files["minimal/gbuffer.frag"], re.DOTALL)
    varyings = (
        r"layout\(location = 3\) {0} vec3 objectCoord;\nlayout\(location = 4\) {0} mat3 {0}Tbn;"
    )
    own = "layout(location = 3) {0} vec3 {0}Up;\nlayout(location = 4) {0} vec3 {0}Lit;"
    return {
        # transform vertices, not pixels
        "minimal/gbuffer.vert": (
            (
                varyings.format("out"),
                f'#include "../common/lights.glsl"\n{scene}{own.format("out")}',
            ),
            (r" *objectCoord = position;\n", ""),
            (r"  vec3 outTangent .*outTbn = [^;]*;\n", vertex),
        ),
        "minimal/gbuffer.frag": (
            *_COMMON_EDITS,
            (_SPECULAR, shadow),
            (varyings.format("in"), own.format("in")),
            (r"  vec3 normal;\n.*(?=  float specular = )", ""),
            (r"  // point light.*color \+= sceneBuffer\.ambientLight[^;]*;\n", light),
        ),
        # table and floor, which would fill the shadow map, cast no visible shadow
        "minimal/shadow.vert": (
            (
                r"(?<=vec4\(position, 1\.f\);)",
                "\n  float heightM = (objectTransformBuffer.modelMatrix * vec4(position, 1)).z;"
                "\n  if (normal.z > 0.99 && heightM < 0.001) gl_Position = vec4(0, 0, -3, 1);",
            ),
        ),
    }


_COLOR_EDITS: _Edits = {
    "minimal/gbuffer.frag": (
        (r"layout\(location = 1\) out ivec4 outPositionSegmentation;\n", ""),
        (r" *outPositionSegmentation = [^;]*;\n", ""),
    )
}
_NUMBER_EDITS: _Edits = {
    "minimal/gbuffer.frag": (
        (
            r"layout\(location = 1\) out ivec4 outPositionSegmentation;",
            "layout(location = 1) out float outNumber;",
        ),
        (r"outPositionSegmentation = [^;]*;", "outNumber = inSegmentation[1];"),
    )
}
# the pass that computes "Color" from "ColorRaw"; without it, the image is written to "Color"
_PASS = ("minimal/composite.vert", "minimal/composite0.frag")


def _edited(shaders: Mapping[str, str], edits: _Edits) -> dict[str, str]:
    edited = dict(shaders)
    for name, replacements in edits.items():
        for pattern, replacement in replacements:
            edited[name], count = re.subn(pattern, replacement, edited[name], flags=re.DOTALL)
            assert count == 1, f"{name}: {count} matches of {pattern!r}"
    return edited


def _shader_root() -> Path:
    """Return the directory of SAPIEN's shader packs."""
    return Path(sapien.__file__).parent / "vulkan_shader"


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]


def _files(look: str, geometry: bool, numbers: bool = False) -> dict[str, str]:
    """Return the contents of the files of a pack, see :func:`shader_pack`."""
    try:
        files = {
            f"{pack}/{file.name}": file.read_text(encoding="utf-8")
            for pack in (STOCK_PACK, "common")
            for file in sorted((_shader_root() / pack).iterdir())
        }
    except OSError as error:
        raise ClevrSkillsError(
            f"cannot read SAPIEN's shaders in {_shader_root()} ({error.strerror}); reinstall sapien"
        ) from error
    if look == "stock":
        return files
    if _digest(files) != KNOWN_SHADERS:
        raise ClevrSkillsError(
            f"look {look!r} needs the shaders of SAPIEN 3.0.3, but {_shader_root()} has others; "
            "install sapien==3.0.3 or use look 'stock'"
        )
    if look == "soft":
        files = _edited(files, _soft_edits(files))
        files[_PASS[1]] = (GLSL / "composite0.frag").read_text("utf-8")
    else:
        files = _edited(files, _FLAT_EDITS)
        files = {name: text for name, text in files.items() if name not in _PASS}
    return files if geometry else _edited(files, _NUMBER_EDITS if numbers else _COLOR_EDITS)


@cache
def shader_digest(look: str) -> str:
    """Return the digest of the shaders of a look, 16 hexadecimal digits.

    Raises:
        ClevrSkillsError: The installed shaders do not support the look.
    """
    return _digest(_files(look, geometry=True))


@cache
def shader_pack(look: str, geometry: bool = False, numbers: bool = False) -> str:
    """Return the directory of a shader pack; "minimal" for ``stock``.

    Args:
        look: One of :data:`~clevrskills.core.env_config.LOOKS`.
        geometry: Whether to render depth, positions and segmentation; ``stock`` always does.
        numbers: Whether to render only the entity number of each pixel, as "Number", which is
            cheap.

    Raises:
        ClevrSkillsError: The installed shaders do not support the look, or the cache cannot be
            written.
    """
    if look == "stock":
        return STOCK_PACK
    files = _files(look, geometry, numbers)

    def write(directory: Path) -> None:
        for name, text in files.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(text, encoding="utf-8")

    return str(cached_directory(f"shaders/{_digest(files)}", write) / STOCK_PACK)


@cache
def default_backend() -> str:
    """Return the render backend of this machine: "gpu" with a CUDA device, else "cpu"."""
    return "gpu" if torch.cuda.is_available() else "cpu"


@cache
def _drawing_process() -> int:
    """Return the process that renders."""
    return os.getpid()


class ForkedError(ClevrSkillsError):
    """The process was forked from a rendering process, whose renderer does not survive a fork."""


def _pack_to_draw_with(look: str, geometry: bool, numbers: bool = False) -> str:
    """Return the pack of :func:`shader_pack` and mark this process as rendering."""
    if _drawing_process() != os.getpid():
        raise ForkedError(
            "a process forked from a rendering process cannot render; use spawn, for Gymnasium's "
            'asynchronous environments: AsyncVectorEnv(..., context="spawn") or '
            'gym.make_vec(..., vector_kwargs={"context": "spawn"})'
        )
    # one raster thread halves the CPU time per image, and processes scale
    os.environ.setdefault("LP_NUM_THREADS", "0")
    return shader_pack(look, geometry, numbers)


def use_shader_pack(look: str, geometry: bool = False, numbers: bool = False) -> str:
    """Select the shader pack of cameras that are created next; see :func:`shader_pack`."""
    directory = _pack_to_draw_with(look, geometry, numbers)
    _use(directory)
    return directory


def _use(directory: str) -> None:
    sapien.render.set_camera_shader_dir(directory)
    for name, texture_format in PICTURE_FORMATS.items():
        sapien.render.set_picture_format(name, texture_format)


def prepare(look: str, geometry: bool = False) -> str:
    """Register a shader pack with ManiSkill, before the first render device is created.

    Args:
        look: One of :data:`~clevrskills.core.env_config.LOOKS`.
        geometry: Whether cameras render depth, positions and segmentation.

    Returns:
        The name of the shader pack for `CameraConfig`, such as "clevrskills_soft"; "minimal" for
        ``stock``.

    Raises:
        ClevrSkillsError: The installed shaders do not support the look, the cache cannot be
            written, or this process was forked from a rendering process.
    """
    directory = _pack_to_draw_with(look, geometry)
    if directory == STOCK_PACK:
        return STOCK_PACK
    name = f"{PACK_NAME}_{look}" + ("_geometry" if geometry else "")
    _register(name, directory, geometry)
    return name


def _register(name: str, directory: str, geometry: bool) -> None:
    """Register a pack with ManiSkill, which only knows SAPIEN's packs."""
    from mani_skill.render import shaders
    from mani_skill.sensors import camera

    known = shaders.PREBUILT_SHADER_CONFIGS
    stock = known[STOCK_PACK]
    textures = stock.texture_names if geometry else {"Color": ["rgb"]}
    known[name] = dataclasses.replace(stock, shader_pack=directory, texture_names=textures)
    inner = shaders.set_shader_pack
    if getattr(inner, "knows_clevrskills", False):
        return

    @wraps(inner)
    def set_shader_pack(config: Any) -> None:
        ours = [pack.shader_pack for name, pack in known.items() if name.startswith(PACK_NAME)]
        if config.shader_pack in ours:
            _use(config.shader_pack)
        else:
            inner(config)

    set_shader_pack.knows_clevrskills = True  # type: ignore[attr-defined]
    shaders.set_shader_pack = set_shader_pack
    camera.set_shader_pack = set_shader_pack  # imported by name
