// The injector's settings, from its environment variables. Source: spec/chaos.md 2.5 (env) and 3.3.

import { join } from 'node:path'

import type { StatsdEnvironment } from '../../../workflows/kit/index.ts'
import { READINESS_FILE } from '../../../workflows/chaos/contract.ts'
import { type NetworkBackend, BACKENDS } from '../../../workflows/chaos/injector/network/plan-network.ts'
import { TERMINATION_LOG } from './termination-message.ts'

type Environment = Readonly<Record<string, string | undefined>>

export interface Settings {
  /** The name of the chaos pod; empty outside of a pod. */
  readonly pod: string
  readonly podIp: string | undefined
  readonly nodeIp: string | undefined
  readonly proc: string
  readonly cgroup: string
  readonly host: string
  readonly sysrq: string
  readonly sysrqTrigger: string
  /** The folder of the undo log. */
  readonly stateFolder: string
  readonly readinessFile: string
  /** A JSON file that maps container names to processes; undefined: a container runtime is used. */
  readonly containersFile: string | undefined
  /** The file for the termination message. */
  readonly terminationLog: string
  /** The target has no process: the injector plans and reports, but executes nothing. Never in a cluster. */
  readonly isSimulated: boolean
  readonly logLevel: string
  /** Undefined: the backend that the kernel supports. */
  readonly backend: NetworkBackend | undefined
  readonly kubeconfig: string | undefined
  readonly isInCluster: boolean
  /** The address of the metrics agent; by default the agent of the node. */
  readonly statsd: StatsdEnvironment
}

/** Source: spec/chaos.md 3.3. */
const FIRST_PROCESS = '/proc/1'

/** @throws with the variable, the actual and the expected value. */
export function readSettings(env: Environment): Settings {
  const text = (name: string) => (env[name] === '' ? undefined : env[name])
  const backend = text('CHAOS_INJECTOR_NETWORK_BACKEND')
  const known = BACKENDS.find((one) => one === backend)
  if (backend !== undefined && known === undefined)
    throw new Error(`CHAOS_INJECTOR_NETWORK_BACKEND: found '${backend}'; expected one of ${BACKENDS.join(', ')}`)
  return {
    pod: text('INJECTOR_POD_NAME') ?? '',
    podIp: text('CHAOS_POD_IP'),
    nodeIp: text('TARGET_POD_HOST_IP'),
    proc: text('CHAOS_INJECTOR_MOUNT_PROC') ?? '/proc',
    cgroup: text('CHAOS_INJECTOR_MOUNT_CGROUP') ?? join(FIRST_PROCESS, 'root', 'sys/fs/cgroup'),
    host: text('CHAOS_INJECTOR_MOUNT_HOST') ?? '/',
    sysrq: text('CHAOS_INJECTOR_MOUNT_SYSRQ') ?? '/proc/sys/kernel/sysrq',
    sysrqTrigger: text('CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER') ?? '/proc/sysrq-trigger',
    stateFolder: text('CHAOS_INJECTOR_STATE') ?? '/run/pawl-chaos',
    readinessFile: text('CHAOS_INJECTOR_READINESS_FILE') ?? READINESS_FILE,
    containersFile: text('CHAOS_INJECTOR_CONTAINERS'),
    terminationLog: terminationLogIn(text),
    isSimulated: simulatedIn(text),
    logLevel: text('LOG_LEVEL') ?? 'info',
    backend: known,
    kubeconfig: text('KUBECONFIG'),
    isInCluster: text('KUBERNETES_SERVICE_HOST') !== undefined,
    statsd: statsdIn(text),
  }
}

function terminationLogIn(text: (name: string) => string | undefined): string {
  return text('CHAOS_INJECTOR_TERMINATION_LOG') ?? TERMINATION_LOG
}

/** @throws in a cluster, where every disruption must be real. */
function simulatedIn(text: (name: string) => string | undefined): boolean {
  const value = text('CHAOS_INJECTOR_SIMULATED')
  if (value === undefined) return false
  if (value !== 'yes') throw new Error(`CHAOS_INJECTOR_SIMULATED: found '${value}'; expected yes, or nothing`)
  if (text('KUBERNETES_SERVICE_HOST') !== undefined)
    throw new Error(
      'CHAOS_INJECTOR_SIMULATED: found yes in a pod of a cluster; only the node agent of pawl dev simulates',
    )
  return true
}

function statsdIn(text: (name: string) => string | undefined): StatsdEnvironment {
  const [url, agentPort] = [text('STATSD_URL'), text('DD_DOGSTATSD_PORT')]
  const agentHost = text('DD_AGENT_HOST') ?? text('TARGET_POD_HOST_IP')
  return {
    ...(url !== undefined && { url }),
    ...(agentHost !== undefined && { agentHost }),
    ...(agentPort !== undefined && { agentPort }),
  }
}
