// What a deployer does for one item. The contract around it - phases, job IDs, errors, time-outs, exports, events - is the runner's (run-item.ts),
// the same for all deployers. Source: spec/landscaper.md 2.9, 4.9.

import type { KubeObject } from '../../../kube/client.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

/** The work of one item in one job. */
export interface ItemWork {
  /** The DeployItem as it was read; its `spec.config` and `status.providerStatus` are the deployer's to read. */
  readonly item: KubeObject
  /** The cluster that `spec.target` names. */
  readonly target: TargetCluster
  /** Another Target of the item's namespace, for configurations that name one (`targetName`). @throws DeployError */
  openTarget(name: string): Promise<TargetCluster>
  /** Aborted when the item's time is up, another hand has ended its job, or the worker stops. Long loops look at it. */
  readonly signal: AbortSignal
}

/** What the item's status shall remember; absent = as it was. It needs `apiVersion` and `kind`. */
export type ProviderStatus = Readonly<Record<string, unknown>>

export type DeployStep =
  /** Nothing is left to do: the item succeeds, with these exports, or, when it is uninstalled, is let go. */
  | {
      readonly result: 'done'
      readonly providerStatus?: ProviderStatus
      /** The exports of the item; absent or empty = none. */
      readonly exports?: Readonly<Record<string, unknown>>
    }
  /**
   * What was sent is not ready, or not gone, yet; looked at again soon. `checkpoint` is the wire's word for the place
   * (spec 4.5 "Timeout checkpoints"), `waitingFor` names the object and what it lacks, for people.
   */
  | {
      readonly result: 'waiting'
      readonly checkpoint: string
      readonly waitingFor: string
      readonly providerStatus?: ProviderStatus
    }
  | { readonly result: 'failed'; readonly error: DeployError; readonly providerStatus?: ProviderStatus }

export interface Deployer {
  /**
   * The provider status that names all that `install` may create, beside what the item remembers already; undefined when that is all. It is
   * written before anything is sent, so that neither a crash nor an interrupt leaves something behind that nobody knows of. Pure.
   * Absent where what was deployed is found without it. @throws DeployError for a configuration that is wrong.
   */
  intend?(item: KubeObject): ProviderStatus | undefined
  /** The `spec.type` that it serves. */
  readonly type: string
  /** Its name in `status.deployer`, and in the checkpoints of time-outs: `<name> deployer: start reconcile`. */
  readonly name: string
  /**
   * Sends what the item describes to the target and takes the first look at it. Repeated after any failure and any crash, so idempotent.
   * An expected failure is a result; DeployError and KubeError may also be thrown, with the same meaning.
   */
  install(work: ItemWork): Promise<DeployStep>
  /** One look at what `install` has sent: ready (then also exports are read), or what is missing. */
  check(work: ItemWork): Promise<DeployStep>
  /** One step of taking away what was deployed: `waiting` until it is gone. Repeated, so idempotent. */
  uninstall(work: ItemWork): Promise<DeployStep>
}

/**
 * A failure of a deployment, for the item's lastError. The message names object, field, found and expected; never a value of the configuration.
 * With one of FINAL_CODES it ends the job at once, else it is tried again every 5 s until the item's time-out. Source: spec/landscaper.md 1.16, 2.9.
 */
export class DeployError extends Error {
  /** `lastError.operation`, e.g. `ApplyManifests`. */
  readonly operation: string
  /** `lastError.reason`, e.g. `ConfigurationProblem`. */
  readonly reason: string
  readonly codes: readonly string[]

  constructor(operation: string, reason: string, message: string, codes: readonly string[] = []) {
    super(message)
    this.name = 'DeployError'
    this.operation = operation
    this.reason = reason
    this.codes = codes
  }

  get isFinal(): boolean {
    return this.codes.some((code) => FINAL_CODES.has(code))
  }
}

const FINAL_CODES: ReadonlySet<string> = new Set([
  'ERR_CONFIGURATION_PROBLEM',
  'ERR_INTERNAL_PROBLEM',
  'ERR_TIMEOUT',
  'ERR_UNAUTHORIZED',
  'ERR_CYCLIC_DEPENDENCIES',
])
