"""ensure_servers: scripts/ensure-servers finds the servers of the tests, installs them, or says what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ("chmod", "env", "id", "mkdir", "rm", "tee", "touch")


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script with the folders of the system inside another one."""
    text = (ROOT / "scripts" / "ensure-servers").read_text(encoding="utf-8")
    for name in ("/usr/lib/postgresql", "/usr/sbin", "/etc"):
        text = text.replace(f"{name}/", f"{folder}{name}/")
    (folder / "usr" / "sbin").mkdir(parents=True, exist_ok=True)
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        program(folder / "bin" / tool, f'exec {found} "$@"')
    return subprocess.run(
        ["/bin/sh", "-c", text], env={"PATH": str(folder / "bin")}, capture_output=True, text=True, check=False
    )


def test_servers_that_are_there_are_left_alone(tmp_path: Path) -> None:
    for name in ("postgres", "initdb"):
        program(tmp_path / "usr" / "lib" / "postgresql" / "15" / "bin" / name, "exit 0")
    program(tmp_path / "bin" / "redis-server", "exit 0")
    done = run(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_server_that_cannot_be_installed_is_named_with_the_cure(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "postgres", "exit 0")
    program(tmp_path / "bin" / "initdb", "exit 0")
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].endswith("and these are missing: redis-server")
    assert done.stderr.endswith("On Debian or Ubuntu: sudo apt-get install redis-server. Then run make again.\n")


def test_packages_are_installed_and_their_services_stay_off(tmp_path: Path) -> None:
    """The policy that keeps services off is there while packages are installed, and gone afterwards."""
    policy = tmp_path / "usr" / "sbin" / "policy-rc.d"
    program(tmp_path / "bin" / "sudo", 'while [ "$1" = -n ]; do shift; done; exec "$@"')
    program(tmp_path / "bin" / "true", "exit 0")
    program(
        tmp_path / "bin" / "apt-get",
        f"""[ "$1" = install ] || exit 0
        [ -x {policy} ] && echo kept off >> {tmp_path}/log
        for last in "$@"; do :; done
        case "$last" in
            postgresql) touch {tmp_path}/bin/postgres {tmp_path}/bin/initdb ;;
            *) touch "{tmp_path}/bin/$last" ;;
        esac
        chmod +x {tmp_path}/bin/*""",
    )
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "log").read_text() == "kept off\nkept off\n"
    assert not policy.exists()
    assert "create_main_cluster = false" in (tmp_path / "etc/postgresql-common/createcluster.conf").read_text()
