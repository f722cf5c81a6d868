"""A phone's state, which its commands and its sysfs show, and the methods that change it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from .store import Store

COMMANDS = ("cmd", "dumpsys", "getprop", "input", "log", "logcat", "setprop", "settings", "svc", "uname")


@dataclass(frozen=True)
class Cluster:
    """CPUs that share a clock. `capacity` is relative to the fastest, which has 1024."""

    name: str
    cpus: list[int]
    capacity: int
    max_khz: int
    min_khz: int = 300_000


# Two CPUs only, so that the machine under it has every CPU that the phone shows and the real taskset works.
TWO_CPUS = [Cluster("little", [0], 280, 1_950_000), Cluster("big", [1], 1024, 3_250_000)]
# For tests that inspect the topology without pinning processes to CPUs.
EIGHT_CPUS = [
    Cluster("little", [0, 1, 2, 3], 280, 1_950_000),
    Cluster("mid", [4, 5, 6], 720, 2_600_000),
    Cluster("big", [7], 1024, 3_250_000),
]


class Phone:
    """An Android 15 phone at rest: plugged in over USB, charging, cool, uncapped, its screen on."""

    def __init__(
        self, state: Path, programs: Path, *, name: str, abi: str = "arm64-v8a", clusters: list[Cluster] | None = None
    ) -> None:
        self.state = state
        self.clusters = clusters or TWO_CPUS
        self.store = Store(state)
        self._write_programs(programs)
        for key, value in self._properties(name, abi).items():
            self.store.set(f"properties/{key}", value)
        # animator_duration_scale was never set, so that `settings get` answers null, as on many a real phone.
        self.set_setting("global", "window_animation_scale", "1.0")
        self.set_setting("global", "transition_animation_scale", "1.0")
        self.set_setting("global", "low_power", "0")
        self.set_setting("global", "stay_on_while_plugged_in", "0")
        self.set_setting("system", "screen_off_timeout", "30000")
        self.store.set("power/wakefulness", "Awake")
        (state / "logcat.txt").touch()
        self._write_cpus()
        self._write_cooling_devices()
        self.charge()
        self.set_temperature(skin=31.0, cpu=38.0, battery=28.4)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of every program on the phone."""
        return {"ETPROF_SYSFS_ROOT": str(self.state), "ETPROF_LAB_STATE": str(self.state)}

    # --- changes of the state ---

    def discharge(self, level: int = 50) -> None:
        """Pulls the charger."""
        self._battery(usb=False, status=3, level=level)

    def charge(self, level: int = 85) -> None:
        """Plugs a USB charger in."""
        self._battery(usb=True, status=2, level=level)

    def set_temperature(
        self, *, skin: float | None = None, cpu: float | None = None, battery: float | None = None
    ) -> None:
        """Sets temperatures in degrees Celsius. The thermal status follows the skin: light from 39, moderate 43, severe 45,
        critical 46.5, emergency 52, shutdown 55.
        """
        for name, celsius in (("skin", skin), ("cpu", cpu), ("battery", battery)):
            if celsius is not None:
                self.store.set(f"thermal/{name}", celsius)
        if battery is not None:
            self.store.set("sys/class/power_supply/battery/temp", round(battery * 10))
        self._write_thermal_zones()

    def cap(self, cluster: str, khz: int) -> None:
        """Limits a cluster's clock, as a thermal engine does: scaling_max_freq falls, its cooling device is engaged."""
        self._set_maximum(cluster, khz)

    def uncap(self, cluster: str) -> None:
        """Removes the limit of cap()."""
        self._set_maximum(cluster, None)

    def set_governor(self, cluster: str, governor: str) -> None:
        self._cpu_value(cluster, "scaling_governor", governor)

    def set_setting(self, namespace: str, key: str, value: str | None) -> None:
        """Changes a setting without the `settings` command; None deletes the setting."""
        if value is None:
            self.store.delete(f"settings/{namespace}/{key}")
        else:
            self.store.set(f"settings/{namespace}/{key}", value)

    def set_property(self, key: str, value: str) -> None:
        self.store.set(f"properties/{key}", value)

    def log_line(self, text: str, tag: str = "XNNPACK", priority: str = "I", pid: int = 4242) -> None:
        """Adds a line to the phone's log."""
        self.store.append("logcat.txt", f"11-21 20:40:43.863  {pid:4}  {pid:4} {priority} {tag:<8}: {text}")

    # --- inspection ---

    def settings(self, namespace: str = "global") -> dict[str, str]:
        """All settings of a namespace (global, system, secure) that are set."""
        return self.store.all(f"settings/{namespace}")

    def calls(self) -> list[list[str]]:
        """All commands that ran on the phone, in order, such as ["settings", "get", "global", "low_power"]."""
        text = self.store.get("calls.jsonl", "")
        return [json.loads(line) for line in (text or "").splitlines()]

    # --- files of the state ---

    def _write_programs(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        commands = Path(__file__).with_name("phone_commands.py")
        for command in COMMANDS:
            program = folder / command
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "{commands}" {command} "$@"\n')
            program.chmod(0o755)

    @staticmethod
    def _properties(name: str, abi: str) -> dict[str, str]:
        return {
            "ro.build.fingerprint": "etprof/lab/lab:15/AP4A.250205.002/1:user/release-keys",
            "ro.build.id": "AP4A.250205.002",
            "ro.build.type": "user",
            "ro.build.version.release": "15",
            "ro.build.version.sdk": "35",
            "ro.build.version.security_patch": "2025-02-05",
            "ro.product.brand": "etprof",
            "ro.product.cpu.abi": abi,
            "ro.product.cpu.abilist": abi,
            "ro.product.cpu.abilist64": abi,
            "ro.product.device": "lab",
            "ro.product.manufacturer": "etprof",
            "ro.product.model": f"Lab {name}",
            "ro.product.name": "lab",
            "ro.serialno": f"LAB{name.upper()}",
            "ro.soc.manufacturer": "etprof",
            "ro.soc.model": "emulated",
            "ro.board.platform": "emulated",
            "ro.hardware": "lab",
            "sys.boot_completed": "1",
        }

    def _battery(self, *, usb: bool, status: int, level: int) -> None:
        for key, value in {
            "ac": "false", "usb": str(usb).lower(), "wireless": "false", "dock": "false", "status": status, "level": level,
        }.items():  # fmt: skip
            self.store.set(f"battery/{key}", value)
        supply = "sys/class/power_supply/battery"
        self.store.set(f"{supply}/type", "Battery")
        self.store.set(f"{supply}/status", {2: "Charging", 3: "Discharging"}[status])
        self.store.set(f"{supply}/capacity", level)
        self.store.set("sys/class/power_supply/usb/type", "USB")
        self.store.set("sys/class/power_supply/usb/online", int(usb))

    def _write_cpus(self) -> None:
        cpus = sorted(cpu for cluster in self.clusters for cpu in cluster.cpus)
        all_cpus = f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else str(cpus[0])
        base = "sys/devices/system/cpu"
        for name in ("possible", "present", "online"):
            self.store.set(f"{base}/{name}", all_cpus)
        for number, cluster in enumerate(self.clusters):
            policy = f"{base}/cpufreq/policy{cluster.cpus[0]}"
            related = " ".join(map(str, cluster.cpus))
            for key, value in {
                "related_cpus": related,
                "affected_cpus": related,
                "cpuinfo_min_freq": cluster.min_khz,
                "cpuinfo_max_freq": cluster.max_khz,
                "scaling_min_freq": cluster.min_khz,
                "scaling_max_freq": cluster.max_khz,
                "scaling_cur_freq": cluster.max_khz,
                "scaling_governor": "sched_pixel",
                "scaling_available_governors": "sched_pixel performance powersave",
            }.items():
                self.store.set(f"{policy}/{key}", value)
            for cpu in cluster.cpus:
                self.store.set(f"{base}/cpu{cpu}/cpu_capacity", cluster.capacity)
                self.store.set(f"{base}/cpu{cpu}/online", 1)
                self.store.set(f"{base}/cpu{cpu}/topology/cluster_id", number)
                link = self.state / base / f"cpu{cpu}" / "cpufreq"
                if not link.is_symlink():
                    link.symlink_to(os.path.relpath(self.state / policy, link.parent))

    def _write_cooling_devices(self) -> None:
        for number, cluster in enumerate(self.clusters):
            folder = f"sys/class/thermal/cooling_device{number}"
            self.store.set(f"{folder}/type", f"cpufreq-cpu{cluster.cpus[0]}")
            self.store.set(f"{folder}/max_state", 10)
            self.store.set(f"{folder}/cur_state", 0)

    def _write_thermal_zones(self) -> None:
        zones = [(cluster.name.upper(), "cpu") for cluster in self.clusters]
        zones += [("VIRTUAL-SKIN", "skin"), ("battery", "battery")]
        for number, (kind, source) in enumerate(zones):
            folder = f"sys/class/thermal/thermal_zone{number}"
            self.store.set(f"{folder}/type", kind)
            self.store.set(f"{folder}/temp", round(float(self.store.get(f"thermal/{source}", "0") or 0) * 1000))

    def _cluster(self, name: str) -> Cluster:
        return next(cluster for cluster in self.clusters if cluster.name == name)

    def _cpu_value(self, cluster: str, key: str, value: object) -> None:
        self.store.set(f"sys/devices/system/cpu/cpufreq/policy{self._cluster(cluster).cpus[0]}/{key}", value)

    def _set_maximum(self, name: str, khz: int | None) -> None:
        cluster = self._cluster(name)
        limit = cluster.max_khz if khz is None else khz
        self._cpu_value(name, "scaling_max_freq", limit)
        self._cpu_value(name, "scaling_cur_freq", limit)
        engaged = 0 if khz is None else max(1, round(10 * (1 - limit / cluster.max_khz)))
        self.store.set(f"sys/class/thermal/cooling_device{self.clusters.index(cluster)}/cur_state", engaged)
