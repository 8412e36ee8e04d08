// Names and numbers that mark everything that Pawl creates on a machine, so that a clean-up finds it without the undo
// log.

/** Chain of the table `mangle` with the rules of network disruptions. */
export const NETWORK_CHAIN = 'CHAOS-NET'
/** Chain of the table `nat` that redirects DNS queries to the responder. */
export const DNS_CHAIN = 'CHAOS-DNS'
/** Comment of every iptables rule outside of these chains. */
export const RULE_COMMENT = 'pawl-chaos'
/** Handle of the queueing discipline that limits bandwidth. Spec 8.3 says 1:, which other programs use as well. */
export const ROOT_HANDLE = 'ca05:'
/** Mark of the packets and sockets of a container in the reference design. */
export const CONTAINER_MARK = '0x00020002'
/** Environment variable of the injector's child processes. */
export const CHILD_VARIABLE = 'PAWL_CHAOS_CHILD'
/** Priority map of the reference's root; together with four bands it identifies Pawl. */
export const REFERENCE_PRIOMAP = '1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1'
