//! What root is left with.

use rustix::io;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// Enough to own, install and serve things; nothing that reaches past the other means.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Gives up all others, for programs that are started too. Does nothing to those who have none.
pub(super) fn drop_most() -> io::Result<()> {
    let held = capabilities(None)?;
    if held.permitted.contains(CapabilitySet::SETPCAP) {
        for bit in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << bit);
            if !KEPT.contains(one) {
                let _ = remove_capability_from_bounding_set(one); // an unknown one is not there to be removed
            }
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: held.effective & KEPT,
            permitted: held.permitted & KEPT,
            inheritable: CapabilitySet::empty(),
        },
    )
}
