"""The faults that podprof is tested against, as data: what is promised, and the cases that hold it. Read by e2e_matrix.py, which runs them and
writes the table of docs/jobs.md."""
import os
import re
from typing import NamedTuple

# The promise of every row: exit code, output and end of the job are as without podprof.
BEGIN, END = "<!-- faults: written by tests/session/e2e_matrix.py --update -->\n", "<!-- end of faults -->\n"


class Fault(NamedTuple):
    fault: str
    promise: str  # beyond that of every row
    tests: tuple  # "FOLDER/SCRIPT CASE", or "torture/disk" where a script is one case; "-f" behind a case: it needs --full
    known: str = ""  # what does not hold yet; the row is then "fails"


M = "session/e2e_matrix"
FAULTS = (
    Fault("kill -9 of a rank before MPI_Init", "nothing is left running", (f"{M} before_init", "guest/guest_table mpi_crash_early")),
    Fault("kill -9 of a rank outside of windows", "windows before it are whole", (f"{M} idle",)),
    Fault("kill -9 of a rank in a window", "the rank is named, the data of all ranks up to then are written",
          ("session/e2e_ends killed", "session/e2e_windows killed", "guest/guest_table mpi_sigkill", "guest/guest_more killed_rank")),
    Fault("kill -9 of a rank while ranks agree on a window", "the rank is named, or no window was begun", (f"{M} agreement", "session/e2e_capture rank_dies")),
    Fault("kill -9 of a rank while its session is written", "the session is whole", (f"{M} writing",)),
    Fault("kill -9 of rank 0", "the rank is named, the data of all ranks are written", ("session/e2e_faults rank_killed",)),
    Fault("kill -9 of the keeper", "another keeper follows and writes the session; what was lost is counted",
          ("guest/guest_more keeper_killed", "session/e2e_keeper follows", "session/e2e_keeper follows_windows", "session/e2e_capture_ends keeper_dies")),
    Fault("kill -9 of the keeper and its guard, or of each keeper that follows", "podprof salvage writes a session",
          ("session/e2e_keeper salvage_counts", "session/e2e_keeper most_often", "session/e2e_faults keeper_killed")),
    Fault("kill -9 of all keepers and ranks on several hosts", "podprof salvage writes one session, with the clock error since the last comparison",
          ("session/e2e_salvage_clock all_killed", "session/e2e_salvage_clock a_file_is_lost", "session/e2e_salvage_clock without_rank_0")),
    Fault("kill -9 of a process that writes a session", "only that session is lost, with a sentence", ("session/e2e_windows child_dies",)),
    Fault("kill -9 of mpirun", "what all ranks did until then is written", (f"{M} launcher_killed",)),
    Fault("MPI_Abort", "the rank that called it is named", ("session/e2e_ends aborted", "guest/guest_table mpi_abort5")),
    Fault("another library wraps MPI", "it is called and writes its files, the session names it", ("guest/guest_table mpi_layer", "guest/guest_table mpi_layer_first")),
    Fault("an MPI that podprof has no wrappers for", "its calls go on to it, rank 0 and /quality say so", ("guest/guest_more other_mpi",)),
    Fault("_exit", "the records are written", ("guest/guest_table lone_uexit", "guest/guest_table mpi_no_finalize_uexit")),
    Fault("exit with a code, without MPI_Finalize", "the rank and its code are named", ("session/e2e_ends exited", "guest/guest_table mpi_exit3")),
    Fault("segmentation fault", "the rank is named", ("session/e2e_ends crashed", "guest/guest_table lone_segv")),
    Fault("SIGTERM to the job", "all ranks are partial, none was killed", ("session/e2e_ends job_ended",)),
    Fault("SIGTERM, then SIGKILL to all ranks after 1 s", "all ranks are named with their data", (f"{M} term_then_kill",)),
    Fault("scancel (Slurm with proctrack/linuxproc)", "all ranks are named with their data", (f"{M} cancelled",)),
    Fault("OOM kill of a rank", "the rank is named, the keeper lives", (f"{M} out_of_memory",)),
    Fault("a host is gone", "its ranks are missing with the reason", ("session/e2e_hosts killed", "session/e2e_faults host_killed -f")),
    Fault("a host's link is cut for 2 s", "nothing is missing", ("session/e2e_faults cut_for_a_while -f",)),
    Fault("a host's link is cut for good", "its ranks are missing with the reason", ("session/e2e_hosts cut", "session/e2e_faults cut_for_good -f")),
    Fault("SIGSTOP of a rank for 3 s", "nothing is missing", (f"{M} stopped", "session/e2e_faults rank_stopped -f")),
    Fault("SIGSTOP of the whole job, as in a snapshot of its machines", "nothing is missing; hosts find each other again",
          (f"{M} frozen", "session/e2e_stalls frozen")),
    Fault("DMTCP writes checkpoints of the job, and starts it again", "the first run is recorded, the second one ends as without podprof",
          ("session/e2e_checkpoint dmtcp",)),
    Fault("SIGSTOP of a keeper", "the session is written without its ranks, or with them", ("session/e2e_stalls late_keeper", "session/e2e_tree stopped")),
    Fault("SIGSTOP of a keeper until other hosts count it as lost", "its host is back afterwards: captures are of all ranks",
          ("session/e2e_stalls came_back", "session/e2e_stalls late_join")),
    Fault("log directory: disk full", "the session is on the node instead, a sentence says where", ("torture/disk", "session/e2e_faults log_directory -f")),
    Fault("log directory: read-only", "the session is on the node instead, a sentence says where", (f"{M} logs_read_only", "session/e2e_faults log_directory -f")),
    Fault("log directory: over quota", "the same; here each disk of the node is, and no half file is left", (f"{M} over_quota",)),
    Fault("log directory: slow disk", "ranks wait for it no longer than --wait, the session comes", (f"{M} slow_disk",)),
    Fault("log directory: hangs when the job begins", "the job runs unprofiled after 5 s, with a sentence", (f"{M} logs_hang_first",)),
    Fault("log directory: hangs while the job runs", "ranks wait for it no longer than --wait, the session comes when it answers", (f"{M} logs_hang",)),
    Fault("log directory vanishes", "it is made again", (f"{M} logs_vanish", "session/e2e_faults log_directory -f")),
    Fault("log directory: its disk fails (EIO)", "the session is on the node instead, a sentence says where; what fsync() refused is no session",
          ("session/e2e_eio logs", "session/e2e_eio logs_fsync", "session/e2e_eio logs_block")),
    Fault("log directory: its disk has failed when the job begins", "the job runs unprofiled, a sentence says why", ("session/e2e_eio logs_first",)),
    Fault("spool: its disk has failed when the job begins", "the job runs unprofiled, a sentence says why", ("session/e2e_eio spool_first",)),
    Fault("spool: its disk fails while the job records", "ranks live on; what reached the keeper is in the session",
          ("session/e2e_eio spool -f", "session/e2e_eio spool_block -f")),
    Fault("spool on a disk: pages of a ring are gone", "no SIGBUS for the rank, a sentence says what is lost", ("session/e2e_eio ring_pages",)),
    Fault("spool: tmpfs full", "records are lost and counted, no SIGBUS", ("guest/scarce late_full", "guest/claim small_shm", "session/e2e_faults full_spool -f")),
    Fault("a limit on the data of processes (ulimit -d)", "podprof needs at most 256 KiB of it where nothing is recorded", ("guest/scarce lazy",)),
    Fault("spool: no inodes", "another place is taken; in that of --spool the job runs unprofiled at once, with a sentence",
          ("guest/claim small_shm", "guest/scarce keeper_ends")),
    Fault("the keeper cannot start", "the job runs unprofiled at once, with a sentence that says why", ("guest/scarce keeper_ends",)),
    Fault("the job runs in a container (read-only root, /dev/shm of 64 MB, PID 1)", "the session is as outside",
          ("session/e2e_engines podman_lone", "session/e2e_engines apptainer_lone", "session/e2e_engines charliecloud_lone",
           "session/e2e_engines bubblewrap_lone")),
    Fault("two containers of a job on one host have the same pids", "one session has the ranks of both",
          ("session/e2e_engines podman_two -f", "session/e2e_engines apptainer_two -f", "session/e2e_engines charliecloud_two -f",
           "session/e2e_engines bubblewrap_two")),
    Fault("a Slurm job is preempted, and begins again", "each run has its session, also where the first one's keeper still writes", ("session/e2e_spank requeued",)),
    Fault("a node of a Slurm job is set down in a window", "the session up to then is written; the next job is recorded", ("session/e2e_spank node_down",)),
    Fault("thousands of spools of dead jobs", "the next job removes those that hold nothing, and runs", ("guest/scarce many_left_over",)),
    Fault("spool: read-only", "a sentence says why, or another place is taken", (f"{M} spool_read_only",)),
    Fault("the wall clock is stepped", "dates are those of the window's begin, the step is named", ("session/e2e_wall in_window", "session/e2e_wall step_elsewhere")),
    Fault("another user's spool", "it is not used, a sentence says why", ("security/others squatted_spool", "security/others stranger_tries")),
    Fault("symbolic links planted for podprof's files", "nothing is written through them", ("security/others planted_links",)),
    Fault("a range has a name that a spreadsheet takes for a formula", "CSV has an apostrophe before it", ("session/e2e_tools formula",)),
    Fault("salvage has too little memory for all rings", "the session has the ranks that fit, and names the others", ("session/e2e_salvage memory",)),
    Fault("a user stops podprof in Slurm's prolog or epilog", "the hook ends within its time, and all that it started",
          ("session/e2e_slurm_hooks stopped",)),
    Fault("a program does its I/O by io_uring", "its steps are recorded", ("guest/guest_more uring",)),
    Fault("a rank does not join a collective of NCCL, or calls another", "podprof hang names the rank, in windows and outside",
          ("gpu/nccl_hang missing", "gpu/nccl_hang disagree")),
    Fault("10 000 spools of dead jobs", "the job starts, its session is written, nothing is removed at once", (f"{M} stale_spools",)),
)


