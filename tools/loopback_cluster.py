# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node, this machine, on loopback: munged, slurmctld and slurmd of Debian's packages slurm-wlm and munge. It has no accounting:
states of jobs come from squeue. tools/slurm-on-loopback runs a command with it."""

import os
import pwd
import shutil
import socket
import subprocess
import time

PATHS = os.environ["PATH"] + ":/usr/sbin:/sbin"
COMMANDS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
MOST_SECONDS = 60  # until the node is idle

# MinJobAge: for so many seconds squeue knows a job that has ended.
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MinJobAge=300
KillWait=5
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={megabytes} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class Failed(Exception):
    """What does not start, and why."""


def free_ports(count):
    """Ports of 127.0.0.1 that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def program(name):
    found = shutil.which(name, path=PATHS)
    if found is None:
        raise Failed(f"{name} is not there: install slurm-wlm and munge")
    return found


class Cluster:
    """Keys, states, spool and logs lie in `folder`, which is empty; ports are free ones of 127.0.0.1. `environment`: for programs that use it."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.environment = {**os.environ, "PATH": f"{folder}/bin:{PATHS}", "SLURM_CONF": str(folder / "slurm.conf")}

    def start(self):
        """Raises Failed if a daemon does not start; then stop() is needed, too."""
        for name in ("state", "spool"):
            (self.folder / name).mkdir(mode=0o700)
        self.write_commands()
        (self.folder / "key").write_bytes(os.urandom(1024))
        (self.folder / "key").chmod(0o400)
        controller_port, node_port = free_ports(2)
        megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], controller_port=controller_port, node_port=node_port, folder=self.folder,
            user=pwd.getpwuid(os.geteuid()).pw_name, cpus=os.cpu_count(), megabytes=megabytes * 9 // 10))
        at = self.folder
        self.daemon("munged", "--foreground", "--force", f"--key-file={at}/key", f"--socket={at}/munge.socket", f"--pid-file={at}/munged.pid",
                    f"--log-file={at}/munged.log", f"--seed-file={at}/munged.seed", "--num-threads=2")
        self.wait("munged", lambda: (at / "munge.socket").exists())
        self.daemon("slurmctld", "-D")
        self.wait("slurmctld", lambda: "UP" in self.says("scontrol", "ping"))
        self.daemon("slurmd", "-D")
        self.wait("slurmd", lambda: self.says("sinfo", "--noheader", "--format=%T").strip() == "idle")

    def write_commands(self):
        """Slurm's commands, which find this cluster also where somebody has cleared the environment's variables of Slurm."""
        (self.folder / "bin").mkdir()
        for name in COMMANDS:
            file = self.folder / "bin" / name
            file.write_text(f"#!/bin/sh\nSLURM_CONF='{self.folder}/slurm.conf' exec '{program(name)}' \"$@\"\n")
            file.chmod(0o755)

    def daemon(self, name, *options):
        with open(self.folder / f"{name}.output", "wb") as output:
            self.daemons.append(subprocess.Popen([program(name), *options], env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output))

    def says(self, *words):
        return subprocess.run([program(words[0]), *words[1:]], env=self.environment, capture_output=True, text=True, check=False).stdout

    def wait(self, name, is_ready):
        """Until the daemon that started last is ready."""
        end = time.monotonic() + MOST_SECONDS
        while not is_ready():
            if self.daemons[-1].poll() is not None or time.monotonic() > end:
                raise Failed(f"{name} does not start: {self.last_words(name)}")
            time.sleep(0.1)

    def last_words(self, name):
        """The last line of its log that says something."""
        for file in (self.folder / f"{name}.log", self.folder / f"{name}.output"):
            lines = file.read_text(errors="replace").split("\n") if file.exists() else []
            if lines := [line for line in lines if "error" in line] or [line for line in lines if line]:
                return lines[-1]
        return f"it says nothing, see {self.folder}"

    def stop(self):
        """Jobs first: slurmd leaves them."""
        if len(self.daemons) == 3:
            self.says("scancel", "--full", f"--user={pwd.getpwuid(os.geteuid()).pw_name}")
            end = time.monotonic() + MOST_SECONDS
            while self.says("squeue", "--noheader").strip() and time.monotonic() < end:
                time.sleep(0.1)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
