"""Vulkan devices that can draw, as the driver tells them."""

import ctypes
from functools import cache
from typing import Any

# Values of the Vulkan interface (vulkan_core.h).
_STRUCTURE_INSTANCE_CREATE_INFO = 1
_STRUCTURE_PROPERTIES_2 = 1000059001
_STRUCTURE_DRIVER_PROPERTIES = 1000196000
_DEVICE_TYPE_CPU = 4
_API_VERSION_1_2 = 1 << 22 | 2 << 12


class _ApplicationInfo(ctypes.Structure):
    _fields_ = [
        ("structure", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_uint32),
        ("engine", ctypes.c_char_p),
        ("engine_version", ctypes.c_uint32),
        ("api_version", ctypes.c_uint32),
    ]


class _InstanceCreateInfo(ctypes.Structure):
    _fields_ = [
        ("structure", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.POINTER(_ApplicationInfo)),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    ]


class _DriverProperties(ctypes.Structure):
    _fields_ = [
        ("structure", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("driver_id", ctypes.c_uint32),
        ("name", ctypes.c_char * 256),
        ("info", ctypes.c_char * 256),
        ("conformance", ctypes.c_uint32),
    ]


class _DeviceProperties(ctypes.Structure):
    _fields_ = [
        ("structure", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("api_version", ctypes.c_uint32),
        ("driver_version", ctypes.c_uint32),
        ("vendor", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("type", ctypes.c_uint32),
        ("name", ctypes.c_char * 256),
        ("limits", ctypes.c_uint64 * 128),  # not read; at least as large as what the driver writes
    ]


def vulkan_devices() -> list[dict[str, Any]]:
    """List the devices of the Vulkan loader: name, driver, and whether it draws in software."""
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
    """Return SAPIEN's rendering device, from ``sapien.render.get_device_summary()``."""
    names = [line.removeprefix("GPU:").strip() for line in summary.splitlines() if "GPU:" in line]
    return names[0] if names else "unknown device"


@cache
def renderer(look: str) -> str:
    """Return name and driver of the device that SAPIEN draws with, and the digests of the shaders
    and of the lights.

    Raises:
        ClevrSkillsError: The look cannot be drawn with the installed shaders.
    """
    import sapien

    from clevrskills.sim.render.scene_visuals import lights_digest
    from clevrskills.sim.render.shaders import shader_digest

    name = drawing_device(sapien.render.get_device_summary())
    drivers = [device["driver"] for device in vulkan_devices() if device["name"] == name]
    digests = f"shaders {shader_digest(look)}", f"lights {lights_digest(look)}"
    return ", ".join([name, *drivers[:1], *digests])
