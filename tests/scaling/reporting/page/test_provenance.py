from benchmarks.shared.machines import machine as pretend
from benchmarks.shared.machines import row, study
from scaling.reporting.page.provenance import boxes, failures
from scaling.results.machine_file import MachineFile
from scaling.study.planning import plan


def machine(**facts):
    layout = {"cores": ((0, 4), (1, 5), (2, 6), (3, 7)), "sockets": ((0, 1, 4, 5), (2, 3, 6, 7))}
    rest = {"l3s": (), "nodes": (), "allowed": (0, 1, 2, 3, 4, 5, 6), "isolated": (), "quota_cpus": None}
    return MachineFile(host="h", cpu_model=None, arch=None, kernel=None, **(layout | rest | facts))


def names(boxes):
    return [(box.name, names(box.boxes), [[cpu for cpu, _ in core] for core in box.cores]) for box in boxes]


def test_cores_lie_in_their_sockets_and_an_unknown_level_is_left_out():
    assert names(boxes(machine())) == [("socket 0", [], [[0, 4], [1, 5]]), ("socket 1", [], [[2, 6], [3, 7]])]


def test_nodes_and_caches_lie_inside_and_a_core_in_none_is_shown_too():
    nested = names(boxes(machine(nodes=((0, 1, 2, 3, 4, 5, 6, 7),), l3s=((0, 4), (2, 3, 6, 7)))))
    assert nested[0] == ("socket 0", [("node 0", [("L3 0", [], [[0, 4]]), ("elsewhere", [], [[1, 5]])], [])], [])
    assert nested[1] == ("socket 1", [("node 0", [("L3 1", [], [[2, 6], [3, 7]])], [])], [])


def test_a_cpu_that_runs_may_not_have_is_marked():
    last = boxes(machine())[1].cores[-1]
    assert last == ((3, True), (7, False))


def test_a_machine_that_tells_of_cores_only_is_one_box():
    assert names(boxes(machine(sockets=()))) == [("", [], [[0, 4], [1, 5], [2, 6], [3, 7]])]


def test_runs_of_a_point_that_failed_alike_are_one_failure_with_the_output_of_the_last():
    runs = plan(study("cores = [1]\nlaunches = 5"), pretend(1)).runs
    endings = [("no memory", "first"), ("no memory", "last\n"), ("no time", None), (None, "unknown"), (None, None)]
    rows = [
        row(run, status="failed", reason=reason, stderr_tail=wrote, stdout_tail="printed")
        for run, (reason, wrote) in zip(runs, endings, strict=False)
    ]
    alike, alone, *_ = failures([*rows, *map(row, runs)])
    assert (alike.launches, alike.status, alike.reason, alike.output) == ("1-2", "failed", "no memory", "last")
    assert (alone.launches, alone.reason, alone.output) == ("3", "no time", "printed")
