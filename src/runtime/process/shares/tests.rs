use super::*;

#[test]
fn a_share_is_written_as_the_kernel_reads_it() {
    let open = ["max", "max", "1", "max 100000", "max"];
    let tight = ["8000000000", "0", "1", "150000 100000", "512"];
    let names = ["memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "pids.max"];
    for (share, values) in
        [(Share::default(), open), (Share { memory: 8_000_000_000, cpu: 1.5, pids: 512 }, tight)]
    {
        let wanted: Vec<_> = names.into_iter().zip(values.map(str::to_owned)).collect();
        assert_eq!(files(&share).to_vec(), wanted, "{share:?}");
    }
    assert_eq!([0.0, 0.001, 0.5, 64.0].map(quota), [0, 1000, 50_000, 6_400_000]);
}

#[test]
fn lines_of_the_kernel_are_read_as_they_are_written() {
    let events = "low 0\nhigh 0\nmax 31\noom 2\noom_kill 3\noom_group_kill 1\n";
    assert_eq!(number(events, "oom_kill"), Some(3));
    assert_eq!(number(events, "oom_group_kill"), Some(1));
    assert_eq!(number(events, "oom_ki"), None);
    assert_eq!(kilobytes("MemTotal:       16 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(16 * 1024));
    let status = "Name:\tcargo test\nState:\tS\nVmPeak:\t  9 kB\nVmRSS:\t  20 kB\nRssAnon:\t  4 kB\n\
                  RssFile:\t  13 kB\nRssShmem:\t  2 kB\nVmSwap:\t  1 kB\n";
    assert_eq!(weighed(status), Some((7 * 1024, "cargo test".to_owned())));
    assert_eq!(weighed("Name:\tkthreadd\nState:\tS\n"), None);
    assert_eq!(pressure("some avg10=12.34 avg60=1.00 avg300=0.00 total=1\nfull avg10=99.00\n"), Some(12));
    assert!(has_all("cpuset cpu io memory hugetlb pids rdma\n"));
    assert!(!has_all("cpuset io memory pids\n") && !has_all(""));
}

#[test]
fn a_group_without_controllers_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("cgroup.controllers"), "cpu pids\n").expect("the file is written");
    let why = enclose(folder.path(), "herder.x", &Allowance::default()).expect_err("there is no memory");
    assert_eq!(why, format!("{} has no controller memory", folder.path().display()));
    assert!(!folder.path().join(AGENTS).exists());
}
