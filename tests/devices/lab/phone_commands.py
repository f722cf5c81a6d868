"""The commands of the lab's phone. They print in the layout of Android 15, and keep their state.

Called as `phone_commands.py COMMAND ARGUMENTS...` with the phone's state in $ETPROF_LAB_STATE.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from store import Store

STORE = Store(Path(os.environ["ETPROF_LAB_STATE"]))
# By severity, as ThermalManagerService lists them: none, light, moderate, severe, critical, emergency, shutdown.
SKIN_THRESHOLDS = [math.nan, 39.0, 43.0, 45.0, 46.5, 52.0, 55.0]


def fail(text: str, code: int = 255) -> int:
    print(text, file=sys.stderr)
    return code


def value(key: str, default: str = "") -> str:
    return STORE.get(key, default) or default


# --- properties and settings ---


def getprop(arguments: list[str]) -> int:
    properties = STORE.all("properties")
    if arguments:
        print(properties.get(arguments[0], arguments[1] if len(arguments) > 1 else ""))
    else:
        for key, text in properties.items():
            print(f"[{key}]: [{text}]")
    return 0


def setprop(arguments: list[str]) -> int:
    if len(arguments) != 2:
        return fail("usage: setprop NAME VALUE", 1)
    if arguments[0].startswith("ro."):
        return fail(f"Failed to set property '{arguments[0]}' to '{arguments[1]}'.\nSee dmesg for error reason.", 1)
    STORE.set(f"properties/{arguments[0]}", arguments[1])
    return 0


def settings(arguments: list[str]) -> int:
    if len(arguments) < 2:
        return fail("Settings provider (settings) commands:\n  get, put, delete, list")
    action, namespace, *rest = arguments
    if namespace not in ("global", "system", "secure"):
        return fail(f"Invalid namespace '{namespace}'")
    if action == "list":
        for key, text in STORE.all(f"settings/{namespace}").items():
            print(f"{key}={text}")
    elif action == "get" and len(rest) == 1:
        print(STORE.get(f"settings/{namespace}/{rest[0]}", "null"))
    elif action == "put" and len(rest) >= 2:
        STORE.set(f"settings/{namespace}/{rest[0]}", rest[1])
    elif action == "delete" and len(rest) == 1:
        print(f"Deleted {int(STORE.delete(f'settings/{namespace}/{rest[0]}'))} rows")
    else:
        return fail(f"Bad arguments: {' '.join(arguments)}")
    return 0


# --- power ---


def plugged() -> int:
    """BatteryManager's bits: ac 1, usb 2, wireless 4, dock 8."""
    bits = {"ac": 1, "usb": 2, "wireless": 4, "dock": 8}
    return sum(bit for name, bit in bits.items() if value(f"battery/{name}") == "true")


def svc(arguments: list[str]) -> int:
    if arguments[:2] == ["power", "stayon"] and len(arguments) == 3:
        bits = {"true": 15, "false": 0, "ac": 1, "usb": 2, "wireless": 4, "dock": 8}
        if arguments[2] in bits:
            STORE.set("settings/global/stay_on_while_plugged_in", bits[arguments[2]])
            if bits[arguments[2]]:
                STORE.set("power/wakefulness", "Awake")
            return 0
    return fail("Control the power manager\n\nusage: svc power stayon [true|false|usb|ac|wireless|dock]", 0)


def input_(arguments: list[str]) -> int:
    if arguments[:1] == ["keyevent"] and len(arguments) > 1:
        key = arguments[-1].removeprefix("KEYCODE_")
        awake = value("power/wakefulness") == "Awake"
        if key in ("224", "WAKEUP") or (key in ("26", "POWER") and not awake):
            STORE.set("power/wakefulness", "Awake")
        elif key in ("223", "SLEEP", "26", "POWER"):
            STORE.set("power/wakefulness", "Asleep")
    return 0


