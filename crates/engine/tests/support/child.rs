//! Tests that need a process of their own: limits and filters that cannot be taken back.

use std::process::Command;

const MARK: &str = "GLEANN_TEST_CHILD";

/// Runs the test `name` again in a process of its own, where this returns false at once and the rest of the test
/// runs; in the parent it waits for that and returns true.
#[must_use]
pub fn in_child(name: &str) -> bool {
    if std::env::var(MARK).as_deref() == Ok(name) {
        return false;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MARK, name)
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} failed in its own process ({}):\n{text}", output.status);
    assert!(text.contains("1 passed"), "{name} did not run in its own process:\n{text}");
    true
}

/// Makes `io_uring_setup` fail with `errno` in this thread and those it starts from now on.
pub fn forbid_io_uring(errno: i32) {
    forbid(libc::SYS_io_uring_setup, errno, 0);
}

/// Makes a system call fail with `errno` in every thread of this process.
pub fn forbid_everywhere(call: libc::c_long, errno: i32) {
    forbid(call, errno, libc::SECCOMP_FILTER_FLAG_TSYNC as libc::c_ulong);
}

fn forbid(call: libc::c_long, errno: i32, flags: libc::c_ulong) {
    let load_number = libc::sock_filter {
        code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16,
        jt: 0,
        jf: 0,
        k: 0, // offset of the call's number in seccomp_data
    };
    let is_call = libc::sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: 1,
        k: call as u32,
    };
    let answer = |k| libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k };
    let fail = answer(libc::SECCOMP_RET_ERRNO | errno as u32);
    let mut filter = [load_number, is_call, fail, answer(libc::SECCOMP_RET_ALLOW)];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: plain values; the program and its filter outlive the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_SET_MODE_FILTER as libc::c_ulong;
        assert_eq!(libc::syscall(libc::SYS_seccomp, mode, flags, &program), 0);
    }
}

/// Sets a limit of this process.
pub fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the limit outlives the call.
    assert_eq!(unsafe { libc::setrlimit(resource, &limit) }, 0);
}

/// Gives up every capability of this thread and those it starts: root would not feel its limits.
pub fn drop_capabilities() {
    let header: [u32; 2] = [0x2008_0522, 0]; // version 3, this thread
    let nothing = [0u32; 6];
    // SAFETY: both arrays have the shape version 3 of the call asks for.
    assert_eq!(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) }, 0);
}

/// Open descriptors of this process.
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Threads of this process.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Sets a limit of this process that may be raised again.
pub fn soft_limit(resource: libc::__rlimit_resource_t, most: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit outlives the calls.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        limit.rlim_cur = most.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(resource, &limit), 0);
    }
}
