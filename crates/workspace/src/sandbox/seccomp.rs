//! Which system calls are refused.
//!
//! All that is not named is allowed: an agent runs any program. What is named would undo the rest of the sandbox,
//! or is a large target in the kernel that development tools do without.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::{Plan, Tier};
use crate::policy::Network;

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    // The kernel itself.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Large targets. The first also opens files and sockets past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // The user's keys in the kernel.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Every kind of namespace. Among them only that of users needs no rights, and it gives all others.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Kinds of sockets for a network that is there, if only the machine's own.
const NETWORK_SOCKETS: &[i32] = &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Kinds of sockets without one.
const LOCAL_SOCKETS: &[i32] = &[libc::AF_UNIX];

/// Calls of the x32 kind have their number with this bit; the kernel counts them to the same architecture.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Whether the kernel takes filters.
pub(super) fn is_supported() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| status.contains("\nSeccomp:"))
        && TargetArch::try_from(ARCH).is_ok()
}

/// Restricts this thread and all that it will start, for ever.
pub(super) fn restrict(plan: &Plan) -> io::Result<()> {
    // A namespace has a network of its own in which nobody else is. Without one there is only to have none.
    let sockets = match (plan.tier, &plan.policy.network) {
        (Tier::Namespaces, _) | (Tier::Landlock, Network::All) => NETWORK_SOCKETS,
        (Tier::Landlock, Network::Off | Network::AllowList { .. }) => LOCAL_SOCKETS,
    };
    for filter in filters(sockets).map_err(io::Error::other)? {
        apply_filter(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

fn filters(sockets: &[i32]) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = NAMESPACES
        .iter()
        .map(|flag| {
            let flag = u64::from(flag.cast_unsigned());
            rule([(0, SeccompCmpOp::MaskedEq(flag), flag)])
        })
        .collect::<Result<Vec<_>, _>>()?;
    refused.insert(libc::SYS_unshare, namespaces.clone());
    refused.insert(libc::SYS_clone, namespaces);
    let others = sockets
        .iter()
        .map(|family| (0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned())));
    refused.insert(libc::SYS_socket, vec![rule(others)?]);
    // Types into a terminal as if a person did.
    let typing = (1, SeccompCmpOp::Eq, libc::TIOCSTI);
    refused.insert(libc::SYS_ioctl, vec![rule([typing])?]);
    // Its flags are out of sight. C libraries go back to `clone` when there is none.
    let missing = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([compile(refused, libc::EPERM)?, compile(missing, libc::ENOSYS)?])
}

/// Holds if all conditions hold: which argument, how it compares, with what.
fn rule(
    conditions: impl IntoIterator<Item = (u8, SeccompCmpOp, u64)>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions.into_iter().map(|(argument, comparison, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
    });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

fn compile(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    #[cfg(target_arch = "x86_64")]
    rules.append(
        &mut rules
            .iter()
            .map(|(call, rules)| (call | X32, rules.clone()))
            .collect(),
    );
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.cast_unsigned()),
        ARCH.try_into()?,
    )?
    .try_into()
}