def dump_power() -> None:
    stay_on = int(value("settings/global/stay_on_while_plugged_in", "0"))
    low_power = value("settings/global/low_power", "0") == "1"
    print(f"""POWER MANAGER (dumpsys power)

Power Manager State:
  Settings power_manager_constants:
    no_cached_wake_locks=true
  mDirty=0x0
  mWakefulness={value("power/wakefulness")}
  mWakefulnessChanging=false
  mIsPowered={str(plugged() != 0).lower()}
  mPlugType={plugged()}
  mBatteryLevel={value("battery/level")}
  mDockState=0
  mStayOn={str((stay_on & plugged()) != 0).lower()}
  mProximityPositive=false
  mBootCompleted=true
  mSystemReady=true

Settings and Configuration:
  mStayOnWhilePluggedInSetting={stay_on}
  mScreenOffTimeoutSetting={value("settings/system/screen_off_timeout", "30000")}

Battery saver state machine:
  Enabled={str(low_power).lower()}
    full={str(low_power).lower()}
    adaptive=false""")


def dump_window() -> None:
    awake = value("power/wakefulness") == "Awake"
    window, transition, animator = (
        float(value(f"settings/global/{name}", "1.0"))
        for name in ("window_animation_scale", "transition_animation_scale", "animator_duration_scale")
    )
    print(f"""WINDOW MANAGER POLICY STATE (dumpsys window policy)
    mSystemReady=true mSystemBooted=true
    mAwake={str(awake).lower()}
    interactiveState={"INTERACTIVE_STATE_AWAKE" if awake else "INTERACTIVE_STATE_SLEEP"}

WINDOW MANAGER WINDOWS (dumpsys window windows)
  mWindowAnimationScaleSetting={window} mTransitionAnimationScaleSetting={transition} mAnimatorDurationScaleSetting={animator}
  mDisplayFrozen=false windows=0 client=false apps=0""")


# --- battery ---


def set_battery(name: str, text: str) -> int:
    names = {"ac", "usb", "wireless", "dock", "status", "level", "temp", "present", "counter"}
    if name not in names:
        return fail(f"Unknown set option: {name}")
    if name == "temp":
        STORE.set("thermal/battery", int(text) / 10)
    elif name in ("ac", "usb", "wireless", "dock"):
        STORE.set(f"battery/{name}", str(text != "0").lower())
    else:
        STORE.set(f"battery/{name}", text)
    STORE.set("battery/stopped", "true")
    return 0


def battery(arguments: list[str]) -> int:
    arguments = [argument for argument in arguments if argument != "-f"]
    if arguments[:1] == ["set"] and len(arguments) == 3:
        return set_battery(arguments[1], arguments[2])
    if arguments == ["unplug"]:
        for name in ("ac", "usb", "wireless", "dock"):
            STORE.set(f"battery/{name}", "false")
        STORE.set("battery/stopped", "true")
        return 0
    if arguments == ["reset"]:
        STORE.delete("battery/stopped")
        charging = value("sys/class/power_supply/usb/online") == "1"
        STORE.set("battery/usb", str(charging).lower())
        STORE.set("battery/status", 2 if charging else 3)
        STORE.set("battery/level", value("sys/class/power_supply/battery/capacity"))
        return 0
    if arguments not in ([], ["-a"]):
        return fail(f"Unknown command: {' '.join(arguments)}")
    print("Current Battery Service state:")
    if value("battery/stopped"):
        print("  (UPDATES STOPPED -- use 'reset' to restart)")
    level = int(value("battery/level"))
    print(f"""  AC powered: {value("battery/ac")}
  USB powered: {value("battery/usb")}
  Wireless powered: {value("battery/wireless")}
  Dock powered: {value("battery/dock")}
  Max charging current: {500000 if plugged() else 0}
  Max charging voltage: {5000000 if plugged() else 0}
  Charge counter: {level * 45000}
  status: {value("battery/status")}
  health: 2
  present: true
  level: {level}
  scale: 100
  voltage: 4213
  temperature: {round(float(value("thermal/battery", "0")) * 10)}
  technology: Li-ion
  Charging state: 1
  Charging policy: 1""")
    return 0


# --- temperatures ---


def skin_status(celsius: float) -> int:
    return max(status for status, limit in enumerate(SKIN_THRESHOLDS) if status == 0 or celsius >= limit)


def clusters() -> list[tuple[str, str]]:
    """The type and current state of every cooling device."""
    folder = STORE.folder / "sys/class/thermal"
    devices = sorted(folder.glob("cooling_device*"))
    return [((device / "type").read_text().strip(), (device / "cur_state").read_text().strip()) for device in devices]


