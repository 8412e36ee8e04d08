// Process classes and how well each class fits a role. Source: fdb-recordings 05 (help setclass), 15, 16, 10.

export const PROCESS_CLASSES = [
  ...['unset', 'storage', 'transaction', 'resolution', 'commit_proxy', 'grv_proxy', 'master', 'test', 'stateless'],
  ...['log', 'router', 'cluster_controller', 'fast_restore', 'data_distributor', 'coordinator', 'ratekeeper'],
  ...['storage_cache', 'backup'],
] as const

export type ProcessClass = (typeof PROCESS_CLASSES)[number]

/** The class of a name on a command line, or undefined. `proxy` is the former name of `commit_proxy`. */
export function processClass(name: string): ProcessClass | undefined {
  if (name === 'proxy') return 'commit_proxy'
  return PROCESS_CLASSES.find((known) => known === name)
}

export type StatelessRole =
  | 'master'
  | 'cluster_controller'
  | 'data_distributor'
  | 'ratekeeper'
  | 'commit_proxy'
  | 'grv_proxy'
  | 'resolver'
  | 'router'
export type RoleName = StatelessRole | 'coordinator' | 'log' | 'storage'

const OWN_CLASS: Readonly<Record<StatelessRole, ProcessClass>> = {
  master: 'master',
  cluster_controller: 'cluster_controller',
  data_distributor: 'data_distributor',
  ratekeeper: 'ratekeeper',
  commit_proxy: 'commit_proxy',
  grv_proxy: 'grv_proxy',
  resolver: 'resolution',
  router: 'router',
}

const LOG_FITNESS: Partial<Record<ProcessClass, number>> = { log: 0, transaction: 1, unset: 2, storage: 3 }
const STORAGE_FITNESS: Partial<Record<ProcessClass, number>> = { storage: 0, unset: 1, log: 3, transaction: 3 }
const STATELESS_FITNESS: Partial<Record<ProcessClass, number>> = {
  stateless: 1,
  unset: 2,
  transaction: 3,
  log: 3,
  storage: 4,
}

const LOG_AS_PROXY = 5

/** 0 is the best fit; undefined: a process of the class never gets the role. */
export function fitness(name: ProcessClass, role: Exclude<RoleName, 'coordinator'>): number | undefined {
  if (role === 'log') return LOG_FITNESS[name]
  if (role === 'storage') return STORAGE_FITNESS[name]
  // Without better processes these roles go to storage processes. Source: fdb-recordings 10/003.
  if (name === 'log' && !['master', 'data_distributor', 'ratekeeper'].includes(role)) return LOG_AS_PROXY
  return OWN_CLASS[role] === name ? 0 : STATELESS_FITNESS[name]
}