def page(root):
    return os.path.join(root, "docs", "jobs.md")


def named(text):
    """Faults that the page names, from its table."""
    table = text[text.index(BEGIN):text.index(END)]
    return re.findall(r"^\| ([^|]+?) \|", table, re.M)[1:]


def table(results, only, old):
    """results: {test: text}; rows without `only` in their name are taken from the old table."""
    kept = {line.split(" | ")[0][2:]: line for line in old.splitlines(True) if line.startswith("| ")}
    rows = ["| fault | promise |\n", "|---|---|\n"]
    for f in FAULTS:
        result = said(f, results)
        line = f"| {f.fault} | {f.promise}{'' if result == 'held' else f' ({result})'} |\n"
        rows.append(line if only in f.fault else kept.get(f.fault, line))
    return "".join(rows)


def said(fault, results):
    """One word for a row: that of its worst test, with the reason."""
    if fault.known:
        return "fails: " + fault.known
    found = [results.get(t, "not run") for t in fault.tests]
    bad = [r for r in found if r.startswith("failed")]
    passed = found.count("held")
    if bad:
        return bad[0]
    if passed == len(found):
        return "held"
    reasons = "; ".join(sorted({r for r in found if r != "held"}))
    return f"held by {passed} of {len(found)} tests ({reasons})" if passed else reasons