def thermalservice(arguments: list[str]) -> int:
    if arguments:
        return fail(f"Unknown argument {arguments[0]}")
    skin, cpu, cell = (float(value(f"thermal/{name}", "0")) for name in ("skin", "cpu", "battery"))
    override = STORE.get("thermal/override")
    status = skin_status(skin) if override is None else int(override)
    tab = "\t"
    sensors = "\n".join(
        f"{tab}Temperature{{mValue={celsius}, mType={kind}, mName={name}, mStatus={state}}}"
        for celsius, kind, name, state in (
            (cpu, 0, "BIG", 0),
            (cpu, 0, "LITTLE", 0),
            (cell, 2, "battery", 0),
            (skin, 3, "VIRTUAL-SKIN", skin_status(skin)),
        )
    )
    cooling = "\n".join(f"{tab}CoolingDevice{{mValue={now}, mType=2, mName={kind}}}" for kind, now in clusters())
    thresholds = ", ".join("NaN" if math.isnan(limit) else str(limit) for limit in SKIN_THRESHOLDS)
    print(f"""IsStatusOverride: {str(override is not None).lower()}
ThermalEventListeners:
{tab}callbacks: 1
{tab}killed: false
{tab}broadcasts count: -1
ThermalStatusListeners:
{tab}callbacks: 3
{tab}killed: false
{tab}broadcasts count: -1
Thermal Status: {status}
Cached temperatures:
{sensors}
HAL Ready: true
HAL connection:
{tab}ThermalHAL AIDL 2  connected: yes
Current temperatures from HAL:
{sensors}
Current cooling devices from HAL:
{cooling}
Temperature static thresholds from HAL:
{tab}TemperatureThreshold{{mType=3, mName=VIRTUAL-SKIN, mHotThrottlingThresholds=[{thresholds}], mColdThrottlingThresholds=[NaN, NaN, NaN, NaN, NaN, NaN, NaN]}}""")
    return 0


def thermal_command(arguments: list[str]) -> int:
    if arguments[:1] == ["override-status"] and len(arguments) == 2 and arguments[1].isdigit():
        STORE.set("thermal/override", arguments[1])
    elif arguments == ["reset"]:
        STORE.delete("thermal/override")
    else:
        return fail("Thermal service (thermalservice) commands:\n  override-status STATUS\n  reset")
    return 0


# --- dumpsys and cmd ---


def dumpsys(arguments: list[str]) -> int:
    name, rest = (arguments[0], arguments[1:]) if arguments else ("-l", [])
    services: dict[str, Callable[[], int | None]] = {
        "battery": lambda: battery(rest),
        "power": dump_power,
        "thermalservice": lambda: thermalservice(rest),
        "window": dump_window,
    }
    if name == "-l":
        print("Currently running services:\n" + "\n".join(f"  {service}" for service in services))
        return 0
    if name not in services:
        return fail(f"Can't find service: {name}", 0)
    return services[name]() or 0


def power_command(arguments: list[str]) -> int:
    if arguments[:1] == ["set-mode"] and len(arguments) == 2:
        STORE.set("settings/global/low_power", arguments[1])
        return 0
    if arguments[:1] == ["set-fixed-performance-mode-enabled"] and len(arguments) == 2:
        STORE.set("power/fixed_performance", arguments[1])
        return 0
    return fail("Power manager (power) commands:\n  set-mode MODE\n  set-fixed-performance-mode-enabled [true|false]")


def cmd(arguments: list[str]) -> int:
    services = {
        "battery": battery,
        "power": power_command,
        "settings": settings,
        "thermalservice": thermal_command,
    }
    if not arguments or arguments[0] not in services:
        return fail(f"cmd: Can't find service: {' '.join(arguments[:1])}", 20)
    return services[arguments[0]](arguments[1:])


# --- the log ---

LINE = re.compile(r"(?P<date>\S+ \S+) +(?P<pid>\d+) +(?P<tid>\d+) (?P<priority>[VDIWEF]) (?P<tag>.*?) *: (?P<text>.*)")
PRIORITIES = "VDIWEFS"
FORMATS: dict[str, Callable[[re.Match[str]], str]] = {
    "threadtime": lambda line: line[0],
    "brief": lambda line: f"{line['priority']}/{line['tag']:<8}({line['pid']:>5}): {line['text']}",
    "tag": lambda line: f"{line['priority']}/{line['tag']:<8}: {line['text']}",
    "raw": lambda line: line["text"],
}


