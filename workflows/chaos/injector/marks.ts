// By what a machine shows that something on it is Pawl's: a sweep finds it although the notes of the injector are lost.

/** Chain of the table `mangle` with the rules of a network disruption. */
export const NETWORK_CHAIN = 'CHAOS-NET'
/** Chain of the table `nat` that leads questions about names to the responder. */
export const DNS_CHAIN = 'CHAOS-DNS'
/** Comment of every rule of iptables outside of those chains. */
export const RULE_COMMENT = 'pawl-chaos'
/** Handle of the queueing discipline that limits the bandwidth. Spec 8.3 says 1:, which anybody may have. */
export const ROOT_HANDLE = 'ca05:'
/** Number by which packets and sockets of a container are known in the reference design. */
export const CONTAINER_MARK = '0x00020002'
/** Variable in the environment of the injector's children. */
export const CHILD_VARIABLE = 'PAWL_CHAOS_CHILD'
/** Map of priorities of the reference's root, with four bands a sign of its own. */
export const REFERENCE_PRIOMAP = '1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1'
