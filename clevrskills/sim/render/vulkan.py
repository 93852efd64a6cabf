"""Vulkan devices, as reported by the driver."""

import ctypes
from ctypes import c_char, c_char_p, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

# Constants of the Vulkan API (vulkan_core.h).
_STRUCTURE_INSTANCE_CREATE_INFO = 1
_STRUCTURE_PROPERTIES_2 = 1000059001
_STRUCTURE_DRIVER_PROPERTIES = 1000196000
_DEVICE_TYPE_CPU = 4
_API_VERSION_1_2 = 1 << 22 | 2 << 12


def _structure(**fields: Any) -> Any:
    """Return a ctypes structure that begins with the type and the chain of Vulkan structures."""
    header = [("structure", c_uint32), ("next", c_void_p)]
    return type("Structure", (ctypes.Structure,), {"_fields_": [*header, *fields.items()]})


_ApplicationInfo = _structure(
    name=c_char_p, version=c_uint32, engine=c_char_p, engine_version=c_uint32, api_version=c_uint32
)
_InstanceCreateInfo = _structure(
    **{"flags": c_uint32, "application": ctypes.POINTER(_ApplicationInfo)},
    **{"layer_count": c_uint32, "layers": c_void_p},
    **{"extension_count": c_uint32, "extensions": c_void_p},
)
_DriverProperties = _structure(
    driver_id=c_uint32, name=c_char * 256, info=c_char * 256, conformance=c_uint32
)
_DeviceProperties = _structure(
    **dict.fromkeys(("api_version", "driver_version", "vendor", "device", "type"), c_uint32),
    name=c_char * 256,
    limits=c_uint64 * 128,  # not read; at least as large as the driver's
)


def vulkan_devices() -> list[dict[str, Any]]:
    """Return name, driver and kind (software or hardware) of the Vulkan devices."""
    try:
        vulkan = ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return []
    application = _ApplicationInfo(api_version=_API_VERSION_1_2)
    create_info = _InstanceCreateInfo(
        structure=_STRUCTURE_INSTANCE_CREATE_INFO, application=ctypes.pointer(application)
    )
    instance = ctypes.c_void_p()
    if vulkan.vkCreateInstance(ctypes.byref(create_info), None, ctypes.byref(instance)) != 0:
        return []
    count = ctypes.c_uint32()
    vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
    handles = (ctypes.c_void_p * count.value)()
    vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles)
    devices = [_describe(vulkan, ctypes.c_void_p(handle)) for handle in handles]
    vulkan.vkDestroyInstance(instance, None)
    return devices


def _describe(vulkan: ctypes.CDLL, handle: ctypes.c_void_p) -> dict[str, Any]:
    driver = _DriverProperties(structure=_STRUCTURE_DRIVER_PROPERTIES)
    device = _DeviceProperties(structure=_STRUCTURE_PROPERTIES_2, next=ctypes.addressof(driver))
    vulkan.vkGetPhysicalDeviceProperties2(handle, ctypes.byref(device))
    return {
        "name": device.name.decode(errors="replace"),
        "driver": f"{driver.name.decode(errors='replace')} {driver.info.decode(errors='replace')}",
        "software": device.type == _DEVICE_TYPE_CPU,
    }


def drawing_device(summary: str) -> str:
    """Return SAPIEN's render device from ``sapien.render.get_device_summary()``."""
    names = [line.removeprefix("GPU:").strip() for line in summary.splitlines() if "GPU:" in line]
    return names[0] if names else "unknown device"


@cache
def renderer(look: str) -> str:
    """Return name and driver of SAPIEN's render device, and the digests of shaders and lights.

    Raises:
        ClevrSkillsError: The installed shaders do not support the look.
    """
    import sapien

    from clevrskills.sim.render.scene_visuals import lights_digest
    from clevrskills.sim.render.shaders import shader_digest

    name = drawing_device(sapien.render.get_device_summary())
    drivers = [device["driver"] for device in vulkan_devices() if device["name"] == name]
    digests = f"shaders {shader_digest(look)}", f"lights {lights_digest(look)}"
    return ", ".join([name, *drivers[:1], *digests])