def log(arguments: list[str]) -> int:
    priority, tag = "I", "log"
    message = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-p":
            priority = next(rest).upper()[:1]
        elif argument == "-t":
            tag = next(rest)
        else:
            message.append(argument)
    now = datetime.datetime.now().astimezone().strftime("%m-%d %H:%M:%S.%f")[:-3]
    parent = os.getppid()
    STORE.append("logcat.txt", f"{now} {parent:5} {parent:5} {priority} {tag:<8}: {' '.join(message)}")
    return 0


class LogOptions:
    """The options of `logcat`. A tag's level is its lowest priority that is printed."""

    def __init__(self, arguments: list[str]) -> None:
        self.clear = self.dump = False
        self.format = "threadtime"
        self.last: int | None = None
        self.since = ""
        self.levels: dict[str, str] = {}
        rest = iter(arguments)
        for argument in rest:
            if argument == "-c":
                self.clear = True
            elif argument == "-d":
                self.dump = True
            elif argument == "-s":
                self.levels.setdefault("*", "S")
            elif argument in ("-v", "-b"):
                self.format = next(rest) if argument == "-v" else self.format
                _ = None if argument == "-v" else next(rest)
            elif argument in ("-t", "-T"):
                count = next(rest)
                if count.isdigit():
                    self.last = int(count)
                elif re.fullmatch(r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", count):
                    self.since = count
                else:
                    raise ValueError(f'logcat: Invalid time "{count}"')
                self.dump = self.dump or argument == "-t"
            elif argument.startswith("-"):
                raise ValueError(f"logcat: unknown option {argument}")
            else:
                tag, _, level = argument.partition(":")
                self.levels[tag] = level or ("D" if tag == "*" else "V")

    def shows(self, line: re.Match[str]) -> bool:
        level = self.levels.get(line["tag"], self.levels.get("*", "V"))
        if line["date"] < self.since:
            return False
        return PRIORITIES.index(line["priority"]) >= PRIORITIES.index(level)


def logcat(arguments: list[str]) -> int:
    try:
        options = LogOptions(arguments)
    except (ValueError, StopIteration) as error:
        return fail(str(error) or "logcat: a value is missing", 1)
    path = STORE.folder / "logcat.txt"
    if options.clear:
        path.write_text("")
        return 0
    printed_lines = 0
    while True:
        text = path.read_text()
        lines = text[: text.rindex("\n") + 1].splitlines() if "\n" in text else []
        if printed_lines > len(lines):  # the log was cleared
            printed_lines = 0
        matches = [match for line in lines[printed_lines:] if (match := LINE.fullmatch(line)) and options.shows(match)]
        if options.last is not None and printed_lines == 0:
            matches = matches[-options.last :]
        if printed_lines == 0 and lines:
            print("--------- beginning of main")
        for match in matches:
            print(FORMATS[options.format](match))
        sys.stdout.flush()
        printed_lines = len(lines)
        if options.dump:
            return 0
        time.sleep(0.05)


def uname(arguments: list[str]) -> int:
    machine = {"arm64-v8a": "aarch64"}.get(value("properties/ro.product.cpu.abi"), "x86_64")
    parts = {"-s": "Linux", "-n": "localhost", "-r": "6.1.99-android14-11-lab", "-v": "#1 SMP PREEMPT", "-m": machine}
    if "-a" in arguments:
        print(*parts.values(), "Toybox")
    else:
        print(*(parts[argument] for argument in arguments or ["-s"]))
    return 0


COMMANDS = {
    "cmd": cmd,
    "dumpsys": dumpsys,
    "getprop": getprop,
    "input": input_,
    "log": log,
    "logcat": logcat,
    "setprop": setprop,
    "settings": settings,
    "svc": svc,
    "uname": uname,
}

if __name__ == "__main__":
    STORE.append("calls.jsonl", json.dumps(sys.argv[1:]))
    try:
        sys.exit(COMMANDS[sys.argv[1]](sys.argv[2:]))
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
